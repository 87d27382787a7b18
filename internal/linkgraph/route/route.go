// Routing: which machine answers for which pages.

package route

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/trie"
)

// Annotated reports whether any member has annotations, or does not answer. Reading them costs a
// message for each batch of rows.
func (r *Router) Annotated(ctx context.Context) bool {
	v := r.Node.View()
	if v == nil || r.Node.Annotated() {
		return true
	}
	for _, m := range v.Members {
		if m.ID == r.Node.MachineID() {
			continue
		}
		if a, err := r.Send(ctx, m.ID, &Query{Kind: AskAnnotated}); err != nil || a.Number > 0 {
			return true
		}
	}
	return false
}

// whyFull returns why this machine or another one lacks partitions, "" if memory is not the reason.
func (r *Router) whyFull() string {
	if full := r.Board.Full.Load(); full != nil {
		return (*full).Error()
	}
	r.Directory.mu.Lock()
	defer r.Directory.mu.Unlock()
	for m, why := range r.Directory.full {
		return fmt.Sprintf("%s: %s", m, why)
	}
	return ""
}

// Builds reports whether this machine builds a partition that no machine has: it is the first of the
// holders with memory for it.
func (r *Router) Builds(p *derived.Placement, partition int) bool {
	r.Directory.mu.Lock()
	defer r.Directory.mu.Unlock()
	for _, m := range p.HoldersOf(partition) {
		if _, full := r.Directory.full[m]; m == r.Node.MachineID() || !full {
			return m == r.Node.MachineID()
		}
	}
	return false
}

// HaveAll reports whether all of some machines hold a partition.
func (d *directory) HaveAll(machines []trie.MachineID, partition int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range machines {
		if !d.held[m].Has(partition) {
			return false
		}
	}
	return true
}

// Router sends queries to the machines that hold the partitions of their pages, and puts the answers
// together (gather.go).
type Router struct {
	*machine.Machine
	Board     *state.Board
	Directory directory
}

// directory is what a machine knows of the others: which partitions each holds, and which of them
// did not answer a moment ago. It is a hint: a machine refuses if it lacks a partition.
type directory struct {
	mu    sync.Mutex
	held  map[trie.MachineID]derived.Partitions
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
	// CopyTimeout bounds the answer with a piece of a partition. A machine with a stuck keeper answers
	// probes, but never has the position of the query.
	CopyTimeout = 30 * time.Second
	FirstRetry  = 5 * time.Millisecond
	LastRetry   = 100 * time.Millisecond
)

