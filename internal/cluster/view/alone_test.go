// Tests of Alone and NeedsAnswer.

package view

import (
	"testing"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// The views under which one of two machines may read by itself, and those under which each write
// needs its answer.
func TestAlone(t *testing.T) {
	two := idle(t, 1, 2)
	edit := func(v *View, do func(v *View)) *View {
		next := *v
		next.Members = append([]Member(nil), v.Members...)
		do(&next)
		next.prepare()
		return &next
	}
	one := func(v *View) *View { v.Base.Copies = 1; return v } // not possible in a real view
	for _, test := range []struct {
		name         string
		view         *View
		needs, alone bool
	}{
		{"two", two, true, true},
		{"one", idle(t, 1), true, false},
		{"three", idle(t, 1, 2, 3), true, false},
		{"a join", must(t)(two.Join(up(3))), true, false},
		{"the other one leaves", must(t)(two.Leave(2)), true, false},
		{"it leaves", must(t)(two.Leave(1)), true, false},
		{"it has left", through(t, must(t)(two.Leave(1))), false, false},
		{"it has just joined", must(t)(idle(t, 2).Join(up(1))), false, false},
		{"copies are less than machines", edit(two, func(v *View) { one(v) }), false, false},
		{"its disk is not proven", edit(two, func(v *View) { v.Members[0].Waits = true }), true, false},
		{"it is to leave", edit(two, func(v *View) { v.Members[0].State = Leaving }), true, false},
		{"a load is taken in", edit(two, func(v *View) { v.Phase = recovery.Ingest }), true, false},
		{"it was started again", edit(two, func(v *View) { v.Members[0].Incarnation = 2 }), false, false},
		{"base is of another process", edit(two, func(v *View) { v.BaseIncarnations = map[trie.MachineID]uint64{1: 2, 2: 1} }), false, false},
	} {
		if needs := test.view.NeedsAnswer(1, 1); needs != test.needs {
			t.Errorf("%s: needs its answer: %v", test.name, needs)
		}
		alone, other, ok := test.view.SoleView(1, 1)
		if ok != test.alone {
			t.Errorf("%s: reads alone: %v", test.name, ok)
		}
		if !ok {
			continue
		}
		j := alone.Joint()
		if other != 2 || alone.Epoch != test.view.Epoch || len(j.BaseLive) != 1 || j.BaseLive[0] != 1 || len(test.view.Joint().BaseLive) != 2 {
			t.Errorf("%s: without %v, live %v", test.name, other, j.BaseLive)
		}
	}
}
