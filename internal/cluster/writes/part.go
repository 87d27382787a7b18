// Parts of transactions, at their sequencers.

package writes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
)

// partCalls are the parts of transactions that were submitted to this machine in an epoch, until their coordinators
// have finished with them. So a part is stamped once, although its answer was lost and it comes again.
type partCalls struct {
	mu    sync.Mutex
	epoch uint64
	of    map[member.Process]*coordinatedParts
}

// coordinatedParts is the parts of a coordinator. It needs none of a transaction below finished; if one comes, it is a
// late copy of a message.
type coordinatedParts struct {
	finished uint64
	calls    map[partNumber]*partCall
}

// partNumber is a transaction of a coordinator, and the index of a part.
type partNumber struct{ transaction, index uint64 }

// partCall is the outcome of a part, when done is closed.
type partCall struct {
	done   chan struct{}
	answer answer
	err    error
}

// begin returns the call of a part of the adopted epoch. It is new if the part was not submitted before, or was refused.
func (pc *partCalls) begin(epoch uint64, p *ticks.Part) (call *partCall, isNew bool, err error) {
	pc.mu.Lock()
	defer pc.mu.Unlock()
	if epoch > pc.epoch || pc.of == nil {
		pc.epoch, pc.of = epoch, map[member.Process]*coordinatedParts{}
	}
	of := pc.of[p.Coordinator]
	if of == nil {
		of = &coordinatedParts{calls: map[partNumber]*partCall{}}
		pc.of[p.Coordinator] = of
	}
	if p.Finished > of.finished {
		of.finished = p.Finished
		maps.DeleteFunc(of.calls, func(n partNumber, _ *partCall) bool { return n.transaction < of.finished })
	}
	if epoch < pc.epoch || p.Number < of.finished {
		return nil, false, peer.Refuse(peer.CodeEpoch, pc.epoch, "transaction %d of epoch %d is finished", p.Number, epoch)
	}
	n := partNumber{p.Number, p.Index}
	if call = of.calls[n]; call == nil {
		call, isNew = &partCall{done: make(chan struct{})}, true
		of.calls[n] = call
	}
	return call, isNew, nil
}

// end records the outcome of a call. If it was refused, the next message begins anew.
func (pc *partCalls) end(call *partCall, p *ticks.Part, a answer, err error) {
	pc.mu.Lock()
	defer pc.mu.Unlock()
	of, n := pc.of[p.Coordinator], partNumber{p.Number, p.Index}
	if (a.outcome == diskFull || peer.IsDefinite(err)) && of != nil && of.calls[n] == call {
		delete(of.calls, n)
	}
	call.answer, call.err = a, err
	close(call.done)
}

// submitPart is submit for a part of a transaction. If ctx ends, the part goes on, and may be submitted again.
func (sq *sequencer) submitPart(ctx context.Context, s submission) (answer, error) {
	// 1. The view must be that of the part, because a wrong epoch would drop the other parts.
	v := sq.member.View()
	if v == nil || v.Epoch != s.fence {
		return answer{}, wrongEpoch(v)
	}
	err := s.part.Check(v)
	if err != nil {
		return answer{}, err
	}
	call, isNew, err := sq.parts.begin(s.fence, s.part)
	if err != nil {
		return answer{}, err
	}
	// 2. Stamp it, if no message before has, and wait.
	if isNew {
		started := sq.flight.start(func() {
			a, err := sq.submit(context.WithoutCancel(ctx), s)
			sq.parts.end(call, s.part, a, err)
		})
		if !started {
			sq.parts.end(call, s.part, answer{}, errClosing())
		}
	}
	select {
	case <-call.done:
		return call.answer, call.err
	case <-ctx.Done():
		return answer{}, fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
	}
}

// handlePart answers writes/part.
func (sq *sequencer) handlePart(ctx context.Context, body []byte) ([]byte, error) {
	var s submission
	if err := peer.Decode(body, s.fields); err != nil {
		return nil, malformed(err)
	}
	kind, submit := waitPart, sq.submitPart
	if s.part == nil { // it is the whole of a change
		kind, submit = waitSubmit, sq.settle
	}
	finished, err := sq.beginWait(kind)
	if err != nil {
		return nil, err
	}
	defer finished()
	// Check what submit relies on.
	if s.part != nil && s.part.Coordinator != coordinatorOf(ctx) {
		return nil, malformed(errors.New("a part of a transaction of another machine"))
	}
	if slices.ContainsFunc(s.operations, func(o replica.Operation) bool { return o.Kind > store.OperationDelete }) {
		return nil, malformed(errors.New("a part of a transaction with other operations than adds and deletes"))
	}
	if len(s.record) > 0 {
		if _, err := recorded(&replica.Operation{Long: s.record}); err != nil {
			return nil, malformed(err)
		}
	}
	a, err := submit(ctx, s)
	if err != nil {
		return nil, err
	}
	return peer.Encode(0, a.partFields), nil
}
