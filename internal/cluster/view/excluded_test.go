// Tests of excluded machines that are expected back.

package view

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/trie"
)

// planned returns the next view of a plan, and ends the test if there is none.
func planned(t *testing.T, p *planning) *View {
	t.Helper()
	next, _, wait := Plan(p.v, p.reports, p.wishes, p.options)
	if next == nil {
		t.Fatalf("no view: %s", wait)
	}
	return next
}

// TestExcluded: a machine that failed is listed until it is back, another one is at its address, or an
// operator dismisses it. One that an operator gave up is not listed.
func TestExcluded(t *testing.T) {
	p := ask(t, idle(t, 1, 2, 3, 4, 5))
	p.set(2, dead)
	p.set(4, dead)
	p.wishes.Remove = []trie.MachineID{4}
	next := planned(t, p)
	want := []Excluded{{ID: 2, Address: up(2).Address, Epoch: next.Epoch, Why: "which is not heard of"}}
	if !slices.Equal(next.Excluded, want) {
		t.Fatalf("excluded: %+v, want %+v", next.Excluded, want)
	}
	var copied View
	if b, err := json.Marshal(next); err != nil || json.Unmarshal(b, &copied) != nil || !slices.Equal(copied.Excluded, want) {
		t.Errorf("decoded: %+v, %v", copied.Excluded, err)
	}
	rest := through(t, next)
	if !slices.Equal(rest.Excluded, want) {
		t.Errorf("forgotten by later views: %+v", rest.Excluded)
	}
	if back := must(t)(rest.Join(up(2))); len(back.Excluded) != 0 {
		t.Errorf("it is back: %+v", back.Excluded)
	}
	replaced := up(9)
	replaced.Address = up(2).Address
	if back := must(t)(rest.Join(replaced)); len(back.Excluded) != 0 {
		t.Errorf("another one is at its address: %+v", back.Excluded)
	}
	if other := must(t)(rest.Join(up(9))); !slices.Equal(other.Excluded, want) {
		t.Errorf("another one joined: %+v", other.Excluded)
	}
	p = ask(t, rest)
	p.wishes.Remove = []trie.MachineID{2}
	if dismissed := planned(t, p); len(dismissed.Excluded) != 0 || len(dismissed.Members) != 3 {
		t.Errorf("dismissed: %+v", dismissed.Excluded)
	}
	if _, err := rest.Dismiss(7); err == nil {
		t.Error("a machine that is not excluded is dismissed")
	}
}

// TestExcludedBound: the oldest excluded machines give way, and a view with more is refused.
func TestExcludedBound(t *testing.T) {
	v := idle(t, 1, 2)
	for i := range maxExcluded + 3 {
		m := up(trie.MachineID(100 + i))
		v.Epoch++
		v.expect([]Member{m}, map[trie.MachineID]string{m.ID: "which is not heard of"})
	}
	if len(v.Excluded) != maxExcluded || v.Excluded[0].ID != 103 {
		t.Errorf("%d, from %d", len(v.Excluded), v.Excluded[0].ID)
	}
	v.Excluded = append(v.Excluded, v.Excluded[0])
	if err := v.Validate(); err == nil || !strings.Contains(err.Error(), "excluded machines") {
		t.Errorf("too many: %v", err)
	}
}
