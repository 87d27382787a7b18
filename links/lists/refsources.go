// Choice of the lists that others copy from, for the codec Reference.

package lists

import (
	"math"
	"math/bits"
)

const (
	// refCandidates is how many lists of the window a list is compared with.
	refCandidates = 8
	// refSaving is how many bits a copy must save. If it saves less, a read of two lists takes
	// too long for it.
	refSaving = 16
	// refRounds is how often each choice of a block is looked at again.
	refRounds = 3
	// never is the cost of a copy that must not be, or that was not looked at.
	never = math.MaxInt32
)

// sources chooses for each list of a block whether it is a source, and otherwise from which
// source it copies. A source copies from none. This is a facility location: a source costs its
// plain code, a list costs its code with the best open source of the window. Choices begin with
// the first source that pays. Then each is reversed if the block becomes smaller.
type sources struct {
	lists []sourceList
	plan  refPlan
}

// sourceList is a list of the block.
//
// Invariant: best and second are the two sources from which copying costs least; at 0 is none.
type sourceList struct {
	plain        int32                // bits without copies
	open         bool                 // it is a source
	costs        [refWindow + 1]int32 // bits with copies, plus refSaving, by distance
	best, second choice
	marks        uint64 // 64 bits, one set for each target: similar lists share many
}

// choice is a source, by distance, and the bits of the list that copies from it.
type choice struct {
	at   int
	cost int32
}

// marks returns the marks of a list.
func marks(list [2][]uint32) (m uint64) {
	for _, v := range list[0] {
		m |= 1 << (v * 0x9e3779b1 >> 26)
	}
	for _, v := range list[1] {
		m |= 1 << (v * 0x85ebca6b >> 26)
	}
	return m
}

// sourceDistance returns the distance to the source of list i of the last block, or 0 if it has none.
func (s *sources) sourceDistance(i int) int {
	if l := &s.lists[i]; !l.open && l.best.cost < l.plain {
		return l.best.at
	}
	return 0
}

// choose chooses for a block.
func (s *sources) choose(b *block, c *costs) {
	// 1. Find what each list costs.
	s.lists = s.lists[:0]
	for i := range b.lists {
		s.lists = append(s.lists, sourceList{})
		s.measure(b, i, c)
	}
	// 2. Open a source where none of those before pays.
	for i := range s.lists {
		s.update(i)
		l := &s.lists[i]
		l.open = l.best.cost >= l.plain && l.plain > 0
	}
	// 3. Reverse what pays.
	for range refRounds {
		changed := false
		for i := range s.lists {
			if s.lists[i].plain > 0 && s.gain(i) > 0 {
				s.reverse(i)
				changed = true
			}
		}
		if !changed {
			break
		}
	}
}

// measure sets the costs of list i, by comparing it with the most similar ones before it.
func (s *sources) measure(b *block, i int, c *costs) {
	l, list := &s.lists[i], b.list(i)
	for at := range l.costs {
		l.costs[at] = never
	}
	n := b.lists[i].n
	if n == 0 || n > PieceLen {
		return
	}
	key := b.first + uint32(i)
	s.plan.plain([2]uint32{key, 0}, true, list)
	l.plain = int32(s.plan.bits(c))
	l.marks = marks(list)
	// 1. Rank by marks, because a full comparison with the window takes too long.
	var ranked [refCandidates]choice // the best first
	found := 0
	for at := 1; at <= min(refWindow, i); at++ {
		other := &s.lists[i-at]
		if m := b.lists[i-at].n; m == 0 || m > refSource {
			continue
		}
		common := bits.OnesCount64(other.marks & l.marks)
		score := int32(4*common - bits.OnesCount64(other.marks))
		if common == 0 || found == refCandidates && score <= ranked[found-1].cost {
			continue
		}
		k := min(found, refCandidates-1)
		for ; k > 0 && ranked[k-1].cost < score; k-- {
			ranked[k] = ranked[k-1]
		}
		ranked[k] = choice{at, score}
		found = min(found+1, refCandidates)
	}
	// 2. Count the bits of the best ones.
	for _, r := range ranked[:found] {
		s.plan.copying(key, r.at, list, b.list(i-r.at))
		l.costs[r.at] = int32(s.plan.bits(c)) + refSaving
	}
}

// update sets the best two sources of list i.
func (s *sources) update(i int) {
	l := &s.lists[i]
	l.best, l.second = choice{cost: never}, choice{cost: never}
	for at := 1; at <= min(refWindow, i); at++ {
		if c := (choice{at, l.costs[at]}); s.lists[i-at].open && c.cost < l.second.cost {
			if l.second = c; c.cost < l.best.cost {
				l.best, l.second = c, l.best
			}
		}
	}
}

// gain returns how many bits less the block takes if the choice of list i is reversed.
func (s *sources) gain(i int) (gain int32) {
	l := &s.lists[i]
	gain = min(l.plain, l.best.cost) - l.plain
	if l.open {
		gain = -gain
	}
	for k := i + 1; k <= min(i+refWindow, len(s.lists)-1); k++ {
		other := &s.lists[k]
		if other.open {
			continue
		}
		cost := min(other.plain, other.best.cost)
		if !l.open {
			gain += max(0, cost-other.costs[k-i])
		} else if other.best.at == k-i {
			gain -= min(other.plain, other.second.cost) - cost
		}
	}
	return gain
}

// reverse reverses the choice of list i.
func (s *sources) reverse(i int) {
	l := &s.lists[i]
	l.open = !l.open
	for k := i + 1; k <= min(i+refWindow, len(s.lists)-1); k++ {
		if s.lists[k].costs[k-i] != never {
			s.update(k)
		}
	}
}
