// Routing: which machine answers for which pages.

package linkgraph

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/trie"
)

// directory is what a machine knows of the others: which partitions each holds, and which of them
// did not answer a moment ago. It is a hint: a machine refuses if it lacks a partition.
type directory struct {
	mu        sync.Mutex
	placement *placement // of the last view
	held      map[trie.MachineID]partitionSet
	down      map[trie.MachineID]time.Time // until when
	fresh     time.Time                    // when held was asked for
	full      map[trie.MachineID]string    // why machines lack partitions that do not fit into their memory
}

const (
	// routeTimeout bounds the retries of a change. Those of a read end with its wait, see package readtimeout.
	routeTimeout = 10 * time.Second
	// downTime is the time for which a machine is not asked after it did not answer.
	downTime = time.Second
	// directoryTimeout bounds the answer of a machine to what it holds, directoryPause is the time
	// between two requests for it.
	directoryTimeout = 500 * time.Millisecond
	directoryPause   = 20 * time.Millisecond
	// probeInterval is the time after which a machine that has not answered is probed.
	probeInterval = 500 * time.Millisecond
	// copyTimeout bounds the answer with a piece of a partition. A machine with a stuck keeper answers
	// probes, but never has the position of the query.
	copyTimeout = 30 * time.Second
	firstRetry  = 5 * time.Millisecond
	lastRetry   = 100 * time.Millisecond
)

// placementOf returns the placement under a view.
func (g *Graph) placementOf(v *view.View) *placement {
	d := &g.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.placement == nil || d.placement.view != v {
		d.placement = newPlacement(v, g.o.Copies)
	}
	return d.placement
}

// wanted returns the partitions that this machine must hold.
func (g *Graph) wanted() partitionSet {
	if g.node.Lone() != nil {
		return allPartitions
	}
	v := g.node.View()
	if v == nil {
		return 0
	}
	return g.placementOf(v).of(g.node.MachineID())
}

// errUnreachable is wrapped by the error of a message to which there was no answer.
var errUnreachable = errors.New("another machine does not answer")

// errNoView is the error of a machine of a cluster before its first view: it joins, or has started again.
var errNoView = fmt.Errorf("%w: there is no view yet", store.ErrUnavailable)

// unreachable reports whether a call failed because there was no answer.
func unreachable(err error) bool {
	var refusal *peer.Refusal
	var failed *peer.RemoteError
	return err != nil && !errors.As(err, &refusal) && !errors.As(err, &failed)
}

// send asks another machine. If the answer takes long, and the machine does not answer small queries
// either, send gives up, because another machine may answer.
func (g *Graph) send(ctx context.Context, to trie.MachineID, q *query) (*answer, error) {
	// 1. Watch the machine while it works on the query.
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if q.kind == askExport {
		defer time.AfterFunc(copyTimeout, func() { cancel(errUnreachable) }).Stop()
	}
	if q.kind != askHeld {
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			g.watch(asking, to, cancel)
		}()
		defer func() {
			cancel(nil)
			<-watched
		}()
	}
	// 2. Ask. A machine that does not answer is not asked for some time.
	body, err := g.node.Call(asking, to, methodAsk, peer.Encode(64+10*(len(q.pages)+len(q.set)), q.fields))
	if err != nil {
		if unreachable(err) {
			if ctx.Err() != nil {
				return nil, err
			}
			g.directory.mark(to)
			err = fmt.Errorf("%w: %w", errUnreachable, err)
		}
		return nil, err
	}
	a := &answer{}
	return a, peer.Decode(body, a.fields)
}

// watch cancels a call of a machine if the machine is silent. It ends with the call.
func (g *Graph) watch(call context.Context, to trie.MachineID, cancel context.CancelCauseFunc) {
	timer := time.NewTimer(probeInterval)
	defer timer.Stop()
	for {
		select {
		case <-call.Done():
			return
		case <-timer.C:
		}
		probe, done := context.WithTimeout(call, directoryTimeout)
		_, err := g.node.Call(probe, to, methodAsk, peer.Encode(64, (&query{kind: askHeld}).fields))
		done()
		if call.Err() == nil && unreachable(err) {
			cancel(errUnreachable)
			return
		}
		timer.Reset(probeInterval)
	}
}

// mark records that a machine did not answer.
func (d *directory) mark(m trie.MachineID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down == nil {
		d.down = map[trie.MachineID]time.Time{}
	}
	d.down[m] = time.Now().Add(downTime)
}

// answererOf returns another machine that answers for a partition: a holder, or a machine that held
// it before; 0 if none is known. Machines that failed are the last choice.
func (d *directory) answererOf(p *placement, partition int, self trie.MachineID, failed map[trie.MachineID]bool) trie.MachineID {
	d.mu.Lock()
	defer d.mu.Unlock()
	var second trie.MachineID
	for _, m := range p.ranking[partition] {
		held, asked := d.held[m]
		if m == self || asked && !held.has(partition) {
			continue
		}
		if until, down := d.down[m]; !failed[m] && (!down || time.Now().After(until)) {
			return m
		}
		if second == 0 && asked {
			second = m // it may be well again
		}
	}
	return second
}

