// Forming: how a lone node becomes a cluster of one, with its first view.

package cluster

import (
	"context"
	"crypto/rand"

	"github.com/trefoildb/trefoil/internal/cluster/generation"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// form makes a cluster of one of a lone node. Operations on the lone store must have ended when
// it begins; later ones go through the cluster.
func (n *Node) form(ctx context.Context) error {
	// 1. Only one task forms a cluster at a time; the others find the parts when it has ended.
	select {
	case n.forming <- struct{}{}:
		defer func() { <-n.forming }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !n.isAlone() {
		return nil
	}
	n.lone.Lock()
	defer n.lone.Unlock()
	// 2. Record the identity durably first. If the process ends here, Forming makes the next
	// start complete it.
	identity := store.Identity{Cluster: n.cfg.Name, ClusterID: rand.Text(), Generation: 1, Lineage: generation.NewLineage(), Forming: true}
	if err := n.store.SetIdentity(identity); err != nil {
		return err
	}
	p, err := n.openParts()
	if err != nil {
		n.fail(err) // the directory is a member's now: nothing else can be done with it
		return err
	}
	// It goes on once begun, even if the requesting machine stops waiting.
	if err := n.bootstrap(n.ctx, p, identity); err != nil {
		n.fail(err)
		return err
	}
	return n.awaitView(ctx, nil, n.View, func() chan struct{} { return nil })
}

// bootstrap agrees on the first view of a cluster of one: this machine owns all ranges.
func (n *Node) bootstrap(ctx context.Context, p *parts, identity store.Identity) error {
	placement, err := trie.NewPlacement([]trie.MachineID{n.self}, trie.PlacementOptions{})
	if err != nil {
		return err
	}
	segments, err := splitByOrder(n.store.Segments().Trie(), placement.Partitions())
	if err != nil {
		return err
	}
	layout := recovery.Layout{Trie: segments, Placement: placement, Copies: n.cfg.Copies}
	v := view.First(identity.Cluster, identity.ClusterID, n.describe(false), layout, n.store.Status().Epoch+1)
	v.Lineage, v.Lease = identity.Lineage, n.cfg.Lease
	if v.Feed != nil { // the feed of the lone store continues
		v.Feed.Source, v.Feed.Founder, v.Feed.Began = n.store.ChangeFeed().SourceID(), n.self, v.Epoch
	}
	return p.agreement.Bootstrap(ctx, v)
}

// splitByOrder makes each order begin a segment of its own, in a partition of its own. This is
// needed because the rows of a triple must be on different machines even if there are few.
func splitByOrder(t *trie.Trie, partitions int) (*trie.Trie, error) {
	next := uint64(0)
	for s := range t.All() {
		next = max(next, s.ID+1)
	}
	for _, o := range triple.Orders {
		lo := triple.OrderRange(o).Lo
		s := t.Lookup(lo)
		if string(s.Lo) == string(lo) || o == triple.Orders[0] {
			continue
		}
		split, err := t.Split(s.ID, lo, next)
		if err != nil {
			return nil, err
		}
		if t, err = split.Assign(next, trie.HashPartition(next, partitions)); err != nil {
			return nil, err
		}
		next++
	}
	return t, nil
}
