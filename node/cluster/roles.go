package cluster

import (
	"context"

	"github.com/trefoildb/trefoil/node/reads"
	"github.com/trefoildb/trefoil/node/writes"
	"github.com/trefoildb/trefoil/trie"
)

// clusterOfWrites is the node as package writes sees it.
type clusterOfWrites struct{ *Node }

var _ writes.Cluster = clusterOfWrites{}

// Self implements writes.Cluster.
func (c clusterOfWrites) Self() trie.MachineID { return c.self }

// Incarnation implements writes.Cluster.
func (c clusterOfWrites) Incarnation() uint64 { return c.incarnation }

// Newer implements writes.Cluster.
func (c clusterOfWrites) Newer(ctx context.Context, epoch uint64) error {
	return c.newerOrCut(ctx, epoch)
}

// clusterOfReads is the node as package reads sees it.
type clusterOfReads struct{ *Node }

var _ reads.Cluster = clusterOfReads{}

// Self implements reads.Cluster.
func (c clusterOfReads) Self() trie.MachineID { return c.self }
