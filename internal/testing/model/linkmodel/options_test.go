// Tests that compare the options while a machine is down, and not yet excluded.

package linkmodel

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/model"
)

// TestWhileDown shows what each option does from the moment a machine dies until it is excluded.
// M3 has no copy of P1. M1 stamps the change of link 1, and M2 is its other place.
func TestWhileDown(t *testing.T) {
	for _, test := range []struct {
		option, dies string
		// quiet: P1 is read, if nothing was written before. behind: it is read, if the change was
		// committed and no copy has taken it in. acked: such a change is acknowledged meanwhile.
		quiet, behind, acked bool
	}{
		{"A", "M3 crashes", false, false, true},
		{"A", "M1 crashes", false, false, true},
		{"quorum", "M3 crashes", true, true, true},
		{"quorum", "M1 crashes", true, false, true},
		{"B", "M3 crashes", true, true, false},
		{"B", "M1 crashes", true, true, false},
		{"narrow", "M3 crashes", true, true, true},
		{"narrow", "M1 crashes", true, true, false},
	} {
		t.Run(test.option+", "+test.dies, func(t *testing.T) {
			s := base(1, oneLink)
			s.leased, s.narrow, s.quorum = test.option == "B" || test.option == "narrow", test.option == "narrow", test.option == "quorum"
			idle := newSystem(s, setOf(0, 1, 2), budget{crashes: 1, writes: writes(1)})
			behind := named(t, named(t, idle, "M1 stamps a change of link 1"), "operation 1 is stored on M2")
			idle, behind = named(t, idle, test.dies), named(t, behind, test.dies)
			if got := idle.readable(1, 0, excludes); got != test.quiet {
				t.Errorf("P1 is read: %v, want %v", got, test.quiet)
			}
			if got := behind.readable(1, 0, excludes); got != test.behind {
				t.Errorf("P1 is read behind a change: %v, want %v", got, test.behind)
			}
			rested, err := behind.settle(excludes)
			if got := rested.c.ops[0].acked; err != nil || got != test.acked {
				t.Errorf("the change is acknowledged: %v, want %v, %v", got, test.acked, err)
			}
			// When the machine is excluded, all is as before.
			if got, err := liveness(behind); err != nil || got != 1 {
				t.Errorf("%d partitions are read after the exclusion, %v", got, err)
			}
		})
	}
}

// TestQuorum explores option A with the ends of all members but copies-1. It holds while machines
// die. It breaks if a joiner is a place before all members have adopted its view: of the places of
// an operation then one alone may be a member of the reader's view. In the cluster a joiner's
// places are added to the old ones first.
func TestQuorum(t *testing.T) {
	quorum := func(of *scene) *scene {
		return &scene{name: of.name + ", quorum", script: of.script, make: func() (setting, set, budget) {
			s, members, left := of.make()
			s.quorum = true
			return s, members, left
		}}
	}
	for _, of := range []*scene{dies, diesThird, twice, isolated} {
		quorum(of).sound(t)
	}
	from := quorum(joins).system(t, Rules{})
	got := model.Explore[cluster, action](from, model.Bounds{States: mostStates}, nil)
	if got.Broken == nil {
		t.Fatalf("%d states with a joiner, and nothing breaks", got.States)
	}
	t.Logf("\n%s", model.Print[cluster, action](from, *got.Broken))
}

// TestNarrow explores option B with writers that wait for holders only.
func TestNarrow(t *testing.T) {
	for _, of := range []*scene{diesB, joinsB, isolatedB, stepsDown} {
		narrow := &scene{name: of.name + ", narrow", make: func() (setting, set, budget) {
			s, members, left := of.make()
			s.narrow = true
			return s, members, left
		}}
		narrow.sound(t)
	}
}

// TestRest lets the cluster come to rest in every state of small scenes: all partitions are
// answered.
func TestRest(t *testing.T) {
	for _, sc := range []*scene{isolatedB, stepsDown, diesThird, joinsB} {
		from := sc.system(t, Rules{})
		var broken error
		got := model.Explore[cluster, action](from, model.Bounds{}, func(c cluster) bool {
			_, broken = liveness(system{from.setting, c})
			return broken != nil
		})
		if got.Reached != nil {
			t.Errorf("%s: %v, after\n%s", sc.name, broken, model.Print[cluster, action](from, *got.Reached))
		}
	}
}
