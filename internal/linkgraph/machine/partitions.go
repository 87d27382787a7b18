// Partitions of the space of UIDs, and the machines that hold them.

package machine

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// The slots are divided into partitions of the same number of slots. A cell never spans two of
// them, so that a partition moves by moving its cells.
const (
	NumPartitions  = 64
	PartitionSlots = uid.NumSlots / NumPartitions
	partitionShift = 64 - 6
	AllPartitions  = PartitionSet(1<<NumPartitions - 1)
	firstSlotShift = uid.SlotBits - 6
)

// PartitionOf returns the partition of a UID.
func PartitionOf(u uid.UID) int { return int(u >> partitionShift) }

// PartitionOfURL returns the partition of a page's host.
func PartitionOfURL(url string) int { return int(uid.SlotOf(weburl.HostKey(url)) >> firstSlotShift) }

// PartitionRange returns the UIDs of a partition.
func PartitionRange(p int) uid.Range {
	return uid.Slots{First: uid.Slot(p * PartitionSlots), Last: uid.Slot((p+1)*PartitionSlots - 1)}.Range()
}

// PartitionSet is a set of partitions, a bit for each.
type PartitionSet uint64

func (s PartitionSet) Has(p int) bool { return s>>p&1 != 0 }

func (s PartitionSet) With(p int) PartitionSet { return s | 1<<p }

func (s PartitionSet) Len() int { return bits.OnesCount64(uint64(s)) }

// All yields the partitions of the set, ascending.
func (s PartitionSet) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for w := uint64(s); w != 0; w &= w - 1 {
			if !yield(bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// Placement is the ranking of machines for each partition under one view. The first one is the
// primary, which assigns UIDs. The next ones are the followers. All of these are holders: they
// keep the partition's cells.
//
// Machines are ranked by a hash of machine and partition (rendezvous hashing: Thaler, Ravishankar,
// Using name-based mappings to increase hit rates, 1998). If the primary fails, the next one is a
// follower that has the cells already. That is why this is not the table of package trie, which
// gives the partitions of a lost machine to any other.
type Placement struct {
	View    *view.View
	Ranking [NumPartitions][]trie.MachineID
	holders int // of each partition
}

// newPlacement returns the placement under a view; followers is the number of followers, or
// CopiesOfView.
func newPlacement(v *view.View, followers int) *Placement {
	p := &Placement{View: v}
	if followers == CopiesOfView {
		followers = cmp.Or(v.Target.Copies, recovery.DefaultCopies) - 1
	}
	// 1. The machines of the target that are members now and keep a graph.
	var machines []trie.MachineID
	for _, m := range v.Target.Placement.Machines() {
		if member := v.Find(m); member != nil && !member.NoLinks {
			machines = append(machines, m)
		}
	}
	// 2. Rank them for each partition.
	p.holders = min(followers+1, len(machines))
	for i := range p.Ranking {
		p.Ranking[i] = rankMachines(machines, i)
	}
	return p
}

// placements has the placement of the last view, because each is used by many reads.
type placements struct {
	mu   sync.Mutex
	last *Placement
}

// get returns the placement under a view.
func (p *placements) get(v *view.View, followers int) *Placement {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil || p.last.View != v {
		p.last = newPlacement(v, followers)
	}
	return p.last
}

// rankMachines orders machines by their hashes for a partition, greatest first.
func rankMachines(machines []trie.MachineID, partition int) []trie.MachineID {
	hash := func(m trie.MachineID) uint64 {
		b := binary.BigEndian.AppendUint64(nil, uint64(m))
		return xxhash.Sum64(append(b, byte(partition)))
	}
	ranked := slices.Clone(machines)
	slices.SortFunc(ranked, func(a, b trie.MachineID) int { return cmp.Or(cmp.Compare(hash(b), hash(a)), cmp.Compare(a, b)) })
	return ranked
}

// Primary returns the machine that assigns the UIDs of a partition; 0 if the view has no machine.
func (p *Placement) Primary(partition int) trie.MachineID {
	if p.holders == 0 {
		return 0
	}
	return p.Ranking[partition][0]
}

// HoldersOf returns the primary and the followers of a partition.
func (p *Placement) HoldersOf(partition int) []trie.MachineID {
	return p.Ranking[partition][:p.holders]
}

// of returns the partitions that a machine must hold.
func (p *Placement) of(m trie.MachineID) (s PartitionSet) {
	for i := range p.Ranking {
		if slices.Contains(p.HoldersOf(i), m) {
			s = s.With(i)
		}
	}
	return s
}
