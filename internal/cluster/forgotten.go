// Views which the voters lack.

package cluster

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
)

// This file is about voters with disks restored from an older copy. Raft relies on every voter to
// keep its log, and cannot find out if one lost entries. If the leader is down, such a voter and
// one with a shorter log can elect another leader, and an agreed view is lost. But every machine
// that has adopted it still has it.

// seenOf names a view.
func seenOf(v *view.View) store.Seen {
	return store.Seen{Generation: v.Generation, Epoch: v.Epoch, Digest: v.Digest()}
}

// newestSeen names the newest view this machine has adopted, by its disk or by this process.
func (n *Node) newestSeen() store.Seen {
	v := n.View()
	if v == nil || v.Generation < n.seen.Generation || v.Generation == n.seen.Generation && v.Epoch < n.seen.Epoch {
		return n.seen
	}
	return seenOf(v)
}

// remembers returns [ErrForgotten] if a member has adopted a view and this leader lacks it. From
// then on no member gets a lease, and the view must not change.
func (n *Node) remembers(ctx context.Context, r *report) error {
	ag := n.agreement()
	missing := func() bool {
		v := ag.View()
		return v.Generation == r.Generation && v.Epoch < r.Seen
	}
	if !missing() {
		return nil
	}
	// Other members may know of an agreed view before this node does.
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
