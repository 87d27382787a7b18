// Placements which move few partitions when machines change.

package trie

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// guidePoints bounds the points of the guiding hash ring of [Placement.Adapt]. It must be bounded
// because the ring is sorted once for each machine, and this is all of the time.
const guidePoints = 50_000

// Adapt returns a placement on other machines with as few moves as possible: the partitions of
// removed machines, and an even share of all for each new one. Consistent hashing chooses the
// targets if there is room.
//
// Consistent hashing with bounded loads by itself moves more, because a full machine passes
// partitions on to others. It moves 1.3 times an even share when five machines become six, and
// 2.3 times from 100 on.
func (p *Placement) Adapt(machines []MachineID, o PlacementOptions) (*Placement, error) {
	o.Partitions = p.Partitions()
	o = o.withDefaults()
	o.VirtualNodes = max(1, min(o.VirtualNodes, guidePoints/max(len(machines), 1)))
	guide, err := NewPlacement(machines, o)
	if err != nil {
		return nil, fmt.Errorf("adapt: %w", err)
	}
	a := adaption{from: p, guide: guide, owners: make([]uint16, p.Partitions()), count: make([]int, len(guide.machines))}
	a.fair = p.Partitions() / len(guide.machines)
	a.most = int(math.Ceil(o.Load * float64(p.Partitions()) / float64(len(guide.machines))))
	a.keep()
	a.place()
	a.fill()
	return &Placement{machines: guide.machines, owners: a.owners}, nil
}

// adaption is a placement being adapted.
type adaption struct {
	from, guide *Placement
	owners      []uint16 // as they will be, indices of guide's machines
	count       []int    // partitions of each machine
	homeless    []int    // partitions whose machine is gone
	fair, most  int      // partitions of a machine: at least, if it is new; at most
}

// keep leaves a partition with its owner if the machine stays.
func (a *adaption) keep() {
	for i := range a.owners {
		owner, ok := slices.BinarySearch(a.guide.machines, a.from.PartitionOwner(uint32(i)))
		if !ok {
			a.homeless = append(a.homeless, i)
			continue
		}
		a.owners[i] = uint16(owner)
		a.count[owner]++
	}
}

// place finds machines for the homeless partitions: the guide's, while it has room,
// the emptiest otherwise.
func (a *adaption) place() {
	var rest []int
	for _, i := range a.homeless {
		if m := a.guide.owners[i]; a.count[m] < a.most {
			a.owners[i] = m
			a.count[m]++
			continue
		}
		rest = append(rest, i)
	}
	for _, i := range rest {
		m := a.emptiest()
		a.owners[i] = uint16(m)
		a.count[m]++
	}
}

func (a *adaption) emptiest() int {
	least := 0
	for m, n := range a.count {
		if n < a.count[least] {
			least = m
		}
	}
	return least
}

// fill gives every new machine its fair share from machines with more. It prefers partitions for
// which the guide names the new machine, and among these the partitions of the fullest machines.
func (a *adaption) fill() {
	// 1. Count the partitions each new machine lacks.
	need := 0
	lack := make([]int, len(a.count)) // partitions that a new machine still gets
	for m, n := range a.count {
		if !a.from.machines.Contains(a.guide.machines[m]) {
			lack[m] = max(a.fair-n, 0)
			need += lack[m]
		}
	}
	if need == 0 {
		return
	}
	// 2. Sort the partitions. full must be a copy, because the counts change while they move.
	order := make([]int, len(a.owners))
	for i := range order {
		order[i] = i
	}
	rank := make([]int, len(order)) // 0: the guide's machine lacks some
	for i := range rank {
		if lack[a.guide.owners[i]] == 0 {
			rank[i] = 1
		}
	}
	full := slices.Clone(a.count)
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(rank[x], rank[y]), cmp.Compare(full[a.owners[y]], full[a.owners[x]]))
	})
	// 3. Move them in this order until nothing is lacking. No machine may fall below its fair
	// share.
	for _, i := range order {
		if need == 0 {
			return
		}
		from, to := a.owners[i], a.guide.owners[i]
		if a.count[from] <= a.fair {
			continue
		}
		if lack[to] == 0 {
			to = mostLacking(lack)
		}
		a.owners[i] = to
		a.count[from]--
		a.count[to]++
		lack[to]--
		need--
	}
}

func mostLacking(lack []int) uint16 {
	most := 0
	for m, n := range lack {
		if n > lack[most] {
			most = m
		}
	}
	return uint16(most)
}
