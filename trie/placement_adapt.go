package trie

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// guidePoints bounds the points of the hash ring that guides [Placement.Adapt], so
// that it takes little time for many machines: sorting them, once for each machine,
// is all of it.
const guidePoints = 50_000

// Adapt returns a placement on other machines that moves as little as it can: the
// partitions of machines that are gone, and for those that are new an even share of
// all. Where a partition goes, consistent hashing says as long as there is room.
//
// Consistent hashing with bounded loads by itself moves more, and the more so the
// more machines there are, because a full machine passes partitions on to others:
// 1.3 times an even share where five machines become six, 2.3 times from 100 on.
func (p *Placement) Adapt(machines []MachineID, o PlacementOptions) (*Placement, error) {
	o.Partitions = p.Partitions()
	o = o.withDefaults()
	o.ReplicationFactor = max(1, min(o.ReplicationFactor, guidePoints/max(len(machines), 1)))
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

// keep leaves every partition where it is, if its machine stays.
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

// fill gives every new machine its fair share, of machines that have more: the
// partitions that the guide would give it first, and of those the fullest machines'
// first.
func (a *adaption) fill() {
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
