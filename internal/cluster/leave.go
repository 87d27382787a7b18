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

// Leave asks the cluster to do without a machine. The machine serves while its data moves away.
// Leave returns when the leader has recorded the request; the status shows the progress. The
// process may be ended when the machine is no member any more.
func (n *Node) Leave(ctx context.Context, id trie.MachineID) error {
	return n.ask(ctx, methodLeave, id, func(l *leader.Leader) error { return l.Leave(id) })
}

// Remove asks the cluster to give up a machine at once, as if it had failed. The operator must
// know it will not come back. Its data is regenerated from the other copies.
func (n *Node) Remove(ctx context.Context, id trie.MachineID) error {
	return n.ask(ctx, methodRemove, id, func(l *leader.Leader) error { return l.Remove(id) })
}

// AcceptLoss makes the cluster accept the loss of data. The remaining rows of lost ranges are
// read again as if they were complete. The operator has restored the rest, or does without.
//
// It returns when a view has no lost range. It repeats the request, because a leader forgets
// requests when it loses its office.
func (n *Node) AcceptLoss(ctx context.Context) error {
	for asked := false; ; asked = true {
		changed := n.Changed()
		if v := n.View(); asked && v != nil && len(v.Lost) == 0 {
			return nil
		}
		if err := n.ask(ctx, methodAccept, 0, (*leader.Leader).AcceptLoss); err != nil && !asked {
			return err
		}
		select {
		case <-changed:
		case <-time.After(n.cfg.Lease):
		case <-ctx.Done():
			return fmt.Errorf("%w: the loss is not accepted yet: %w", store.ErrUnknown, context.Cause(ctx))
		}
	}
}

// SetCopies changes how many machines hold each triple. It returns when a view has the
// new number as its target; the status shows the progress.
func (n *Node) SetCopies(ctx context.Context, copies int) error {
	if err := view.CheckCopies(copies); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	for {
		changed := n.Changed()
		if v := n.View(); v != nil && v.Target.Copies == copies {
			return nil
		}
		// The request must be repeated, because a new leader does not have it.
		if err := n.ask(ctx, methodCopies, trie.MachineID(copies), func(l *leader.Leader) error { return l.SetCopies(copies) }); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-time.After(n.cfg.Lease):
		case <-ctx.Done():
			return fmt.Errorf("%w: the number of copies is not changed yet: %w", store.ErrUnknown, context.Cause(ctx))
		}
	}
}

// ask sends a request to the leader about a machine, or about all.
func (n *Node) ask(ctx context.Context, method string, id trie.MachineID, do func(*leader.Leader) error) error {
	if n.parts.Load() == nil {
		return fmt.Errorf("%w: this node is not part of a cluster", store.ErrInvalid)
	}
	if n.agreement().IsLeader() {
		return do(n.leader())
	}
	var e peer.Encoder
	e.Uint64(uint64(id))
	_, err := n.callLeader(ctx, method, e.Data())
	return upkeep.Unavailable(err)
}

func (n *Node) handleLeave(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	return nil, n.handleAsk(ctx, body, n.Leave)
}

func (n *Node) handleRemove(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	return nil, n.handleAsk(ctx, body, n.Remove)
}

func (n *Node) handleAccept(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	return nil, n.handleAsk(ctx, body, func(ctx context.Context, _ trie.MachineID) error { return n.AcceptLoss(ctx) })
}

func (n *Node) handleCopies(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	return nil, n.handleAsk(ctx, body, func(_ context.Context, copies trie.MachineID) error {
		return n.leader().SetCopies(int(copies))
	})
}

func (n *Node) handleAsk(ctx context.Context, body []byte, do func(context.Context, trie.MachineID) error) error {
	d := peer.NewDecoder(body)
	id := trie.MachineID(d.Uint64())
	if err := d.End(); err != nil {
		return err
	}
	if !n.agreement().IsLeader() { // asked by one that believed so: it has to look again
		return peer.Refuse(peer.CodeUnavailable, 0, "this node does not lead")
	}
	return do(ctx, id)
}
