// Tests of exclusions.

package view

import (
	"bytes"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

func TestExclude(t *testing.T) {
	v := idle(t, 1, 2, 3, 4)
	next := must(t)(v.Exclude(2))
	if next.Find(2) != nil || next.Phase != recovery.Fill || next.Base != v.Base || !slices.Equal(next.Target.Placement.Machines(), trie.Ring{1, 3, 4}) {
		t.Errorf("%s, target on %v", next.Phase, next.Target.Placement.Machines())
	}
	if next.Target.Trie != next.Base.Trie || len(next.Lost) != 0 {
		t.Error("a failure moves segments to other partitions, or loses them")
	}
	// A failure in fill: the same base, another target.
	second := must(t)(next.Exclude(4))
	if second.Base != v.Base || !slices.Equal(second.Target.Placement.Machines(), trie.Ring{1, 3}) || len(second.Lost) != 0 {
		t.Errorf("target on %v, lost %v", second.Target.Placement.Machines(), second.Lost)
	}
	if _, err := second.Exclude(1, 3); err == nil {
		t.Error("the last members are excluded")
	}
	if _, err := second.Exclude(2); err == nil {
		t.Error("a stranger is excluded")
	}
}

// TestSpareTakesThePlace: the spare owns what the dead machine owned, nothing else
// moves, and it stays so when the next machine joins.
func TestSpareTakesThePlace(t *testing.T) {
	v := must(t)(idle(t, 1, 2, 3).Join(spare(7), spare(8)))
	next := must(t)(v.Exclude(2))
	for i := range uint32(60) {
		want := v.Target.Placement.PartitionOwner(i)
		if want == 2 {
			want = 7
		}
		if got := next.Target.Placement.PartitionOwner(i); got != want {
			t.Errorf("partition %d is on %s, want %s", i, got, want)
		}
	}
	if next.Find(7).State != Up || next.Find(8).State != Spare {
		t.Errorf("%+v", next.Members)
	}
	// The next machine takes its share, and nothing moves between the others.
	next = through(t, next)
	grown := must(t)(next.Join(up(9)))
	for i := range uint32(60) {
		was, is := next.Target.Placement.PartitionOwner(i), grown.Target.Placement.PartitionOwner(i)
		if is != was && is != 9 {
			t.Errorf("partition %d goes from %s to %s", i, was, is)
		}
	}
}

// TestTooFewSpares: two die, one spare is there.
func TestTooFewSpares(t *testing.T) {
	v := must(t)(idle(t, 1, 2, 3, 4, 5).Join(spare(7)))
	next := must(t)(v.Exclude(2, 4))
	if !slices.Equal(next.Target.Placement.Machines(), trie.Ring{1, 3, 5, 7}) || next.Find(7).State != Up {
		t.Errorf("target on %v: %+v", next.Target.Placement.Machines(), next.Members)
	}
}

// TestLeaverStaysWhenTheRestDies: nobody else has the data.
func TestLeaverStaysWhenTheRestDies(t *testing.T) {
	v := must(t)(idle(t, 1, 2, 3).Leave(2, 3))
	next := must(t)(v.Exclude(1))
	if next.Find(2).State != Up || !slices.Equal(next.Target.Placement.Machines(), trie.Ring{2, 3}) {
		t.Errorf("%+v, target on %v", next.Members, next.Target.Placement.Machines())
	}
	// One that dies on its way out leaves the target as it is.
	v = must(t)(idle(t, 1, 2, 3).Leave(3))
	next = must(t)(v.Exclude(3))
	if next.Target != v.Target || next.Base != v.Base || next.Phase != recovery.Fill {
		t.Error("the death of a leaver changes the target")
	}
}

// TestExcludedComesBackEmpty: whatever it counts its starts from, base does not
// count on what it has no more.
func TestExcludedComesBackEmpty(t *testing.T) {
	v := must(t)(must(t)(idle(t, 1, 2, 3).Exclude(2)).Join(up(2)))
	if v.Joint().BaseLive.Contains(2) {
		t.Errorf("base live: %v", v.Joint().BaseLive)
	}
	if v = through(t, v); !v.Joint().BaseLive.Contains(2) {
		t.Errorf("idle: %v", v.Joint().BaseLive)
	}
}

func TestLost(t *testing.T) {
	type outs = [][]trie.MachineID
	for _, c := range []struct {
		name     string
		machines []trie.MachineID
		out      outs // one after the other, before the fill ends
		lost     bool
	}{
		{"one of two", []trie.MachineID{1, 2}, outs{{1}}, false},
		{"one of three", []trie.MachineID{1, 2, 3}, outs{{1}}, false},
		{"two of three", []trie.MachineID{1, 2, 3}, outs{{1}, {2}}, false},
		{"two of five", []trie.MachineID{1, 2, 3, 4, 5}, outs{{1, 4}}, false},
		{"three of five at once", []trie.MachineID{1, 2, 3, 4, 5}, outs{{1, 2, 4}}, true},
		{"three of five one by one", []trie.MachineID{1, 2, 3, 4, 5}, outs{{1}, {2}, {4}}, true},
		{"four of five", []trie.MachineID{1, 2, 3, 4, 5}, outs{{1}, {2, 4}, {5}}, true},
	} {
		v := idle(t, c.machines...)
		for _, out := range c.out {
			v = must(t)(v.Exclude(out...))
		}
		if (len(v.Lost) > 0) != c.lost {
			t.Errorf("%s: lost %v", c.name, v.Lost)
		}
		checkLost(t, c.name, v)
	}
	// A machine that joined as the base's only one died is no holder.
	v := must(t)(idle(t, 1).Join(up(2), up(3)))
	v = must(t)(v.Exclude(1))
	if len(v.Lost) != 1 || len(v.Lost[0].Lo) != 0 || v.Lost[0].Hi != nil || v.Lost[0].Epoch != v.Epoch {
		t.Errorf("nobody of base lives, lost is %v", v.Lost)
	}
	// A later failure does not repeat it, and the end of the fill does not hide it.
	epoch := v.Epoch
	v = through(t, must(t)(v.Exclude(2)))
	if len(v.Lost) != 1 || v.Lost[0].Epoch != epoch {
		t.Errorf("lost %v", v.Lost)
	}
	// Each interval counts for itself.
	v = idle(t, 1, 2, 3, 4, 5)
	for _, id := range []trie.MachineID{1, 2, 3} {
		v = through(t, must(t)(v.Exclude(id)))
	}
	if len(v.Lost) > 0 {
		t.Errorf("one at a time loses %v", v.Lost)
	}
}

// TestLostIsNotShared: two views that follow on one do not write into each other's
// ranges.
func TestLostIsNotShared(t *testing.T) {
	v := must(t)(idle(t, 1, 2, 3, 4, 5, 6).Exclude(1, 2, 3))
	v.Lost = append(slices.Grow(v.Lost, 8), Lost{Lo: []byte{9}, Hi: []byte{10}, Epoch: 1})
	one := must(t)(v.Exclude(4))
	before := text(t, one)
	two := must(t)(v.Exclude(5))
	if text(t, one) != before || len(one.Lost) == len(v.Lost) || len(two.Lost) == len(v.Lost) {
		t.Errorf("lost %v and %v", one.Lost, two.Lost)
	}
}

// checkLost: where something is lost, Lost has the segments of the dead and no
// other ones, each once, neighbours of one epoch as one.
func checkLost(t *testing.T, name string, v *View) {
	t.Helper()
	if len(v.Lost) == 0 {
		return
	}
	for s := range v.Base.Trie.All() {
		n := 0
		for _, l := range v.Lost {
			if bytes.Compare(l.Lo, s.Lo) <= 0 && (l.Hi == nil || bytes.Compare(s.Lo, l.Hi) < 0) {
				n++
			}
		}
		want := 1
		if v.Joint().BaseLive.Contains(v.Base.Placement.Owner(s)) {
			want = 0
		}
		if n != want {
			t.Errorf("%s: %s is in %d ranges of %v, want %d", name, s, n, v.Lost, want)
		}
	}
	for i, l := range v.Lost {
		for _, o := range v.Lost[i+1:] {
			if l.Epoch == o.Epoch && l.Hi != nil && bytes.Equal(l.Hi, o.Lo) {
				t.Errorf("%s: neighbours are apart: %v", name, v.Lost)
			}
		}
	}
}

func TestRecover(t *testing.T) {
	v := idle(t, 1, 2, 3, 4, 5)
	next := must(t)(v.Recover(Recovery{Keep: []trie.MachineID{2, 5}, Name: "n"}))
	if next.Generation != 2 || len(next.Members) != 2 || next.Phase != recovery.Fill || len(next.Lost) == 0 {
		t.Errorf("generation %d, members %+v, lost %v", next.Generation, next.Members, next.Lost)
	}
	for name, keep := range map[string][]trie.MachineID{"nobody": nil, "a stranger": {2, 77}} {
		if _, err := v.Recover(Recovery{Keep: keep, Name: "n"}); err == nil {
			t.Errorf("%s recovers", name)
		}
	}
}
