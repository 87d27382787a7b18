// Partitions of the documents, and the machines that hold them.

package textsearch

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// partitionBits is the number of bits of a hash that select a partition in a cluster.
const partitionBits = 4

// partitions is a set of partitions, a bit for each.
type partitions uint32

func (p partitions) has(i uint32) bool { return p>>i&1 != 0 }

// layout is how the documents are divided: 0 bits on a lone node.
type layout int

func (l layout) of(hash uint64) uint32     { return uint32(hash >> (64 - uint(l)) & (1<<l - 1)) }
func (l layout) all() partitions           { return partitions(1<<(1<<l) - 1) }
func (p partitions) with(i int) partitions { return p | 1<<i }

// ranking returns the machines for a partition under a view, the first choice first, and how many of them hold it.
// Machines are ranked by a hash of both (rendezvous hashing), so a loss moves nothing but the partitions of
// the lost machine.
func ranking(v *view.View, partition int) (machines []trie.MachineID, holders int) {
	for _, m := range v.Target.Placement.Machines() {
		if v.Find(m) != nil {
			machines = append(machines, m)
		}
	}
	hash := func(m trie.MachineID) uint64 {
		b := append(binary.BigEndian.AppendUint64(nil, uint64(m)), "text"...)
		return xxhash.Sum64(append(b, byte(partition)))
	}
	slices.SortFunc(machines, func(a, b trie.MachineID) int { return cmp.Or(cmp.Compare(hash(b), hash(a)), cmp.Compare(a, b)) })
	return machines, min(cmp.Or(v.Target.Copies, recovery.DefaultCopies), len(machines))
}

// wanted returns the layout, and the partitions that this machine must hold.
func (x *Index) wanted() (layout, partitions) {
	v := x.node.View()
	if v == nil || x.node.Lone() != nil {
		return 0, 1
	}
	var held partitions
	for i := range 1 << partitionBits {
		machines, holders := ranking(v, i)
		if slices.Contains(machines[:holders], x.node.MachineID()) {
			held = held.with(i)
		}
	}
	return partitionBits, held
}
