// Requests of operators to the leader.

package cluster

import (
	"context"
	"fmt"
	"time"

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
	return n.ask(ctx, methodLeave, id, n.leave)
}

// Remove asks the cluster to give up a machine at once, as if it had failed. The operator must
// know it will not come back. Its data is regenerated from the other copies.
func (n *Node) Remove(ctx context.Context, id trie.MachineID) error {
	return n.ask(ctx, methodRemove, id, n.remove)
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
		if err := n.ask(ctx, methodAccept, 0, n.accept); err != nil && !asked {
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

func (n *Node) accept(v *view.View, _ trie.MachineID) error {
	if len(v.Lost) == 0 {
		return fmt.Errorf("%w: nothing is lost", store.ErrInvalid)
	}
	n.wishes.wantAcceptLoss()
	n.wakeLeader()
	return nil
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
		if err := n.ask(ctx, methodCopies, trie.MachineID(copies), n.setCopies); err != nil {
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

// setCopies notes the operator's wish at the leader, or refuses it if a disk lacks room.
func (n *Node) setCopies(v *view.View, copies trie.MachineID) error {
	short := view.NoRoomForCopies(v, n.grants.figures(), int(copies))
	if len(short) > 0 {
		return fmt.Errorf("%w: %d copies of each triple need more room on the disk of machine %s", store.ErrDiskFull, int(copies), short[0])
	}
	n.wishes.wantCopies(int(copies))
	n.wakeLeader()
	return nil
}

// ask sends a request to the leader about a machine, or about all.
func (n *Node) ask(ctx context.Context, method string, id trie.MachineID, do func(*view.View, trie.MachineID) error) error {
	if n.parts.Load() == nil {
		return fmt.Errorf("%w: this node is not part of a cluster", store.ErrInvalid)
	}
	if n.agreement().IsLeader() {
		return do(n.agreement().View(), id)
	}
	var e peer.Encoder
	e.Uint64(uint64(id))
	_, err := n.callLeader(ctx, method, e.Data())
	return upkeep.Unavailable(err)
}

func (n *Node) leave(v *view.View, id trie.MachineID) error {
	m := v.Find(id)
	if m == nil {
		return fmt.Errorf("%w: machine %s is not a member", store.ErrInvalid, id)
	}
	others := 0
	for _, o := range v.Members {
		if o.ID != id && o.State == view.Up {
			others++
		}
	}
	if m.State == view.Up && others == 0 {
		return fmt.Errorf("%w: machine %s is the last that holds data", store.ErrInvalid, id)
	}
	n.wishes.wantLeave(id)
	n.wakeLeader()
	return nil
}

func (n *Node) remove(v *view.View, id trie.MachineID) error {
	if v.Find(id) == nil {
		return fmt.Errorf("%w: machine %s is not a member", store.ErrInvalid, id)
	}
	if id == n.self {
		return fmt.Errorf("%w: machine %s leads the cluster and runs: let it leave, or end its process first", store.ErrInvalid, id)
	}
	n.wishes.wantRemove(id)
	n.wakeLeader()
	return nil
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
		return n.setCopies(n.agreement().View(), copies)
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