// Send asks another machine. If the answer takes long, and the machine does not answer small queries
// either, send gives up, because another machine may answer.
func (r *Router) Send(ctx context.Context, to trie.MachineID, q *Query) (*Answer, error) {
	// 1. Watch the machine while it works on the query.
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if q.Kind == AskExport {
		defer time.AfterFunc(CopyTimeout, func() { cancel(machine.ErrUnreachable) }).Stop()
	}
	if q.Kind != AskHeld {
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
	body, err := r.Node.Call(asking, to, MethodAsk, peer.Encode(64+10*(len(q.Pages)+len(q.Set)), q.Fields))
	if err != nil {
		if machine.Unreachable(err) {
			if ctx.Err() != nil {
				return nil, err
			}
			r.Directory.mark(to)
			err = fmt.Errorf("%w: %w", machine.ErrUnreachable, err)
		}
		return nil, err
	}
	a := &Answer{}
	return a, peer.Decode(body, a.Fields)
}

// watch cancels a call of a machine if the machine is silent. It ends with the call.
func (r *Router) watch(call context.Context, to trie.MachineID, cancel context.CancelCauseFunc) {
	timer := time.NewTimer(probeInterval)
	defer timer.Stop()
	for {
		select {
		case <-call.Done():
			return
		case <-timer.C:
		}
		probe, done := context.WithTimeout(call, directoryTimeout)
		_, err := r.Node.Call(probe, to, MethodAsk, peer.Encode(64, (&Query{Kind: AskHeld}).Fields))
		done()
		if call.Err() == nil && machine.Unreachable(err) {
			cancel(machine.ErrUnreachable)
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
func (d *directory) answererOf(p *derived.Placement, partition int, self trie.MachineID, failed map[trie.MachineID]bool) trie.MachineID {
	d.mu.Lock()
	defer d.mu.Unlock()
	var second trie.MachineID
	for _, m := range p.Ranking[partition] {
		held, asked := d.held[m]
		if m == self || asked && !held.Has(partition) {
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

// Refresh asks all members what they hold.
func (r *Router) Refresh(ctx context.Context, v *view.View) {
	d := &r.Directory
	d.mu.Lock()
	fresh := time.Since(d.fresh) < directoryPause
	d.mu.Unlock()
	if fresh {
		return
	}
	// 1. Ask all at the same time.
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	held, full := map[trie.MachineID]derived.Partitions{}, map[trie.MachineID]string{}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, m := range v.Members {
		if m.ID == r.Node.MachineID() {
			continue
		}
		asking.Go(func() {
			a, err := r.Send(ctx, m.ID, &Query{Kind: AskHeld})
			mu.Lock()
			defer mu.Unlock()
			if held[m.ID] = 0; err == nil {
				held[m.ID] = derived.Partitions(a.Number)
				if len(a.Texts) > 0 {
					full[m.ID] = a.Texts[0]
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

// AwaitFirstView returns the view of a machine of a cluster, and waits for the first one.
func (r *Router) AwaitFirstView(ctx context.Context) (*view.View, error) {
	v := r.Node.View()
	if v != nil {
		return v, nil
	}
	waiting, cancel := r.Bound(ctx)
	defer cancel()
	err := r.Node.Newer(waiting, nil)
	return r.Node.View(), err
}

// WaitRetry waits before another try of a request, and returns an error if there were too many, or if the wait of a
// read has ended.
func (r *Router) WaitRetry(ctx context.Context, tries int, err error) error {
	// 1. Give up, with the reason.
	pause := min(FirstRetry<<min(tries-1, 10), LastRetry)
	if time.Duration(tries)*pause > routeTimeout || r.Context.Err() != nil || errors.Is(context.Cause(ctx), store.ErrUnavailable) {
		return r.gaveUp(err)
	}
	// 2. Another view may help at once.
	v := r.Node.View()
	wait, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	stop := context.AfterFunc(r.Context, cancel)
	defer stop()
	if failed := r.Node.Newer(wait, v); failed != nil && wait.Err() == nil {
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
	if v := r.Node.View(); v != nil {
		r.Refresh(ctx, v)
	}
	return nil
}

// gaveUp returns the error of a request whose last try failed with err, or found no machine if err is nil.
func (r *Router) gaveUp(err error) error {
	if err == nil {
		err = errors.New("no machine has all of the pages")
	}
	if full := r.whyFull(); full != "" {
		err = fmt.Errorf("%w (%s)", err, full)
	}
	return fmt.Errorf("%w: the link graph: %w", store.ErrUnavailable, err)
}

// Local returns the state if this machine holds the partitions of all pages, with all changes that
// were acknowledged before the call and with some stores; nil if others must be asked.
func (r *Router) Local(ctx context.Context, need cell.Stores, n int, of func(i int) int) (*state.State, error) {
	// 1. Check what is held before messages are sent. If this machine has failed, others answer.
	if r.Node.View() != nil && r.Board.Failed() != nil {
		return nil, nil
	}
	s := r.Board.State.Load()
	covers := func() bool {
		if s == nil {
			return r.Node.View() == nil // the error is that of a lone node
		}
		if s.Held == machine.AllPartitions {
			return true
		}
		for i := range n {
			if !s.Held.Has(of(i)) {
				return r.Node.View() == nil
			}
		}
		return true
	}
	if !covers() {
		return nil, nil
	}
	// 2. Wait for all changes. Partitions may have been dropped meanwhile.
	waiting, cancel := r.Bound(ctx)
	s, err := r.Board.Current(waiting)
	cancel()
	if err != nil {
		return nil, err
	}
	if !covers() {
		return nil, nil
	}
	for i := range n {
		if s.Held == machine.AllPartitions {
			break
		}
		if !s.Held.Has(of(i)) {
			return nil, r.Board.Loading()
		}
	}
	// 3. Load what is not in memory. If that fails, others may have it.
	s, err = s.With(ctx, need, n, of)
	if err != nil && r.Node.View() != nil && machine.MayPass(err) {
		return nil, nil
	}
	return s, err
}
