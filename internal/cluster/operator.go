// Requests of operators to the leader.

package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/leader"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/upkeep"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// operator sends the requests of operators to the leader, and takes them as the leader.
type operator struct {
	*membership
	peers       *peers
	leaseLength time.Duration // by the configuration
}

// Leave asks the cluster to do without a machine. The machine serves while its data moves away.
// Leave returns when the leader has recorded the request; the status shows the progress. The
// process may be ended when the machine is no member any more.
func (o *operator) Leave(ctx context.Context, id trie.MachineID) error {
	return o.request(ctx, methodLeave, id, func(l *leader.Leader) error { return l.Leave(id) })
}

// Remove asks the cluster to give up a machine at once, as if it had failed. The operator must
// know it will not come back. Its data is regenerated from the other copies.
func (o *operator) Remove(ctx context.Context, id trie.MachineID) error {
	return o.request(ctx, methodRemove, id, func(l *leader.Leader) error { return l.Remove(id) })
}

// AcceptLoss makes the cluster accept the loss of data. The remaining rows of lost ranges are
// read again as if they were complete. The operator has restored the rest, or does without.
//
// It returns when a view has no lost range. It repeats the request, because a leader forgets
// requests when it loses its office.
func (o *operator) AcceptLoss(ctx context.Context) error {
	for asked := false; ; asked = true {
		changed := o.Changed()
		if v := o.View(); asked && v != nil && len(v.Lost) == 0 {
			return nil
		}
		if err := o.request(ctx, methodAccept, 0, (*leader.Leader).AcceptLoss); err != nil && !asked {
			return err
		}
		select {
		case <-changed:
		case <-time.After(o.leaseLength):
		case <-ctx.Done():
			return fmt.Errorf("%w: the loss is not accepted yet: %w", store.ErrUnknown, context.Cause(ctx))
		}
	}
}

// SetCopies changes how many machines hold each triple. It returns when a view has the
// new number as its target; the status shows the progress.
func (o *operator) SetCopies(ctx context.Context, copies int) error {
	if err := view.CheckCopies(copies); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	for {
		changed := o.Changed()
		if v := o.View(); v != nil && v.Target.Copies == copies {
			return nil
		}
		// The request must be repeated, because a new leader does not have it.
		if err := o.request(ctx, methodCopies, trie.MachineID(copies), func(l *leader.Leader) error { return l.SetCopies(copies) }); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-time.After(o.leaseLength):
		case <-ctx.Done():
			return fmt.Errorf("%w: the number of copies is not changed yet: %w", store.ErrUnknown, context.Cause(ctx))
		}
	}
}

// request sends a request to the leader about a machine, or about all.
func (o *operator) request(ctx context.Context, method string, id trie.MachineID, do func(*leader.Leader) error) error {
	if o.alone() {
		return fmt.Errorf("%w: this node is not part of a cluster", store.ErrInvalid)
	}
	if o.agreement().IsLeader() {
		return do(o.leader())
	}
	var e peer.Encoder
	e.Uint64(uint64(id))
	_, err := o.peers.callLeader(ctx, method, e.Data())
	return upkeep.Unavailable(err)
}

// register makes the operator's requests answered.
func (o *operator) register() {
	o.peers.Handle(methodLeave, o.answer(o.Leave))
	o.peers.Handle(methodRemove, o.answer(o.Remove))
	o.peers.Handle(methodAccept, o.answer(func(ctx context.Context, _ trie.MachineID) error { return o.AcceptLoss(ctx) }))
	o.peers.Handle(methodCopies, o.answer(func(_ context.Context, copies trie.MachineID) error { return o.leader().SetCopies(int(copies)) }))
}

// answer returns the handler of a request, which only a leader does.
func (o *operator) answer(do func(context.Context, trie.MachineID) error) peer.Handler {
	return func(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
		d := peer.NewDecoder(body)
		id := trie.MachineID(d.Uint64())
		if err := d.End(); err != nil {
			return nil, err
		}
		if !o.agreement().IsLeader() { // asked by one that believed so: it has to look again
			return nil, peer.Refuse(peer.CodeUnavailable, 0, "this node does not lead")
		}
		return nil, do(ctx, id)
	}
}
