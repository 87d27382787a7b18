// The sequencer: it stamps one group of requests after the other, in one goroutine.

package writes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/tracing"
)

// sequencer stamps operations if this machine is the sequencer of their triples. One goroutine
// stamps, see run.
type sequencer struct {
	*common
	flight    *inFlight
	tokens    *tokenLookup
	diskRooms *diskRooms
	holder    *holder
	queue     queue
	parts     partCalls
	clean     atomic.Uint64 // the last epoch in which all earlier operations were known to be committed
}

// submission is operations for their sequencer.
type submission struct {
	operations []replica.Operation
	first      uint64 // the epoch of the client's first try; 0 if this may be a retry
	fence      uint64 // the epoch in which the operations must be stamped; 0 for any
	part       *ticks.Part
	forced     bool   // see request
	record     []byte // see record.go; nil if there is none
}

// submit stamps operations on this machine and waits until they are committed, together with
// every batch the answer depends on. After a *peer.Refusal nothing was done; after any other
// error each operation may be done or not. If an operation was done before under its token, it is
// not repeated.
func (sq *sequencer) submit(ctx context.Context, s submission) (_ answer, err error) {
	operations := s.operations
	ctx, span := tracing.Start(ctx, "stamp and commit")
	defer func() { span.End(err) }()
	span.Number("trefoil.operations", int64(len(operations)))
	if sq.ctx.Err() != nil {
		return answer{}, errClosing()
	}
	// 1. Find the holders under this view. If it may be a retry from an earlier view, ask the
	// other members for their operations.
	v := sq.member.View()
	if v == nil {
		return answer{}, peer.Refuse(peer.CodeUnavailable, 0, "this machine has no view yet")
	}
	route, err := newRoute(v, sq.self.Machine, operations)
	if err != nil {
		return answer{}, malformed(err)
	}
	r := &request{operations: operations, size: sizeOf(operations), origin: tracing.OriginOf(ctx), route: route, coordinator: coordinatorOf(ctx), fence: s.fence, part: s.part, forced: s.forced, record: s.record, done: make(chan struct{})}
	if err := sq.confirm(ctx, route); err != nil {
		return answer{}, err
	}
	if haveConditions(operations) {
		if err := sq.reconcile(ctx, v); err != nil {
			return answer{}, err
		}
	}
	if s.first != v.Epoch {
		if r.known, err = sq.tokens.doneBefore(ctx, v, operations); err != nil {
			return answer{}, err
		}
	}
	// 2. Wait in the queue until the sequencer has stamped or refused the request.
	if r.part != nil {
		sq.flight.memory.force(r.size)
	} else if err := sq.flight.memory.take(ctx, r.size); err != nil {
		return answer{}, peer.Refuse(peer.CodeUnavailable, v.Epoch, "no room for the operations: %v", err)
	}
	if !sq.queue.put(r) {
		sq.flight.memory.give(r.size)
		return answer{}, errClosing()
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(queued, withdrawn) {
			sq.flight.memory.give(r.size)
			return answer{}, peer.Refuse(peer.CodeUnavailable, v.Epoch, "not begun in time: %v", context.Cause(ctx))
		}
		<-r.done // the sequencer has taken it, and does not wait for ctx
	}
	switch {
	case r.full != 0:
		return answer{outcome: diskFull, full: r.full}, nil
	case r.err != nil:
		return answer{}, r.err
	}
	// 3. Wait until its batches are committed. From here on the outcome is unknown if the wait
	// ends early.
	for _, b := range r.batches {
		select {
		case <-b.committed:
		case <-ctx.Done():
			return answer{}, fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
		case <-sq.ctx.Done():
			return answer{}, fmt.Errorf("%w: the sequencer shuts down", store.ErrUnknown)
		}
	}
	return answer{outcome: r.refused, changed: r.changed, unchanged: r.unchanged, removed: r.removed, version: r.version, epoch: r.route.view.Epoch}, nil
}

func (sq *sequencer) handleSubmit(ctx context.Context, body []byte) ([]byte, error) {
	finished, err := sq.beginWait(waitSubmit)
	if err != nil {
		return nil, err
	}
	defer finished()
	m := numbered{stamped: false}
	err = peer.Decode(body, m.fields)
	if err == nil && len(m.operations) > 1 && slices.ContainsFunc(m.operations, func(o replica.Operation) bool { return o.Annotation != nil }) {
		err = fmt.Errorf("%w: an annotation is submitted alone", peer.ErrMessage)
	}
	if err != nil {
		return nil, malformed(err)
	}
	a, err := sq.settle(ctx, submission{operations: m.operations, first: m.number})
	if err != nil {
		return nil, err
	}
	return peer.Encode(0, a.fields), nil
}

