// Following the agreement: a member adopts each view.

package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/agreement"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
)

// follow adopts every view that is agreed on, until ctx ends.
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

// adopt makes v this node's view. Whatever is being applied in the old one is
// done before, and nothing of it comes after: that is what the gate is for. The
// lease of the old epoch is worth nothing from here on.
func (n *Node) adopt(v *view.View) {
	n.gate.Lock()
	old := n.current.Load()
	if old != nil && (old.Generation > v.Generation || old.Generation == v.Generation && old.Epoch >= v.Epoch) {
		n.gate.Unlock()
		if old.Generation == v.Generation && old.Epoch == v.Epoch && old.Digest() != v.Digest() {
			n.fail(fmt.Errorf("%w: another view has the epoch %d", ErrForgotten, v.Epoch))
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
		n.fail(fmt.Errorf("%w: %s", ErrProtocol, outdated(protocol.Minor, v.Minor)))
		return
	}
	n.work.stop() // a sweep must not meet what the next epoch fills
	if err := n.loads.Adopt(v); err != nil {
		n.gate.Unlock()
		if v.Has(n.self, n.incarnation) {
			n.fail(err)
		}
		// Otherwise it may be an old view: this machine may be excluded by now.
		n.log.Warn("a view is not adopted", "epoch", v.Epoch, "error", err)
		return
	}
	// Before the first lease: a machine that is a member must not form a cluster any more.
	// Before anything of a minor is written: a release without it must not open the directory.
	if identity.Forming || !member || identity.Generation != v.Generation || identity.Minor < v.Minor {
		identity = node.Identity{Cluster: v.Cluster, ClusterID: v.ClusterID, Generation: v.Generation, Lineage: v.Lineage,
			Followed: identity.Followed, Minor: max(identity.Minor, v.Minor)}
		if err := n.store.SetIdentity(identity); err != nil {
			n.gate.Unlock()
			n.fail(err)
			return
		}
	}
	n.current.Store(v)
	n.store.Saw(seenOf(v))
	if m := v.Find(n.self); m != nil {
		n.leaving.Store(m.State == view.Leaving)
	}
	n.writes.Adopted(old, v)
	n.gate.Unlock()

	n.mu.Lock()
	close(n.changed)
	n.changed = make(chan struct{})
	n.mu.Unlock()
	n.warnOfLease(old, v)
	n.log.Info("adopted a view", "epoch", v.Epoch, "phase", v.Phase, "members", len(v.Members))
	if v.Has(n.self, n.incarnation) {
		if err := node.Joined(n.cfg.FS, n.store.Dir()); err != nil {
			n.fail(err)
			return
		}
	}
	if err := n.store.SetLayout(v.Joint().Reads()); err != nil {
		n.fail(err)
		return
	}
	if p := n.parts.Load(); p != nil && p.gossip != nil {
		p.gossip.SetPeers(n.others())
	}
	n.startWork(v)
	wake(n.wakeLease)
	n.wakeLeader()
}

// Members returns the addresses of the others, as far as they are known.
func (n *Node) Members() []string { return n.others() }

// Changed returns a channel that is closed when the next view is adopted.
func (n *Node) Changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

// Newer waits until a view of a greater epoch is adopted.
func (n *Node) Newer(ctx context.Context, epoch uint64) error {
	for {
		changed := n.Changed()
		if v := n.current.Load(); v != nil && v.Epoch > epoch {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-n.ctx.Done():
			return node.ErrClosed
		}
	}
}

// Enter keeps the view from changing until leave is called, which has to be soon;
// it must not be called within itself. The refusal says that another view is
// adopted, or that this process is no member of it.
func (n *Node) Enter(epoch uint64) (leave func(), err error) {
	n.gate.RLock()
	v := n.current.Load()
	switch {
	case v == nil:
		err = refuse(peer.CodeEpoch, 0, "machine %s has no view yet", n.self)
	case v.Epoch != epoch:
		err = refuse(peer.CodeEpoch, v.Epoch, "the epoch is %d, not %d", v.Epoch, epoch)
	case !v.Has(n.self, n.incarnation):
		err = refuse(peer.CodeEpoch, v.Epoch, "machine %s waits to be a member again", n.self)
	}
	if err != nil {
		n.gate.RUnlock()
		return nil, err
	}
	return n.gate.RUnlock, nil
}

// others returns the addresses of the other members, and those that the node was
// told to join.
func (n *Node) others() []string {
	var addresses []string
	if v := n.current.Load(); v != nil {
		for _, m := range v.Members {
			if m.ID != n.self {
				addresses = append(addresses, m.Address)
			}
		}
	}
	for _, a := range slices.Concat(n.cfg.Join, n.seeds) {
		if a != n.address && !slices.Contains(addresses, a) {
			addresses = append(addresses, a)
		}
	}
	return addresses
}
