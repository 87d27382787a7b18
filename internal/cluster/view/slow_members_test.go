// Tests of members that others wait for.

package view

import (
	"testing"

	"github.com/trefoildb/trefoil/trie"
)

// accuse: these members wait for a member.
func (p *planning) accuse(id trie.MachineID, by ...trie.MachineID) {
	for _, accuser := range by {
		p.set(accuser, func(r *Report) { r.Accuses = append(r.Accuses, id) })
	}
}

func TestSlow(t *testing.T) {
	five, three := idle(t, 1, 2, 3, 4, 5), idle(t, 1, 2, 3)
	spared := must(t)(three.Join(spare(9)))
	filling := must(t)(three.Join(up(4)))
	serving := must(t)(filling.ToServe(nil))
	leaving := must(t)(five.Leave(5))
	for _, c := range []struct {
		name string
		v    *View
		set  func(*planning)
		want trie.MachineID
	}{
		{"nobody", five, func(*planning) {}, 0},
		{"one, by one", five, func(p *planning) { p.accuse(2, 3) }, 2},
		{"one, by itself", five, func(p *planning) { p.accuse(2, 2) }, 2},
		{"one, by all and itself", five, func(p *planning) { p.accuse(2, 1, 2, 3, 4, 5) }, 2},
		{"one that accuses all", five, func(p *planning) {
			p.accuse(2, 1, 3, 4, 5)
			for _, id := range []trie.MachineID{1, 3, 4, 5} {
				p.accuse(id, 2)
			}
		}, 2},
		{"one who accuses all and is not accused", five, func(p *planning) {
			for _, id := range []trie.MachineID{1, 3, 4, 5} {
				p.accuse(id, 2)
			}
		}, 0},
		{"the leader", five, func(p *planning) { p.accuse(1, 2, 3) }, 1},
		{"the leader or another", five, func(p *planning) { p.accuse(1, 3); p.accuse(3, 1) }, 3},
		{"two that accuse each other", five, func(p *planning) { p.accuse(2, 3); p.accuse(3, 2) }, 3},
		{"two, and the other one has less", five, func(p *planning) {
			p.accuse(2, 3)
			p.accuse(3, 2)
			p.set(3, func(r *Report) { r.Bytes = 9 })
		}, 2},
		{"two that others accuse", five, func(p *planning) { p.accuse(2, 4, 5); p.accuse(3, 4) }, 0},
		{"all", five, func(p *planning) {
			for _, m := range five.Members {
				p.accuse(m.ID, 1, 2, 3, 4, 5)
			}
		}, 0},
		{"a stranger", five, func(p *planning) { p.accuse(77, 2, 3) }, 0},
		{"one, and another is not heard of", five, func(p *planning) { p.accuse(2, 3); p.set(4, suspect) }, 0},
		{"one, and another is behind", five, func(p *planning) { p.accuse(2, 3); p.set(4, behind) }, 0},
		{"one that is behind itself", five, func(p *planning) { p.accuse(2, 3); p.set(2, behind) }, 2},
		{"another was not long ago", five, func(p *planning) { p.accuse(2, 3); p.options.Tolerant = true }, 0},
		{"one of three", three, func(p *planning) { p.accuse(2, 1, 3) }, 2},
		{"one of two", idle(t, 1, 2), func(p *planning) { p.accuse(2, 1) }, 0},
		{"the others have no room", five, func(p *planning) {
			p.accuse(2, 3)
			p.set(2, func(r *Report) { r.Bytes = 5 << 30 })
		}, 0},
		{"they have room together", five, func(p *planning) {
			p.accuse(2, 3)
			p.set(2, func(r *Report) { r.Bytes = 4 << 30 })
		}, 2},
		{"the spare has no room", spared, func(p *planning) {
			p.accuse(2, 3)
			p.set(2, func(r *Report) { r.Bytes = 2 << 30 })
		}, 0},
		{"the spare", spared, func(p *planning) { p.accuse(9, 3) }, 9},
		{"one with a spare", spared, func(p *planning) { p.accuse(2, 3) }, 2},
		{"one in fill", filling, func(p *planning) { p.accuse(2, 3) }, 2},
		{"one in serve", serving, func(p *planning) { p.accuse(2, 3) }, 0},
		{"one in fill, and another was not long ago", filling, func(p *planning) { p.accuse(2, 3); p.options.Tolerant = true }, 0},
		{"one of two copies", must(t)(five.Exclude(5)), func(p *planning) { p.accuse(2, 3) }, 2},
		{"the last copy", must(t)(five.Exclude(4, 5)), func(p *planning) { p.accuse(2, 3) }, 0},
		{"one that joins", filling, func(p *planning) { p.accuse(4, 1, 2); p.options.Tolerant = true }, 4},
		{"one that joins, in serve", serving, func(p *planning) { p.accuse(4, 1, 2) }, 0},
		{"one that leaves", leaving, func(p *planning) { p.accuse(5, 1) }, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := ask(t, c.v)
			c.set(p)
			if got := Slow(c.v, p.reports, p.options); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
