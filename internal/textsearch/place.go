// Partitions of the documents, and the machines that hold them.

package textsearch

import (
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/derived"
)

// partitionBits is the number of bits of a hash that select a partition in a cluster.
const partitionBits = 4

// layout is how the documents are divided: 0 bits on a lone node.
type layout int

func (l layout) partitionOf(hash uint64) int { return int(hash >> (64 - uint(l)) & (1<<l - 1)) }
func (l layout) all() derived.Partitions     { return derived.FirstPartitions(1 << l) }

// placementOf returns the machines of the partitions under a view.
func placementOf(v *view.View) *derived.Placement {
	return derived.Ranked(v, 1<<partitionBits, "text", 0, func(*view.Member) bool { return true })
}

// wanted returns the layout, and the partitions that this machine must hold.
func (x *Index) wanted() (layout, derived.Partitions) {
	if x.Node.View() == nil || x.Node.Lone() != nil {
		return 0, 1
	}
	return partitionBits, x.Wanted()
}
