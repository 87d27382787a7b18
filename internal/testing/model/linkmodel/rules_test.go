// Tests that each rule is needed: without it an invariant breaks.

package linkmodel

import (
	"reflect"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/model"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

func setOf(members ...int) (s set) {
	for _, m := range members {
		s |= 1 << m
	}
	return s
}

// writes returns the budgets of changes of each link.
func writes(n ...uint8) (w [maxLinks]uint8) {
	copy(w[:], n)
	return w
}

// scene is a setting with room for an interleaving, and not for much more.
type scene struct {
	name     string
	make     func() (setting, set, budget)
	script   []string // done before the exploration
	explored *model.Result[action]
}

func (sc *scene) system(t *testing.T, r Rules) system {
	s, members, left := sc.make()
	s.rules = r
	at := newSystem(s, members, left)
	for _, step := range sc.script {
		at = named(t, at, step)
	}
	return at
}

// named does the action that Say describes so; "settle" does all quiet ones.
func named(t *testing.T, at system, step string) system {
	t.Helper()
	if step == "settle" {
		after, err := at.settle("")
		if err != nil {
			t.Fatal(err)
		}
		return after
	}
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
const mostStates = 3_000_000

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

// The links of the scenes.
var (
	oneLink  = []link{{0, 0}}
	lastLink = []link{{0, 0}, {0, 0}, {0, 0}} // the third is stamped by M3
	across   = []link{{0, 1}}
)

// base returns a setting of three machines and two copies of everything.
func base(partitions int, links []link) setting {
	return setting{machines: 3, partitions: partitions, copies: 2, links: links, writer: -1}
}

// leasedBase is base for option B.
func leasedBase(partitions int, links []link) setting {
	s := base(partitions, links)
	s.leased = true
	return s
}

var (
	dies = &scene{name: "A, one of three dies", make: func() (setting, set, budget) {
		return base(2, across), setOf(0, 1, 2), budget{crashes: 1, reads: 1, writes: writes(1)}
	}}
	diesThird = &scene{name: "A, the third stamps", make: func() (setting, set, budget) {
		return base(1, lastLink), setOf(0, 1, 2), budget{crashes: 1, reads: 1, writes: writes(0, 0, 1)}
	}}
	twice = &scene{name: "A, two changes of a link", make: func() (setting, set, budget) {
		return base(1, oneLink), setOf(0, 1, 2), budget{crashes: 1, reads: 1, writes: writes(2)}
	}}
	builds = &scene{name: "A, copies of rows", make: func() (setting, set, budget) {
		s := base(1, oneLink)
		s.buildAlways = true
		return s, setOf(0, 1, 2), budget{crashes: 1, writes: writes(1)}
	}}
	joins = &scene{name: "A, one joins and one dies", make: func() (setting, set, budget) {
		return base(1, oneLink), setOf(1, 2), budget{admits: 1, crashes: 1, reads: 1, writes: writes(1)}
	}}
	returns = &scene{name: "A, one restarts", make: func() (setting, set, budget) {
		return base(1, oneLink), setOf(0, 1, 2), budget{admits: 1, crashes: 1, restarts: 1, reads: 1, writes: writes(1)}
	}}
	isolated = &scene{name: "A, one is isolated", make: func() (setting, set, budget) {
		return base(1, oneLink), setOf(0, 1, 2), budget{cuts: 1, reads: 1, writes: writes(1)}
	}}
	replaced = &scene{name: "A, all members of a view are replaced", make: func() (setting, set, budget) {
		s := base(1, oneLink)
		s.machines = 2
		return s, setOf(1), budget{cuts: 1, admits: 1, reads: 1, writes: writes(1)}
	}}
	strangerB = &scene{name: "B, the writer was excluded", make: func() (setting, set, budget) {
		s := leasedBase(1, oneLink)
		s.machines, s.writer = 4, 3
		return s, setOf(1, 2, 3), budget{cuts: 1, admits: 1, writes: writes(1)}
	}, script: []string{"M4 is isolated", "the lease of M4 expires", "the leader excludes M4", "M2 adopts the newest view",
		"M3 adopts the newest view", "the leader admits M1", "settle"}}
	sourceReturns = &scene{name: "A, the source of a fetch dies and returns", make: func() (setting, set, budget) {
		s := base(1, oneLink)
		s.machines, s.copies = 4, 3
		return s, setOf(0, 1, 2, 3), budget{crashes: 2, restarts: 1, admits: 1, writes: writes(1)}
	}, script: []string{"M1 stamps a change of link 1", "operation 1 is stored on M2", "operation 1 is stored on M3",
		"the copy of P1 on M2 takes in operation 1", "M1 crashes", "the leader excludes M1",
		"M2 adopts the newest view", "M3 adopts the newest view", "M4 adopts the newest view",
		"the copy of P1 on M4 is begun from that of M2", "M2 crashes", "the leader excludes M2",
		"M3 adopts the newest view", "M4 adopts the newest view", "M2 restarts with empty memory", "the leader admits M2"}}
	diesB = &scene{name: "B, one of three dies", make: func() (setting, set, budget) {
		return leasedBase(2, across), setOf(0, 1, 2), budget{crashes: 1, writes: writes(1)}
	}}
	joinsB = &scene{name: "B, one joins", make: func() (setting, set, budget) {
		s := leasedBase(1, oneLink)
		s.writer = 2
		return s, setOf(1, 2), budget{admits: 1, writes: writes(1)}
	}}
	isolatedB = &scene{name: "B, one is isolated", make: func() (setting, set, budget) {
		return leasedBase(1, oneLink), setOf(0, 1, 2), budget{cuts: 1, writes: writes(1)}
	}}
	returnsB = &scene{name: "B, one restarts", make: func() (setting, set, budget) {
		return leasedBase(1, oneLink), setOf(0, 1, 2), budget{admits: 1, crashes: 1, restarts: 1, writes: writes(1)}
	}}
	stepsDown = &scene{name: "B, one steps down", make: func() (setting, set, budget) {
		return leasedBase(1, oneLink), setOf(0, 1, 2), budget{stepDowns: 1, writes: writes(1)}
	}}
	uidsIsolated = &scene{name: "UIDs, one is isolated", make: func() (setting, set, budget) {
		s := base(0, nil)
		s.pages = 2
		return s, setOf(0, 1, 2), budget{cuts: 1, uids: 3}
	}}
	uidsReturn = &scene{name: "UIDs, one restarts", make: func() (setting, set, budget) {
		s := base(0, nil)
		s.pages = 2
		return s, setOf(0, 1, 2), budget{crashes: 1, restarts: 1, admits: 1, uids: 2}
	}}
)

// without is a rule, a scene that needs it, and the invariant that breaks without it.
type without struct {
	name   string
	scene  *scene
	rule   func(*Rules)
	breaks string
}

var withouts = []without{
	{"a copy leaves an epoch when that is reconciled", dies, func(r *Rules) { r.LeaveUnreconciled = true }, "invariant 1"},
	{"a copy is built when earlier epochs are reconciled", builds, func(r *Rules) { r.BuildUnreconciled = true }, "invariant 1"},
	{"the position comes before the rows", builds, func(r *Rules) { r.RowsBeforePosition = true }, "invariant 1"},
	{"a fetched copy has the position of before its content", dies, func(r *Rules) { r.FetchedPositionLate = true }, "invariant 1"},
	{"a fetched copy has the position of its source", dies, func(r *Rules) { r.FetchedPositionOwn = true }, "invariant 1"},
	{"a fetch ends with its source's copy", sourceReturns, func(r *Rules) { r.FetchAcrossDrop = true }, "invariant 1"},
	{"a copy is dropped when the new holders are ready", joins, func(r *Rules) { r.DropAtOnce = true }, "invariant 5"},

	{"A: a member refuses under another epoch", joins, func(r *Rules) { r.EndOfAnyEpoch = true }, "invariant 4"},
	{"A: the ends of all members", diesThird, func(r *Rules) { r.EndOfSome = true }, "invariant 4"},
	{"A: a member waits until what it has stamped is committed", twice, func(r *Rules) { r.EndWithoutWait = true }, "invariant 4"},
	{"A: a member has a lease", replaced, func(r *Rules) { r.EndWithoutLease = true }, "invariant 4"},
	{"A: a holder waits until it has reached the end", dies, func(r *Rules) { r.AnswerAtOnce = true }, "invariant 4"},

	{"B: a writer waits", diesB, func(r *Rules) { r.AckAtCommit = true }, "invariant 3"},
	{"B: a writer's view is as new as the stamp", strangerB, func(r *Rules) { r.WriterOldView = true }, "invariant 3"},
	{"B: a writer waits for all members, not only holders", joinsB, func(r *Rules) { r.RequestHolders = true }, "invariant 3"},
	{"B: silence is no answer", isolatedB, func(r *Rules) { r.AckPastSilent = true }, "invariant 3"},
	{"B: no service without a lease", isolatedB, func(r *Rules) { r.ServeWithoutLease = true }, "invariant 3"},
	{"B: no exclusion within a lease", isolatedB, func(r *Rules) { r.ExcludeAtOnce = true }, "invariant 3"},
	{"B: a new copy catches up before it serves", returnsB, func(r *Rules) { r.ServeAtOnce = true }, "invariant 3"},
	{"B: a machine that stepped down catches up", stepsDown, func(r *Rules) { r.ServeAtOnce = true }, "invariant 3"},
	{"B: an answer to a writer voids the ends", stepsDown, func(r *Rules) { r.KeepEnds = true }, "invariant 3"},

	{"UIDs: writes are fenced", uidsIsolated, func(r *Rules) { r.NoFence = true }, "invariant"},
	{"UIDs: the primary waits for earlier epochs", uidsIsolated, func(r *Rules) { r.AssignUnreconciled = true }, "invariant"},
	{"UIDs: the primary reads before it assigns", uidsIsolated, func(r *Rules) { r.AssignUnread = true }, "invariant"},
	{"UIDs: a number is sent to clients after the commit", uidsIsolated, func(r *Rules) { r.TellAtOnce = true }, "invariant 8"},
	{"UIDs: an attempted number is kept", uidsIsolated, func(r *Rules) { r.ForgetAttempts = true }, "invariant"},
	{"UIDs: a process that starts has no place in the view", uidsReturn, func(r *Rules) { r.RestartInEpoch = true }, "invariant"},
}

// Scenes without a rule of their own hold, too.
func TestScenes(t *testing.T) {
	seed.Slow(t)
	for _, sc := range []*scene{returns, isolated} {
		t.Run(sc.name, sc.sound)
	}
}

func TestRules(t *testing.T) {
	seed.Slow(t)
	for _, test := range withouts {
		t.Run(test.name, func(t *testing.T) {
			test.scene.sound(t)
			var r Rules
			test.rule(&r)
			from := test.scene.system(t, r)
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
