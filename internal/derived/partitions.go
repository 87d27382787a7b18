// Partitions of an index, and the machines that hold them.

package derived

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Partitions is a set of up to 64 partitions, a bit for each.
type Partitions uint64

// FirstPartitions returns the set of the first n partitions.
func FirstPartitions(n int) Partitions { return 1<<n - 1 }

// Has reports whether a partition is in the set.
func (s Partitions) Has(p int) bool { return s>>p&1 != 0 }

// With returns the set with some partitions.
func (s Partitions) With(list ...int) Partitions {
	for _, p := range list {
		s |= 1 << p
	}
	return s
}

// Len returns the number of partitions in the set.
func (s Partitions) Len() int { return bits.OnesCount64(uint64(s)) }

// All yields the partitions of the set, ascending.
func (s Partitions) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for w := uint64(s); w != 0; w &= w - 1 {
			if !yield(bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// Placement is the machines of each partition under one view. What lies in a partition, and why these
// machines have it, is the matter of the index: see [Ranked] for partitions that any machine may have.
type Placement struct {
	View *view.View
	// Ranking has the machines of each partition, the first choice first.
	Ranking [][]trie.MachineID
	// Holders is the number of machines, from the first one on, that must hold a partition. The
	// others may have held it before.
	Holders int
}

// Ranked returns the placement of n partitions on the machines that a filter keeps. A partition has
// copies holders, or those of the view if copies is 0. Another index has another salt.
//
// Machines are ranked by a hash of machine and partition (rendezvous hashing: Thaler, Ravishankar,
// Using name-based mappings to increase hit rates, 1998). If the first one fails, the next one is a
// holder that has the partition already, and nothing else moves. That is why this is not the table of
// package trie, which gives the partitions of a lost machine to any other.
func Ranked(v *view.View, n int, salt string, copies int, keep func(*view.Member) bool) *Placement {
	// 1. The machines of the target that are members now.
	var machines []trie.MachineID
	for _, m := range v.Target.Placement.Machines() {
		if member := v.Find(m); member != nil && keep(member) {
			machines = append(machines, m)
		}
	}
	// 2. Rank them for each partition.
	p := &Placement{View: v, Ranking: make([][]trie.MachineID, n)}
	p.Holders = min(cmp.Or(copies, v.Target.Copies, recovery.DefaultCopies), len(machines))
	for i := range p.Ranking {
		hash := func(m trie.MachineID) uint64 {
			b := append(binary.BigEndian.AppendUint64(nil, uint64(m)), salt...)
			return xxhash.Sum64(append(b, byte(i)))
		}
		p.Ranking[i] = slices.Clone(machines)
		slices.SortFunc(p.Ranking[i], func(a, b trie.MachineID) int { return cmp.Or(cmp.Compare(hash(b), hash(a)), cmp.Compare(a, b)) })
	}
	return p
}

// Primary returns the first machine of a partition; 0 if the view has no machine.
func (p *Placement) Primary(partition int) trie.MachineID {
	if p.Holders == 0 {
		return 0
	}
	return p.Ranking[partition][0]
}

// HoldersOf returns the machines that must hold a partition, the primary first.
func (p *Placement) HoldersOf(partition int) []trie.MachineID {
	return p.Ranking[partition][:p.Holders]
}

// HeldBy returns the partitions that a machine must hold.
func (p *Placement) HeldBy(m trie.MachineID) (s Partitions) {
	for i := range p.Ranking {
		if slices.Contains(p.HoldersOf(i), m) {
			s = s.With(i)
		}
	}
	return s
}
