// Merges of segments: neighbours that shrank become one.

package view

import (
	"fmt"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Merge merges neighbours, the same ones in base and in target: each second one into the
// first. Both are on one machine, so that no data moves; the second one takes the
// partition of the first. A segment is in one pair at most. The view is idle.
func (v *View) Merge(pairs [][2]uint64) (*View, error) {
	if v.Phase != recovery.Idle {
		return nil, fmt.Errorf("view: segments are merged in %s only", recovery.Idle)
	}
	n := v.next()
	for _, pair := range pairs {
		left, ok := n.Base.Trie.Get(pair[0])
		right, found := n.Base.Trie.Get(pair[1])
		if !ok || !found || v.Base.Placement.Owner(left) != v.Base.Placement.Owner(right) {
			return nil, fmt.Errorf("view: segments %d and %d are not of one machine", pair[0], pair[1])
		}
		next, err := n.Base.Trie.Assign(right.ID, left.Partition)
		if err == nil {
			next, err = next.Merge(left.ID, right.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("view: %w", err)
		}
		n.Base.Trie, n.Target.Trie = next, next
	}
	return n.finish()
}

// Gather moves each second one of pairs of neighbours to the machine of the first, so that
// [View.Merge] can merge them.
func (v *View) Gather(pairs [][2]uint64) (*View, error) {
	if v.Phase == recovery.Ingest {
		return nil, errIngest
	}
	n := v.next()
	n.startFill()
	for _, pair := range pairs {
		left, ok := n.Target.Trie.Get(pair[0])
		if !ok {
			return nil, fmt.Errorf("view: there is no segment %d", pair[0])
		}
		var err error
		if n.Target.Trie, err = n.Target.Trie.Assign(pair[1], left.Partition); err != nil {
			return nil, fmt.Errorf("view: %w", err)
		}
	}
	return n.finish()
}

// shrunk returns the disjoint pairs of neighbours that are both among small: those of one
// machine, and those of two.
func (v *View) shrunk(small map[uint64]bool) (together, apart [][2]uint64) {
	var before trie.Segment
	for s := range v.Base.Trie.All() {
		if !small[s.ID] {
			before = trie.Segment{}
			continue
		}
		if before.ID == 0 {
			before = s
			continue
		}
		pair := [2]uint64{before.ID, s.ID}
		if v.Base.Placement.Owner(before) == v.Base.Placement.Owner(s) {
			together = append(together, pair)
		} else {
			apart = append(apart, pair)
		}
		before = trie.Segment{}
	}
	return together, apart
}

// minShrunk is the least number of shrunk segments for a merge. Each merge is an epoch, and an
// epoch ends the work that runs across it.
const minShrunk = 8

// merges merges segments if members report them as small. Pairs of two machines are gathered
// first if it is worth it, but never enough of them for rebalancing to move them back.
func (p *planner) merges() {
	small := map[uint64]bool{}
	for _, m := range p.Members {
		for _, id := range p.reports[m.ID].Small {
			small[id] = true
		}
	}
	if len(small) < minShrunk || p.staging() || len(p.wishes.Splits) > 0 || p.wishes.Rebalance {
		return // the tables of a load would have to be made anew
	}
	together, apart := p.shrunk(small)
	if len(together) > 0 {
		next, err := p.Merge(together[:min(len(together), maxSplits)])
		p.propose(next, err, "%d segments that shrank are merged", len(together))
		return
	}
	room := int((p.options.Misplaced-p.Misplaced())*float64(p.Base.Trie.Len())) - 1
	switch most := min(len(apart), room, maxSplits); {
	case most > 0:
		next, err := p.Gather(apart[:most])
		p.propose(next, err, "%d segments that shrank move to their neighbours", most)
	case len(apart) > 0 && p.Misplaced() > 0: // splits misplaced so many that there is no room for more
		next, err := p.Rebalance()
		p.propose(next, err, "segments move to where they belong, so that %d that shrank can be merged", len(apart))
	}
}
