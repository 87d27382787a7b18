package cluster

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
)

// This file is about voters whose disks are not what they were. Raft relies on a voter
// to have what it said it has; of one that was restored from an older copy it finds out
// nothing. With the leader away, such a voter and one that is behind can elect another,
// and a view that was agreed on is gone. Who has adopted it still knows.

// seenOf names a view.
func seenOf(v *view.View) node.Seen {
	return node.Seen{Generation: v.Generation, Epoch: v.Epoch, Digest: v.Digest()}
}

// newestSeen names the newest view that this machine has adopted, as its disk or this
// process has it.
func (n *Node) newestSeen() node.Seen {
	v := n.current.Load()
	if v == nil || v.Generation < n.seen.Generation || v.Generation == n.seen.Generation && v.Epoch < n.seen.Epoch {
		return n.seen
	}
	return seenOf(v)
}

// remembers returns [ErrForgotten] where a member has adopted a view that this leader
// does not know. From then on nobody gets a lease, and nothing is changed.
func (n *Node) remembers(ctx context.Context, r *report) error {
	ag := n.agreement()
	missing := func() bool {
		v := ag.View()
		return v.Generation == r.Generation && v.Epoch < r.Seen
	}
	if !missing() {
		return nil
	}
	// What is agreed on may be known to others before it is to this node.
	if err := ag.Barrier(ctx); err != nil || !missing() {
		return err
	}
	err := fmt.Errorf("%w: machine %s has adopted epoch %d, and the newest one here is %d; nothing is answered: see \"A disk is restored\" in OPERATIONS.md",
		ErrForgotten, r.ID, r.Seen, ag.View().Epoch)
	n.grants.mu.Lock()
	defer n.grants.mu.Unlock()
	if n.grants.forgotten == "" {
		n.log.Error("nothing is done any more", "error", err)
	}
	n.grants.forgotten = err.Error()
	return err
}
