// Tests of members that do not adopt the newest view.

package view

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/trie"
)

func stuck(r *Report) { r.Epoch, r.Stuck, r.MayHoldLease = r.Epoch-1, true, false }

// A reporting member is excluded if it does not adopt the view, others have its rows and most
// have adopted the view.
func TestStuck(t *testing.T) {
	five, two := idle(t, 1, 2, 3, 4, 5), idle(t, 1, 2)
	filling := must(t)(five.Join(up(6)))
	serving := must(t)(filling.ToServe(nil))
	for _, c := range []struct {
		name  string
		v     *View
		stuck []trie.MachineID
		want  trie.MachineID
	}{
		{"nobody", five, nil, 0},
		{"one, in idle", five, []trie.MachineID{3}, 3},
		{"one, in fill", filling, []trie.MachineID{3}, 3},
		{"the joiner, in fill", filling, []trie.MachineID{6}, 6},
		{"one, in serve", serving, []trie.MachineID{3}, 3},
		{"one of two", five, []trie.MachineID{3, 4}, 3},
		{"most", five, []trie.MachineID{3, 4, 5}, 0},
		{"the leader", five, []trie.MachineID{3, 1}, 1},
		{"one of two machines", two, []trie.MachineID{2}, 0},
	} {
		p := ask(t, c.v)
		for _, id := range c.stuck {
			p.set(id, stuck)
		}
		if got := Stuck(c.v, p.reports, p.options); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
		next, reason, wait := Plan(c.v, p.reports, p.wishes, p.options)
		switch {
		case c.want != 0 && c.want != p.options.Self:
			if next == nil || next.Find(c.want) != nil || len(next.Members) != len(c.v.Members)-1 {
				t.Errorf("%s: %+v, %q, waits for %q", c.name, next, reason, wait)
			}
		case next != nil && len(next.Members) < len(c.v.Members):
			t.Errorf("%s: %q", c.name, reason)
		case len(c.stuck) > 0 && !strings.Contains(wait, "to be adopted by "+c.stuck[len(c.stuck)-1].String()) && !strings.Contains(wait, ", "+c.stuck[len(c.stuck)-1].String()):
			t.Errorf("%s: waits for %q", c.name, wait)
		}
	}
	p := ask(t, five)
	p.set(3, stuck)
	p.set(3, func(r *Report) { r.MayHoldLease = true })
	if next, _, wait := Plan(five, p.reports, p.wishes, p.options); next != nil || !strings.Contains(wait, "leases to end") {
		t.Errorf("excluded while it may hold a lease: %q", wait)
	}
}
