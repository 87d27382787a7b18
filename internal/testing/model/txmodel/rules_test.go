// Tests that each rule is needed: without it an invariant breaks.

package txmodel

import (
	"reflect"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/model"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// scene is a setting with room for an interleaving, and not for much more.
type scene struct {
	name     string
	setting  setting
	members  set // all, if none is named
	left     budget
	script   []string // done before the exploration
	explored *model.Result[action]
}

func (sc *scene) system(t *testing.T, r Rules) system {
	s := sc.setting
	s.copies, s.rules = max(s.copies, 2), r
	members := sc.members
	if members == 0 {
		members = 1<<s.machines - 1
	}
	at := newSystem(s, members, sc.left)
	for _, step := range sc.script {
		at = named(t, at, step)
	}
	return at
}

// named does the action that Say describes so.
func named(t *testing.T, at system, step string) system {
	t.Helper()
	var possible []string
	for _, a := range at.Actions() {
		said := at.Say(a)
		if said == step {
			after, err := at.Do(a)
			if err != nil {
				t.Fatal(err)
			}
			return after.(system)
		}
		possible = append(possible, said)
	}
	t.Fatalf("%q is not possible; possible are: %s", step, strings.Join(possible, "; "))
	return at
}

// mostStates bounds an exploration. All scenes must end below it.
const mostStates = 2_000_000

func (sc *scene) sound(t *testing.T) {
	t.Helper()
	if sc.explored == nil {
		from := sc.system(t, Rules{})
		got := model.Explore[cluster, action](from, model.Bounds{States: mostStates}, nil)
		sc.explored = &got
		t.Logf("%s: %d states, depth %d", sc.name, got.States, got.Depth)
		if got.Broken != nil {
			t.Fatalf("%s:\n%s", sc.name, model.Print[cluster, action](from, *got.Broken))
		}
	}
	if !sc.explored.Complete {
		t.Errorf("%s: %d states and no end", sc.name, sc.explored.States)
	}
}

// prepared brings T1 to the request of its tick, on two places of one triple.
func prepared(coordinator string) []string {
	return []string{
		"T1 begins on " + coordinator, "T1 submits its part of triple 1", "T1 on triple 1 is stored on M1",
		"T1 on triple 1 is stored on M2", "the coordinator of T1 receives that triple 1 is in all places", "T1 requests its tick",
	}
}

var (
	one     = []set{setOf(0)}
	two     = []set{setOf(0), setOf(0)}
	across  = []set{setOf(0, 1)}
	atomic  = &scene{name: "a transaction on two triples", setting: setting{machines: 2, triples: 2, writes: across}, left: budget{reads: 1, crashes: 1}}
	rivals  = &scene{name: "two transactions on one triple", setting: setting{machines: 2, triples: 1, writes: two}, left: budget{giveUps: 1}}
	crossed = &scene{name: "two transactions on two triples", setting: setting{machines: 2, triples: 2, writes: []set{setOf(0, 1), setOf(0, 1)}}}
	lost    = &scene{name: "the sequencer dies between two transactions", setting: setting{machines: 3, triples: 1, copies: 3, writes: two}, left: budget{crashes: 2}, script: []string{"T1 begins on M3", "T2 begins on M3", "T1 submits its part of triple 1", "T1 on triple 1 is stored on M3", "M1 crashes"}}
	power   = &scene{name: "two transactions, and no power", setting: setting{machines: 2, triples: 1, writes: two}, left: budget{giveUps: 1, blackouts: 1}}
	oracles = &scene{name: "the oracle dies behind a commit", setting: setting{machines: 3, triples: 1, writes: one}, left: budget{crashes: 1, reads: 2}, script: prepared("M3")}
	cutOff  = &scene{name: "the oracle is isolated", setting: setting{machines: 3, triples: 1, writes: one}, left: budget{cuts: 1, giveUps: 1}}
	moves   = &scene{name: "the oracle moves", setting: setting{machines: 3, triples: 1, writes: one}, members: setOf(1, 2), left: budget{admits: 1, reads: 1}}
)

// without is a rule, a scene that needs it, and the invariant that breaks without it.
type without struct {
	name   string
	scene  *scene
	rule   func(*Rules)
	breaks string
}

var withouts = []without{
	{"a tick is requested when all parts are durable", atomic, func(r *Rules) { r.DecideUnprepared = true }, "invariant"},
	{"a sequencer compares the triple with the snapshot", rivals, func(r *Rules) { r.SkipConflicts = true }, "invariant 6"},
	{"a sequencer waits while a part is undecided", rivals, func(r *Rules) { r.AcceptOverIntent = true }, "invariant 6"},
	{"a younger transaction does not wait", crossed, func(r *Rules) { r.WaitAlways = true }, ""},
	{"a sequencer needs the intents of earlier epochs", lost, func(r *Rules) { r.AcceptUnreconciled = true }, "invariant 6"},
	{"a delivery carries the outcomes of earlier parts", power, func(r *Rules) { r.DeliverAlone = true }, "invariant 6"},
	{"these outcomes are on disk with the part", power, func(r *Rules) { r.OutcomesUnsynced = true }, "invariant 6"},
	{"the oracle decides that a transaction is given up", rivals, func(r *Rules) { r.AbortAlone = true }, "invariant 4"},

	{"an oracle without memory waits for all members", moves, func(r *Rules) { r.OpenAtOnce = true }, "invariant"},
	{"an oracle has a lease", cutOff, func(r *Rules) { r.DecideWithoutLease = true }, "invariant 4"},
	{"what is in all places is committed again", oracles, func(r *Rules) { r.AbortLost = true }, "invariant 4"},
	{"what one place lacks is aborted", power, func(r *Rules) { r.RedoPartial = true }, "invariant"},
	{"a tick that was requested is not requested again", oracles, func(r *Rules) { r.AskAgain = true }, "invariant"},

	{"a reader asks about intents", atomic, func(r *Rules) { r.IgnoreIntents = true }, "invariant"},
	{"a snapshot older than the oracle's memory may end", oracles, func(r *Rules) { r.ReadOldSnapshots = true }, "invariant 1"},
	{"a place with all rows answers", oracles, func(r *Rules) { r.ReadUnfilled = true }, "invariant 2"},
}

func TestRules(t *testing.T) {
	seed.Slow(t)
	for _, test := range withouts {
		t.Run(test.name, func(t *testing.T) {
			test.scene.sound(t)
			var r Rules
			test.rule(&r)
			from := test.scene.system(t, r)
			if r.WaitAlways {
				rests(t, from, false)
				return
			}
			got := model.Explore[cluster, action](from, model.Bounds{States: mostStates}, nil)
			if got.Broken == nil {
				t.Fatalf("%s: %d states without the rule, and nothing breaks", test.scene.name, got.States)
			}
			t.Logf("%s\n%s", test.scene.name, model.Print[cluster, action](from, *got.Broken))
			if !strings.HasPrefix(got.Broken.Err.Error(), test.breaks) {
				t.Errorf("%v, want %s", got.Broken.Err, test.breaks)
			}
		})
	}
}

// rests checks whether the model comes to rest, with an outcome of each transaction, from every state.
func rests(t *testing.T, from system, want bool) {
	t.Helper()
	var broken error
	got := model.Explore[cluster, action](from, model.Bounds{States: mostStates}, func(c cluster) bool {
		broken = liveness(system{from.setting, c})
		return broken != nil
	})
	if got.Reached == nil != want {
		t.Fatalf("%d states; want an outcome from each: %v, %v", got.States, want, broken)
	}
	if got.Reached != nil {
		t.Logf("%v, after\n%s", broken, model.Print[cluster, action](from, *got.Reached))
	}
}

// TestRest lets small scenes come to rest in every state.
func TestRest(t *testing.T) {
	seed.Slow(t)
	for _, sc := range []*scene{rivals, crossed, lost} {
		rests(t, sc.system(t, Rules{}), true)
	}
}

// Every rule is taken away by a test.
func TestEveryRuleIsTakenAway(t *testing.T) {
	var taken Rules
	for _, test := range withouts {
		test.rule(&taken)
	}
	v := reflect.ValueOf(taken)
	for i := range v.NumField() {
		if !v.Field(i).Bool() {
			t.Errorf("no test takes %s away", v.Type().Field(i).Name)
		}
	}
}
