// Parts of transactions, at their sequencers.

package writes

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// partCalls are the parts of transactions that were submitted to this machine in an epoch, until their coordinators
// have finished with them. So a part is stamped once, although its answer was lost and it comes again.
type partCalls struct {
	mu    sync.Mutex
	epoch uint64
	of    map[trie.MachineID]map[partNumber]*partCall // by coordinator
}

// partNumber is a transaction of a coordinator, and the index of a part.
type partNumber struct{ transaction, index uint64 }

// partCall is the outcome of a part, when done is closed.
type partCall struct {
	done   chan struct{}
	answer answer
	err    error
}

// begin returns the call of a part. It is new if the part was not submitted before, or was refused.
func (pc *partCalls) begin(epoch uint64, p *ticks.Part) (call *partCall, isNew bool, err error) {
	pc.mu.Lock()
	defer pc.mu.Unlock()
	switch {
	case epoch < pc.epoch:
		return nil, false, peer.Refuse(peer.CodeEpoch, pc.epoch, "the part is of epoch %d", epoch)
	case epoch > pc.epoch || pc.of == nil:
		pc.epoch, pc.of = epoch, map[trie.MachineID]map[partNumber]*partCall{}
	}
	calls := pc.of[p.Coordinator]
	if calls == nil {
		calls = map[partNumber]*partCall{}
		pc.of[p.Coordinator] = calls
	}
	for n := range calls {
		if n.transaction < p.Finished {
			delete(calls, n)
		}
	}
	n := partNumber{p.Number, p.Index}
	if call = calls[n]; call == nil {
		call, isNew = &partCall{done: make(chan struct{})}, true
		calls[n] = call
	}
	return call, isNew, nil
}

// end records the outcome of a call. If it was refused, the next message begins anew.
func (pc *partCalls) end(call *partCall, p *ticks.Part, a answer, err error) {
	pc.mu.Lock()
	defer pc.mu.Unlock()
	if n := (partNumber{p.Number, p.Index}); (a.outcome == diskFull || peer.IsDefinite(err)) && pc.of[p.Coordinator][n] == call {
		delete(pc.of[p.Coordinator], n)
	}
	call.answer, call.err = a, err
	close(call.done)
}

// submitPart is submit for a part of a transaction. If ctx ends, the part goes on, and may be submitted again.
func (sq *sequencer) submitPart(ctx context.Context, s submission) (answer, error) {
	call, isNew, err := sq.parts.begin(s.fence, s.part)
	if err != nil {
		return answer{}, err
	}
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
	finished, err := sq.beginWait(waitSubmit)
	if err != nil {
		return nil, err
	}
	defer finished()
	var s submission
	if err := peer.Decode(body, s.fields); err != nil {
		return nil, malformed(err)
	}
	if from := coordinatorOf(ctx); s.fence == 0 || s.part.Coordinator != from.Machine {
		return nil, malformed(errors.New("a part of a transaction of another machine, or without an epoch"))
	}
	a, err := sq.submitPart(ctx, s)
	if err != nil {
		return nil, err
	}
	return peer.Encode(0, a.partFields), nil
}
