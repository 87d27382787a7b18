// Following the agreement: a member adopts each view.

package cluster

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/cluster/leader"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/directory"
)

// follow adopts every agreed view until ctx ends.
func (n *Node) follow(ctx context.Context, ag *agreement.Agreement) {
	for {
		changed := ag.Changed()
		if v := ag.View(); v != nil {
			n.adopt(v)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// adopt makes v this node's view. The gate must be locked meanwhile, because all work of the old
// view must have ended and none may come later. The lease of the old epoch is void from here on.
func (n *Node) adopt(v *view.View) {
	// 1. Reject a view if it is old, of another cluster, or of a newer protocol. The gate is
	// locked until the view is stored, because no work may see half a change.
	n.gate.Lock()
	old := n.View()
	if old != nil && (old.Generation > v.Generation || old.Generation == v.Generation && old.Epoch >= v.Epoch) {
		n.gate.Unlock()
		if old.Generation == v.Generation && old.Epoch == v.Epoch && old.Digest() != v.Digest() {
			n.fail(fmt.Errorf("%w: another view has the epoch %d", leader.ErrForgotten, v.Epoch))
		}
		return
	}
	identity, member := n.store.Identity()
	if member && (identity.ClusterID != v.ClusterID || identity.Lineage != v.Lineage) {
		n.gate.Unlock()
		n.fail(fmt.Errorf("%w: the view of epoch %d is of lineage %q, the directory of %q", ErrWrongCluster, v.Epoch, v.Lineage, identity.Lineage))
		return
	}
	if v.Minor > protocol.Minor {
		n.gate.Unlock()
		n.fail(fmt.Errorf("%w: %s", ErrProtocol, leader.Outdated(protocol.Minor, v.Minor)))
		return
	}
	// 2. End the work of the old view, and take in a load before the view of its phase counts.
	n.work.stop() // a sweep must not meet what the next epoch fills
	if err := n.loads.Adopt(v); err != nil {
		n.gate.Unlock()
		if v.Has(n.self, n.incarnation) {
			n.fail(err)
		}
		// Otherwise it may be an old view: this machine may have been excluded since.
		n.log.Warn("a view is not adopted", "epoch", v.Epoch, "error", err)
		return
	}
	// This must precede the first lease, because a machine must not form a cluster once it is a
	// member. It must also precede every row of a newer minor, because an older release must not
	// open the directory then.
	if identity.Forming || !member || identity.Generation != v.Generation || identity.Minor < v.Minor {
		identity = store.Identity{Cluster: v.Cluster, ClusterID: v.ClusterID, Generation: v.Generation, Lineage: v.Lineage,
			Followed: identity.Followed, Minor: max(identity.Minor, v.Minor)}
		if err := n.store.SetIdentity(identity); err != nil {
			n.gate.Unlock()
			n.fail(err)
			return
		}
	}
	n.gate.Set(v)
	n.store.Beats().SetView(seenOf(v))
	if m := v.Find(n.self); m != nil {
		n.reporter.leaving.Store(m.State == view.Leaving)
	}
	n.writes.Adopted(old, v)
	n.gate.Unlock()

	// 3. The gate is open: inform all parts, and begin the work of the new view.
	n.gate.Announce()
	n.warnOfLease(old, v)
	n.log.Info("adopted a view", "epoch", v.Epoch, "phase", v.Phase, "members", len(v.Members))
	if v.Has(n.self, n.incarnation) {
		if err := directory.RemoveRejoin(n.cfg.FS, n.store.Dir()); err != nil {
			n.fail(err)
			return
		}
	}
	if err := n.store.Segments().SetLayout(v.Joint().Reads()); err != nil {
		n.fail(err)
		return
	}
	if p := n.parts.Load(); p != nil && p.gossip != nil {
		p.gossip.SetPeers(n.Members())
	}
	n.work.begin(n.ctx, v)
	n.reporter.due.Send()
	n.leader().Wake()
}

// warnOfLease logs once if this node was started with another length than the agreed one.
func (n *Node) warnOfLease(old, v *view.View) {
	if v.Lease == n.cfg.Lease || old != nil && old.Lease == v.Lease {
		return
	}
	n.log.Warn("the cluster has another failure timeout than this node (--failure-timeout): it changes when all nodes have the same",
		"cluster", leader.FailureTimeout(v.Lease), "node", leader.FailureTimeout(n.cfg.Lease))
}

// seenOf names a view.
func seenOf(v *view.View) store.AdoptedView {
	return store.AdoptedView{Generation: v.Generation, Epoch: v.Epoch, Digest: v.Digest()}
}
