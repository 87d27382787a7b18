// The first view of a cluster.

package cluster

import (
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// firstView returns the view of a cluster of one: this machine owns all ranges.
func (n *Node) firstView(identity store.Identity) (*view.View, error) {
	placement, err := trie.NewPlacement([]trie.MachineID{n.self}, trie.PlacementOptions{})
	if err != nil {
		return nil, err
	}
	segments, err := splitByOrder(n.store.Trie(), placement.Partitions())
	if err != nil {
		return nil, err
	}
	m := view.Member{ID: n.self, Incarnation: n.incarnation, Address: n.address, State: view.Up, Minor: protocol.Minor}
	layout := recovery.Layout{Trie: segments, Placement: placement, Copies: n.cfg.Copies}
	v := view.First(identity.Cluster, identity.ClusterID, m, layout, n.store.Status().Epoch+1)
	v.Lineage, v.Lease = identity.Lineage, n.cfg.Lease
	return v, nil
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
