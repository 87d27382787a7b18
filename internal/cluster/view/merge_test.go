// Tests of merges of segments.

package view

import (
	"testing"

	"github.com/trefoildb/trefoil/recovery"
)

// smallest reports all segments as small, each by its owner, except some.
func (p *planning) smallest(except ...uint64) {
	for s := range p.v.Base.Trie.All() {
		for _, id := range except {
			if s.ID == id {
				s.ID = 0
			}
		}
		if s.ID != 0 {
			p.set(p.v.Base.Placement.Owner(s), func(r *Report) { r.Small = append(r.Small, s.ID) })
		}
	}
}

// If all segments shrank, they become few. If a step moves nothing, it must keep the owner of
// every key. Base must be target when the view is idle.
func TestMergesEnd(t *testing.T) {
	v := idle(t, 1, 2, 3)
	keys := [][]byte{{1}, {1, 0x20, 'h'}, []byte("\x01\x20http://e"), {2}, {2, 9}, {3}, {4}, {9}}
	moves := 0
	for steps := 0; v.Base.Trie.Len() >= minShrunk; steps++ {
		if steps > 100 {
			t.Fatalf("%d segments are left", v.Base.Trie.Len())
		}
		p := ask(t, v)
		p.hold(20<<20, 20<<20) // balanced: rebalancing is for nothing
		p.smallest()
		p.options.Misplaced = 1.5 // few segments are many of a dozen
		next, reason, wait := Plan(v, p.reports, p.wishes, p.options)
		if next == nil {
			t.Fatalf("%d segments are left, and nothing is done: %s", v.Base.Trie.Len(), wait)
		}
		if next.Phase == recovery.Fill {
			next = through(t, next)
			moves++
		} else {
			for _, key := range keys {
				before := v.Base.Placement.Owner(v.Base.Trie.Lookup(key))
				if after := next.Base.Placement.Owner(next.Base.Trie.Lookup(key)); after != before {
					t.Errorf("%s: % X was on %s and is on %s, and nothing was moved", reason, key, before, after)
				}
			}
		}
		if next.Base != next.Target || next.Validate() != nil || next.Base.Trie.Check() != nil {
			t.Fatalf("%s: %v, %v", reason, next.Validate(), next.Base.Trie.Check())
		}
		v = next
	}
	if moves == 0 {
		t.Error("all segments were on one machine")
	}
}

// Some pairs must not be merged: large neighbours, segments while a load is made of them, and
// pairs so numerous that rebalancing would move them back.
func TestMergesWait(t *testing.T) {
	v := idle(t, 1, 2, 3)
	all := map[uint64]bool{}
	var every2 []uint64
	for s := range v.Base.Trie.All() {
		if all[s.ID] = true; len(all)%2 == 0 {
			every2 = append(every2, s.ID)
		}
	}
	together, apart := v.shrunk(all)
	if len(together)+len(apart) != len(all)/2 {
		t.Errorf("%d and %d pairs of %d segments", len(together), len(apart), len(all))
	}
	for name, change := range map[string]func(p *planning){
		"each has a large neighbour": func(p *planning) { p.smallest(every2...) },
		"one is small": func(p *planning) {
			p.set(1, func(r *Report) { r.Small = []uint64{every2[0]} })
		},
		"splits are wished for": func(p *planning) {
			p.smallest()
			p.wishes.Splits = []SplitAt{{999, []byte{0}}} // not possible yet
		},
		"nobody can merge what is apart for little": func(p *planning) {
			for _, pair := range apart {
				p.set(1, func(r *Report) { r.Small = append(r.Small, pair[:]...) })
			}
			p.options.Misplaced = 1e-9
		},
	} {
		p := ask(t, v)
		p.hold(20<<20, 20<<20)
		change(p)
		if next, reason, _ := Plan(v, p.reports, p.wishes, p.options); next != nil {
			t.Errorf("%s: %s", name, reason)
		}
	}
	if _, err := v.Merge([][2]uint64{{every2[0], every2[0]}}); err == nil {
		t.Error("a segment is merged with itself")
	}
	if len(apart) > 0 {
		if _, err := v.Merge(apart[:1]); err == nil {
			t.Error("segments of two machines are merged, and nothing was moved")
		}
	}
}
