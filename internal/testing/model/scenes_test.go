// The settings that the tests of interleavings and of rules share.

package model

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// An interleaving is one that section 7 of the protocol names, or another that
// a rule is there against: a setting in which it can happen, the rule, and what
// breaks without it.
type interleaving struct {
	name    string
	scene   *scene
	without func(*Rules)
	// breaks is the first invariant that breaks, seen the first that a client can
	// tell: a structural one alone could hide that nothing comes of it. seen is
	// empty where clients cannot tell in this setting; a comment says why.
	breaks, seen string
}

// A scene is a setting that has room for an interleaving, and not for much more.
// The protocol is explored in it once, for all tests.
type scene struct {
	make     func(Rules) *setting
	explored *Result[action]
}

var (
	loses1 = &scene{make: func(r Rules) *setting {
		return newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{crashes: 1, excludes: 1, writes: anAdd})
	}}
	loses1Empty = &scene{make: func(r Rules) *setting {
		return newSetting(ring3(1, r), r, setOf(0, 1, 2), 0, budget{crashes: 1, excludes: 1, writes: anAdd})
	}}
	movesAndDeletes = &scene{make: func(r Rules) *setting {
		return newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{moves: 1, writes: aDelete})
	}}
)

// ring3 is three machines of which any may die: the triples on all three, then
// on the two that are left. Placement 4 moves all versions around.
func ring3(triples int, rules Rules) *world {
	return newWorld(3, triples, rules,
		each(triples, setOf(0, 1, 2), owners{0, 1, 2}),
		each(triples, setOf(0, 1), owners{1, 0, 0}),
		each(triples, setOf(0, 2), owners{2, 0, 2}),
		each(triples, setOf(1, 2), owners{1, 2, 1}),
		each(triples, setOf(0, 1, 2), owners{2, 0, 1}),
	)
}

// ring4 is four machines of which the last dies first. The placement without it
// moves POS between two that survive.
func ring4(rules Rules) *world {
	return newWorld(4, 1, rules,
		each(1, setOf(0, 1, 2, 3), owners{3, 0, 1}),
		each(1, setOf(0, 1, 2), owners{0, 2, 1}),
		each(1, setOf(0, 1), owners{0, 1, 1}),
		each(1, setOf(0, 2), owners{0, 2, 0}),
		each(1, setOf(1, 2), owners{2, 2, 1}),
	)
}

// ring4to3 is four machines of which the last dies. Its successor for SPO had
// nothing of the triple.
func ring4to3(rules Rules) *world {
	return newWorld(4, 1, rules,
		each(1, setOf(0, 1, 2, 3), owners{3, 0, 1}),
		each(1, setOf(0, 1, 2), owners{2, 0, 1}))
}

// each gives every triple its versions on other machines than the one before.
func each(triples int, ring set, o owners) placement {
	p := placement{ring: ring}
	for x := range triples {
		p.owners = append(p.owners, owners{o[x%3], o[(x+1)%3], o[(x+2)%3]})
	}
	return p
}

var (
	anAdd         = [maxTriples]writeBudget{{adds: 1}}
	aDelete       = [maxTriples]writeBudget{{deletes: 1}}
	addThenDelete = [maxTriples]writeBudget{{adds: 1, deletes: 1}}
)

// after is a script, for settings that begin late.
func after(s *setting, steps ...string) *setting {
	s, err := s.script(steps...)
	if err != nil {
		panic(err)
	}
	return s
}

// notShort leaves long explorations out of the runs with the race detector: no
// goroutine is in them.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("explorations take their time")
	}
}

const mostStates = 1_000_000

func (test interleaving) run(t *testing.T) {
	s := test.scene.make(Rules{}).model()
	if test.scene.explored == nil {
		got := Explore[cluster, action](s, Bounds{States: mostStates}, nil)
		test.scene.explored = &got
	}
	got := test.scene.explored
	if got.Broken != nil {
		t.Fatalf("the protocol breaks:\n%s", Print[cluster, action](s, *got.Broken))
	}
	if !got.Complete {
		t.Errorf("%d states and no end", got.States)
	}
	t.Logf("%d states, depth %d", got.States, got.Depth)
	var rules Rules
	test.without(&rules)
	weak := test.scene.make(rules)
	test.mustBreak(t, weak, test.breaks)
	weak.seenOnly = true
	if test.seen != "" && test.seen != test.breaks {
		test.mustBreak(t, weak, test.seen)
	}
}

func (test interleaving) mustBreak(t *testing.T, weak *setting, by string) {
	t.Helper()
	m := weak.model()
	found := Explore[cluster, action](m, Bounds{States: mostStates}, nil)
	if found.Broken == nil {
		t.Errorf("%d states without the rule, and nothing breaks by %s", found.States, by)
		return
	}
	t.Logf("without the rule, after %d states:\n%s", found.States, Print[cluster, action](m, *found.Broken))
	if !strings.Contains(found.Broken.Err.Error(), by) {
		t.Errorf("it breaks otherwise than by %s", by)
	}
}

// onMember reports whether some member has operation i, unsettled.
func (s *model) onMember(i int) bool {
	for m := range s.machines {
		if s.c.isMember(s.c.latest(), m) && s.c.machines[m].mem.inFlight>>i&1 == 1 {
			return true
		}
	}
	return false
}

// What holds in every state means nothing where nothing happens: each scene gets
// through to an idle, swept view, with what was begun settled.
func TestScenesGetThrough(t *testing.T) {
	seed.Slow(t)
	notShort(t)
	for _, test := range append(append([]interleaving(nil), interleavings...), others...) {
		s := test.scene.make(Rules{})
		through := func(c cluster) bool {
			m := model{s, c}
			for i := range c.ops {
				if o := &c.ops[i]; o.used && !o.ever && m.onMember(i) {
					return false
				}
			}
			changed := c.last > s.start.last || s.start.left.moves+s.start.left.excludes+s.start.left.loads == 0
			began := c.ops[0].used || s.start.left.writes == [maxTriples]writeBudget{}
			return changed && began && c.latest().phase == idle && !m.waiting() && m.allMembers(func(n *machine) bool { return n.swept })
		}
		if got := Explore[cluster, action](s.model(), Bounds{States: mostStates}, through); got.Reached == nil {
			t.Errorf("%s: never gets through", test.name)
		}
	}
}
