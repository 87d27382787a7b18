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
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/trie"
)

// router sends queries to the machines that hold the partitions of their pages, and puts the answers
// together (gather.go).
type router struct {
	*machine
	board     *board
	directory directory
}

// directory is what a machine knows of the others: which partitions each holds, and which of them
// did not answer a moment ago. It is a hint: a machine refuses if it lacks a partition.
type directory struct {
	mu    sync.Mutex
	held  map[trie.MachineID]partitionSet
	down  map[trie.MachineID]time.Time // until when
	fresh time.Time                    // when held was asked for
	full  map[trie.MachineID]string    // why machines lack partitions that do not fit into their memory
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

// send asks another machine. If the answer takes long, and the machine does not answer small queries
// either, send gives up, because another machine may answer.
func (r *router) send(ctx context.Context, to trie.MachineID, q *query) (*answer, error) {
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
			r.watch(asking, to, cancel)
		}()
		defer func() {
			cancel(nil)
			<-watched
		}()
	}
	// 2. Ask. A machine that does not answer is not asked for some time.
	body, err := r.node.Call(asking, to, methodAsk, peer.Encode(64+10*(len(q.pages)+len(q.set)), q.fields))
	if err != nil {
		if unreachable(err) {
			if ctx.Err() != nil {
				return nil, err
			}
			r.directory.mark(to)
			err = fmt.Errorf("%w: %w", errUnreachable, err)
		}
		return nil, err
	}
	a := &answer{}
	return a, peer.Decode(body, a.fields)
}

// watch cancels a call of a machine if the machine is silent. It ends with the call.
func (r *router) watch(call context.Context, to trie.MachineID, cancel context.CancelCauseFunc) {
	timer := time.NewTimer(probeInterval)
	defer timer.Stop()
	for {
		select {
		case <-call.Done():
			return
		case <-timer.C:
		}
		probe, done := context.WithTimeout(call, directoryTimeout)
		_, err := r.node.Call(probe, to, methodAsk, peer.Encode(64, (&query{kind: askHeld}).fields))
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
func (r *router) refresh(ctx context.Context, v *view.View) {
	d := &r.directory
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
		if m.ID == r.node.MachineID() {
			continue
		}
		asking.Go(func() {
			a, err := r.send(ctx, m.ID, &query{kind: askHeld})
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

// awaitFirstView returns the view of a machine of a cluster, and waits for the first one.
func (r *router) awaitFirstView(ctx context.Context) (*view.View, error) {
	v := r.node.View()
	if v != nil {
		return v, nil
	}
	waiting, cancel := r.bound(ctx)
	defer cancel()
	err := r.node.Newer(waiting, nil)
	return r.node.View(), err
}

// waitRetry waits before another try of a request, and returns an error if there were too many, or if the wait of a
// read has ended.
func (r *router) waitRetry(ctx context.Context, tries int, err error) error {
	// 1. Give up, with the reason.
	pause := min(firstRetry<<min(tries-1, 10), lastRetry)
	if time.Duration(tries)*pause > routeTimeout || r.ctx.Err() != nil || errors.Is(context.Cause(ctx), store.ErrUnavailable) {
		return r.gaveUp(err)
	}
	// 2. Another view may help at once.
	v := r.node.View()
	wait, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	stop := context.AfterFunc(r.ctx, cancel)
	defer stop()
	if failed := r.node.Newer(wait, v); failed != nil && wait.Err() == nil {
		if v == nil {
			return failed // this machine joins, or has found no leader since its start
		}
		<-wait.Done() // this machine is isolated
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, store.ErrUnavailable): // the wait of the read has ended
		return r.gaveUp(err)
	case cause != nil:
		return cause
	}
	if v := r.node.View(); v != nil {
		r.refresh(ctx, v)
	}
	return nil
}

// gaveUp returns the error of a request whose last try failed with err, or found no machine if err is nil.
func (r *router) gaveUp(err error) error {
	if err == nil {
		err = errors.New("no machine has all of the pages")
	}
	if full := r.whyFull(); full != "" {
		err = fmt.Errorf("%w (%s)", err, full)
	}
	return fmt.Errorf("%w: the link graph: %w", store.ErrUnavailable, err)
}

// local returns the state if this machine holds the partitions of all pages, with all changes that
// were acknowledged before the call and with some stores; nil if others must be asked.
func (r *router) local(ctx context.Context, need cell.Stores, n int, of func(i int) int) (*state, error) {
	// 1. Check what is held before messages are sent. If this machine has failed, others answer.
	if r.node.View() != nil && r.board.failed() != nil {
		return nil, nil
	}
	s := r.board.state.Load()
	covers := func() bool {
		if s == nil {
			return r.node.View() == nil // the error is that of a lone node
		}
		if s.held == allPartitions {
			return true
		}
		for i := range n {
			if !s.held.has(of(i)) {
				return r.node.View() == nil
			}
		}
		return true
	}
	if !covers() {
		return nil, nil
	}
	// 2. Wait for all changes. Partitions may have been dropped meanwhile.
	waiting, cancel := r.bound(ctx)
	s, err := r.board.current(waiting)
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
			return nil, r.board.loading()
		}
	}
	// 3. Load what is not in memory. If that fails, others may have it.
	s, err = s.with(ctx, need, n, of)
	if err != nil && r.node.View() != nil && mayPass(err) {
		return nil, nil
	}
	return s, err
}
