// Partitions of the space of UIDs, and the machines that hold them.

package linkgraph

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
	numPartitions  = 64
	partitionSlots = uid.NumSlots / numPartitions
	partitionShift = 64 - 6
	allPartitions  = partitionSet(1<<numPartitions - 1)
	firstSlotShift = uid.SlotBits - 6
)

// partitionOf returns the partition of a UID.
func partitionOf(u uid.UID) int { return int(u >> partitionShift) }

// partitionOfURL returns the partition of a page's host.
func partitionOfURL(url string) int { return int(uid.SlotOf(weburl.HostKey(url)) >> firstSlotShift) }

// partitionRange returns the UIDs of a partition.
func partitionRange(p int) uid.Range {
	return uid.Slots{First: uid.Slot(p * partitionSlots), Last: uid.Slot((p+1)*partitionSlots - 1)}.Range()
}

// partitionSet is a set of partitions, a bit for each.
type partitionSet uint64

func (s partitionSet) has(p int) bool { return s>>p&1 != 0 }

func (s partitionSet) with(p int) partitionSet { return s | 1<<p }

func (s partitionSet) len() int { return bits.OnesCount64(uint64(s)) }

// all yields the partitions of the set, ascending.
func (s partitionSet) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for w := uint64(s); w != 0; w &= w - 1 {
			if !yield(bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// placement is the ranking of machines for each partition under one view. The first one is the
// primary, which assigns UIDs. The next ones are the followers. All of these are holders: they
// keep the partition's cells.
//
// Machines are ranked by a hash of machine and partition (rendezvous hashing: Thaler, Ravishankar,
// Using name-based mappings to increase hit rates, 1998). If the primary fails, the next one is a
// follower that has the cells already. That is why this is not the table of package trie, which
// gives the partitions of a lost machine to any other.
type placement struct {
	view    *view.View
	ranking [numPartitions][]trie.MachineID
	holders int // of each partition
}

// newPlacement returns the placement under a view; followers is the number of followers, or
// CopiesOfView.
func newPlacement(v *view.View, followers int) *placement {
	p := &placement{view: v}
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
	for i := range p.ranking {
		p.ranking[i] = rankMachines(machines, i)
	}
	return p
}

// placements has the placement of the last view, because each is used by many reads.
type placements struct {
	mu   sync.Mutex
	last *placement
}

// get returns the placement under a view.
func (p *placements) get(v *view.View, followers int) *placement {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil || p.last.view != v {
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

// primary returns the machine that assigns the UIDs of a partition; 0 if the view has no machine.
func (p *placement) primary(partition int) trie.MachineID {
	if p.holders == 0 {
		return 0
	}
	return p.ranking[partition][0]
}

// holdersOf returns the primary and the followers of a partition.
func (p *placement) holdersOf(partition int) []trie.MachineID {
	return p.ranking[partition][:p.holders]
}

// of returns the partitions that a machine must hold.
func (p *placement) of(m trie.MachineID) (s partitionSet) {
	for i := range p.ranking {
		if slices.Contains(p.holdersOf(i), m) {
			s = s.with(i)
		}
	}
	return s
}