// run stamps the submitted requests until the queue is closed.
func (sq *sequencer) run() {
	for {
		group := sq.queue.take()
		if len(group) == 0 {
			return
		}
		done := sq.flight.pauses.begin()
		sq.stampGroup(group)
		done()
	}
}

// enter keeps the adopted view from changing until leave is called.
func (sq *sequencer) enter() (v *view.View, leave func(), err error) {
	for {
		v = sq.member.View()
		if leave, err = sq.member.Enter(v.Epoch); err == nil {
			return v, leave, nil
		}
		if sq.member.View() == v {
			return nil, nil, err
		}
	}
}

// stampGroup stamps a group of requests, or refuses them.
//
// It must stay within the gate throughout, because the route of a batch must follow the adopted
// view. It checks the lease before the look-up and after it, because the result of the look-up is
// only complete if no other sequencer could stamp meanwhile.
func (sq *sequencer) stampGroup(group []*request) {
	v, leave, err := sq.enter()
	if err != nil {
		sq.refuseAll(group, err)
		return
	}
	defer leave()
	forwards := group[0].forwards
	if err := sq.member.Lease(); err != nil && !forwards {
		sq.refuseAll(group, noLease(v, err))
		return
	}
	// 1. Refuse requests for other sequencers and those without room.
	group = slices.DeleteFunc(group, func(r *request) bool {
		err := sq.admit(v, r)
		switch {
		case err != nil:
			sq.refuseAll([]*request{r}, err)
		case r.full != 0:
			sq.drop(r, nil)
		}
		return err != nil || r.full != 0
	})
	if len(group) == 0 {
		return
	}
	if forwards {
		sq.stampForwarded(&grouped{view: v, requests: group})
		return
	}
	// 2. Look up the triples, and the tokens of retries.
	g, err := sq.lookUp(v, group)
	if err != nil {
		sq.refuseAll(group, peer.Refuse(peer.CodeUnavailable, v.Epoch, "look-up: %v", err))
		return
	}
	if err := sq.remember(g); err != nil {
		sq.refuseAll(group, peer.Refuse(peer.CodeUnavailable, v.Epoch, "look up tokens: %v", err))
		return
	}
	if g = sq.withdraw(g); len(g.requests) == 0 {
		return
	}
	group = g.requests
	// 3. Stamp and send. The lease must still run.
	if err := sq.member.Lease(); err != nil {
		sq.refuseAll(group, noLease(v, err))
		return
	}
	sq.flight.memory.give(sq.flight.stamp(g))
	for _, r := range group {
		r.finish(nil)
	}
}

// noLease returns the refusal of a request without a lease.
func noLease(v *view.View, err error) error {
	return peer.Refuse(peer.CodeLease, v.Epoch, "%v", err)
}

// refuseAll refuses all requests of a group.
func (sq *sequencer) refuseAll(group []*request, err error) {
	var refusal *peer.Refusal
	if !errors.As(err, &refusal) { // only refusals keep their code on the wire
		refusal = peer.Refuse(peer.CodeUnavailable, 0, "%v", err)
	}
	for _, r := range group {
		sq.drop(r, refusal)
	}
}

// drop answers a request without doing it. If err is nil, the request has the reason.
func (sq *sequencer) drop(r *request, err error) {
	sq.stats.refused.Add(int64(len(r.operations)))
	sq.flight.memory.give(r.size)
	r.finish(err)
}

// admit rejects a request if this machine is not its sequencer, or if it comes from no member. If a holder has a full
// disk, admit records it in the request.
func (sq *sequencer) admit(v *view.View, r *request) error {
	if r.fence != 0 && r.fence != v.Epoch {
		return wrongEpoch(v)
	}
	// It was excluded, and others may have changed what it has read. Or it joined in a view that is not adopted here yet.
	if r.coordinator != (member.Process{}) && !r.coordinator.IsMember(v) {
		return wrongEpoch(v)
	}
	if r.route.view != v && (haveTokens(r.operations) || haveConditions(r.operations)) {
		return wrongEpoch(v) // members of this view were not queried about it
	}
	if r.route.view != v {
		route, err := newRoute(v, sq.self.Machine, r.operations)
		if err != nil {
			return malformed(err)
		}
		if len(route.confirms) > 0 {
			return wrongEpoch(v) // they were not queried about it
		}
		r.route = route
	}
	if i := r.route.foreign; i >= 0 {
		return peer.Refuse(peer.CodeNotOwner, v.Epoch, "machine %s is not the sequencer of operation %d", sq.self.Machine, i)
	}
	if !r.forced {
		r.full = sq.lacksRoom(r)
	}
	return nil
}