// refresh asks all members what they hold.
func (g *Graph) refresh(ctx context.Context, v *view.View) {
	d := &g.directory
	d.mu.Lock()
	fresh := time.Since(d.fresh) < directoryPause
	d.mu.Unlock()
	if fresh {
		return
	}
	// 1. Ask all at the same time.
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	held, full := map[trie.MachineID]partitionSet{}, map[trie.MachineID]string{}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, m := range v.Members {
		if m.ID == g.node.MachineID() {
			continue
		}
		asking.Go(func() {
			a, err := g.send(ctx, m.ID, &query{kind: askHeld})
			mu.Lock()
			defer mu.Unlock()
			if held[m.ID] = 0; err == nil {
				held[m.ID] = partitionSet(a.number)
				if len(a.texts) > 0 {
					full[m.ID] = a.texts[0]
				}
			}
		})
	}
	asking.Wait()
	// 2. Keep the answers.
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held, d.full, d.fresh = held, full, time.Now()
}

// bound returns a context for one wait of a read. On a lone node no other machine could answer earlier.
func (g *Graph) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if g.node.Lone() != nil {
		return context.WithCancel(ctx)
	}
	return readtimeout.Bound(ctx)
}

// awaitFirstView returns the view of a machine of a cluster, and waits for the first one.
func (g *Graph) awaitFirstView(ctx context.Context) (*view.View, error) {
	v := g.node.View()
	if v != nil {
		return v, nil
	}
	waiting, cancel := g.bound(ctx)
	defer cancel()
	err := g.node.Newer(waiting, nil)
	return g.node.View(), err
}

// waitRetry waits before another try of a request, and returns an error if there were too many, or if the wait of a
// read has ended.
func (g *Graph) waitRetry(ctx context.Context, tries int, err error) error {
	// 1. Give up, with the reason.
	pause := min(firstRetry<<min(tries-1, 10), lastRetry)
	if time.Duration(tries)*pause > routeTimeout || g.ctx.Err() != nil || errors.Is(context.Cause(ctx), store.ErrUnavailable) {
		return g.gaveUp(err)
	}
	// 2. Another view may help at once.
	v := g.node.View()
	wait, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	stop := context.AfterFunc(g.ctx, cancel)
	defer stop()
	if failed := g.node.Newer(wait, v); failed != nil && wait.Err() == nil {
		if v == nil {
			return failed // this machine joins, or has found no leader since its start
		}
		<-wait.Done() // this machine is isolated
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, store.ErrUnavailable): // the wait of the read has ended
		return g.gaveUp(err)
	case cause != nil:
		return cause
	}
	if v := g.node.View(); v != nil {
		g.refresh(ctx, v)
	}
	return nil
}

// gaveUp returns the error of a request whose last try failed with err, or found no machine if err is nil.
func (g *Graph) gaveUp(err error) error {
	if err == nil {
		err = errors.New("no machine has all of the pages")
	}
	if full := g.whyFull(); full != "" {
		err = fmt.Errorf("%w (%s)", err, full)
	}
	return fmt.Errorf("%w: the link graph: %w", store.ErrUnavailable, err)
}

// local returns the state if this machine holds the partitions of all pages, with all changes that
// were acknowledged before the call and with some stores; nil if others must be asked.
func (g *Graph) local(ctx context.Context, need cell.Stores, n int, of func(i int) int) (*state, error) {
	// 1. Check what is held before messages are sent. If this machine has failed, others answer.
	if g.node.View() != nil && g.failed() != nil {
		return nil, nil
	}
	s := g.state.Load()
	covers := func() bool {
		if s == nil {
			return g.node.View() == nil // the error is that of a lone node
		}
		if s.held == allPartitions {
			return true
		}
		for i := range n {
			if !s.held.has(of(i)) {
				return g.node.View() == nil
			}
		}
		return true
	}
	if !covers() {
		return nil, nil
	}
	// 2. Wait for all changes. Partitions may have been dropped meanwhile.
	waiting, cancel := g.bound(ctx)
	s, err := g.current(waiting)
	cancel()
	if err != nil {
		return nil, err
	}
	if !covers() {
		return nil, nil
	}
	for i := range n {
		if s.held == allPartitions {
			break
		}
		if !s.held.has(of(i)) {
			return nil, g.loading()
		}
	}
	// 3. Load what is not in memory. If that fails, others may have it.
	s, err = s.with(ctx, need, n, of)
	if err != nil && g.node.View() != nil && mayPass(err) {
		return nil, nil
	}
	return s, err
}
