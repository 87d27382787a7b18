// Tests of lineages.

package view

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
)

// A view descends from each of the last 512 before it and from itself, and from none of
// another history.
func TestDescends(t *testing.T) {
	v := idle(t, 1, 2, 3)
	views := []*View{v}
	for range 600 {
		v = must(t)(v.SetLease(v.Lease + 1))
		views = append(views, v)
	}
	for i, old := range views {
		want := i >= len(views)-1-maxHistory
		if got := v.Descends(1, old.Epoch, old.Digest()); got != want {
			t.Fatalf("from epoch %d at epoch %d: %v", old.Epoch, v.Epoch, got)
		}
		if v.Descends(1, old.Epoch, old.Digest()+1) || v.Descends(2, old.Epoch, old.Digest()) || v.Descends(1, old.Epoch, 0) {
			t.Fatalf("from something else at epoch %d", old.Epoch)
		}
	}
	if old := views[len(views)-2]; old.Descends(1, v.Epoch, v.Digest()) {
		t.Error("a view descends from a later one")
	}
	// Two views of an epoch, and what follows on each of them: the rest is the same.
	base := views[0]
	a, b := must(t)(base.SetLease(7)), must(t)(base.SetLease(8))
	a2, b2 := must(t)(a.SetLease(9)), must(t)(b.SetLease(9))
	if a.Digest() == b.Digest() || a2.Digest() == b2.Digest() || b2.Descends(1, a.Epoch, a.Digest()) || !b2.Descends(1, b.Epoch, b.Digest()) {
		t.Error("a fork is not noticed")
	}
}

// A view of an earlier release has no lineage and no history. It is read as it was, and
// what follows on it has both as far as they are known.
func TestViewWithoutLineage(t *testing.T) {
	v := idle(t, 1, 2, 3)
	v.History = nil
	b, err := json.Marshal(v)
	require.NoError(t, err)
	if text := string(b); strings.Contains(text, "lineage") || strings.Contains(text, "history") || strings.Contains(text, "parent") {
		t.Fatalf("not a test: %s", text)
	}
	old := new(View)
	require.NoError(t, json.Unmarshal(b, old))
	next := must(t)(old.SetLease(5))
	if !next.Descends(1, old.Epoch, old.Digest()) || next.Descends(1, old.Epoch-1, 1) {
		t.Error("the view after one of an earlier release does not know what it descends from")
	}
	if n := must(t)(next.Recover(Recovery{Keep: []trie.MachineID{1}, Name: "n"})); !IsAncestor("", n.Lineage) {
		t.Errorf("lineage %q", n.Lineage)
	}
}

// A generation names its parent and begins far above all that is known.
func TestRecoveryNamesItsParent(t *testing.T) {
	v := idle(t, 1, 2, 3)
	v.Lineage = "a"
	n := must(t)(v.Recover(Recovery{Keep: []trie.MachineID{1}, Name: "b", Term: 4, After: v.Epoch + 10}))
	if *n.Parent != (Parent{1, v.Epoch, 4, v.Digest(), v.Epoch}) || n.Lineage != "a/b" || n.Generation != 2 || n.Epoch != v.Epoch+11+1<<32 {
		t.Errorf("parent %+v, lineage %q, generation %d, epoch %d", *n.Parent, n.Lineage, n.Generation, n.Epoch)
	}
	if !IsAncestor("a", n.Lineage) || IsAncestor("a", "ab/c") || IsAncestor("a", "a") || IsAncestor("b", n.Lineage) {
		t.Error("begets")
	}
	if n.Descends(1, v.Epoch, v.Digest()) {
		t.Error("a generation excludes machines of the one before")
	}
	if len(n.Lost) > 0 {
		t.Errorf("%d ranges are lost", len(n.Lost))
	}
	// A kept machine was further: all is lost, once.
	all := must(t)(n.Overrule(v.Epoch + 1))
	for s := range all.Base.Trie.All() {
		if !isLost(all.Lost, s.Lo, s.Hi) {
			t.Errorf("segment %s is not lost", s)
		}
	}
	if *n.Parent == *all.Parent {
		t.Error("the parent of a view was changed")
	}
	if _, err := all.Overrule(v.Epoch + 1); err == nil {
		t.Error("it is marked again")
	}
	reports := map[trie.MachineID]Report{1: {Incarnation: 1, Epoch: n.Epoch, Followed: v.Epoch + 1}}
	if next, _, _ := Plan(n, reports, Wishes{}, PlanOptions{Self: 1}); next == nil || len(next.Lost) == 0 {
		t.Error("the leader does not mark it")
	}
}
