package model

import (
	"strings"
	"testing"
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
// What the protocol does in it is explored once, whoever asks.
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

// The interleavings of section 7 that this model can have. Those of leases and
// generations are in lease_test.go, a disk that stalls is below.
var interleavings = []interleaving{
	{
		name:    "three machines, one dies: the lost orders are rebuilt",
		scene:   loses1,
		without: func(r *Rules) { r.RepairMissingTriples = true },
		breaks:  "invariant 12",
		seen:    "invariant 8:",
	},
	{
		name: "owners (1,1,3) on a ring of three: three copies",
		scene: &scene{make: func(r Rules) *setting {
			w := newWorld(3, 1, r, each(1, setOf(0, 1, 2), owners{0, 0, 2}))
			return newSetting(w, r, setOf(0, 1, 2), setOf(0), budget{writes: anAdd})
		}},
		without: func(r *Rules) { r.ExtraIsGreatestPlusOne = true },
		breaks:  "invariant 3",
	},
	{
		name:    "snapshot of v1, tombstone v2 to source and destination, v1's table ingested",
		scene:   movesAndDeletes,
		without: func(r *Rules) { r.FillsOverwrite = true },
		breaks:  "invariant 11",
		seen:    "invariant 8:",
	},
	{
		name: "F dies, a slot moves between two survivors, a second dies",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring4(r), r, setOf(0, 1, 2, 3), setOf(0), budget{crashes: 2, excludes: 2})
		}},
		without: func(r *Rules) { r.TargetBecomesBase = true },
		breaks:  "invariant 1:",
		seen:    "invariant 8:",
	},
	{
		name: "an excluded machine returns with its old address in mid-walk",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{crashes: 1, diskFaults: 1, excludes: 1, joins: 1})
			s.joinInFill = true
			return s
		}},
		without: func(r *Rules) { r.LiveByAddress = true },
		breaks:  "invariant 1:",
		seen:    "invariant 8:",
	},
	{
		name: "a machine joins between two IDs, a triple is deleted, the machine leaves",
		scene: &scene{make: func(r Rules) *setting {
			w := newWorld(4, 1, r,
				each(1, setOf(0, 2, 3), owners{0, 0, 0}),
				each(1, setOf(0, 1, 2, 3), owners{0, 0, 0}),
				each(1, setOf(1, 2, 3), owners{3, 3, 3}))
			s := newSetting(w, r, setOf(0, 2, 3), setOf(0), budget{joins: 1, moves: 1, purges: 1, crashes: 1, excludes: 1, writes: aDelete})
			return after(s, "the leader lets M2 join, to placement 1", "settle unswept", "M1 stamps operation 1: delete of t0", "settle unswept")
		}},
		without: func(r *Rules) { r.NoSweep = true },
		breaks:  "invariant 10",
		seen:    "invariant 8:",
	},
	{
		name: "A reads through SPO, B later through POS, while the write is half done",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), 0, budget{writes: addThenDelete, ackLosses: 1})
		}},
		without: func(r *Rules) { r.ReadUnsettled = true },
		breaks:  "invariant 9:",
		seen:    "invariant 9:",
	},
	{
		name:    "POS has v7, OSP not, the SPO owner dies",
		scene:   loses1Empty,
		without: func(r *Rules) { r.DropUnsettled = true },
		breaks:  "invariant 9:",
		seen:    "invariant 9:",
	},
	{
		name: "a delete is purged, a machine wakes with a pending older add",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), 0, budget{crashes: 1, excludes: 1, restarts: 1, rejoins: 1, joins: 1, purges: 1, writes: addThenDelete})
			return after(s, "M1 stamps operation 1: add of t0", "operation 1 is stored on M1", "M1 crashes",
				"the leader excludes M1, to placement 3", "settle")
		}},
		without: func(r *Rules) { r.KeepRows = true },
		breaks:  "invariant 14",
		seen:    "invariant 8:",
	},
	{
		name: "the new owner acknowledges while the old one's lease lives",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{cuts: 1, excludes: 1, writes: aDelete})
		}},
		without: func(r *Rules) { r.ExcludeAtOnce = true },
		breaks:  "invariant 7",
		seen:    "invariant 8:",
	},
	{
		name: "a holder checks the epoch, sleeps, the view changes and a walk snapshots, it writes",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{moves: 1, writes: aDelete})
			return after(s, "M1 stamps operation 1: delete of t0", "operation 1 is stored on M1", "operation 1 is stored on M2")
		}},
		without: func(r *Rules) { r.CheckThenApply = true },
		breaks:  "invariant 8:",
		seen:    "invariant 8:",
	},
	{
		name: "a walk passes key k, a move brings k behind it",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring4to3(r), r, setOf(0, 1, 2, 3), setOf(0), budget{crashes: 1, excludes: 1, writes: anAdd})
		}},
		without: func(r *Rules) { r.RepairerByTarget = true },
		breaks:  "invariant 12",
		seen:    "invariant 8:",
	},
	{
		name: "a disk comes back blank inside the lease",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{crashes: 1, diskFaults: 1, excludes: 1, writes: anAdd})
		}},
		without: func(r *Rules) { r.AnyDiskReturns = true },
		breaks:  "invariant 1:",
		seen:    "invariant 8:",
	},
	{
		name: "a disk comes back cut at the tail inside the lease",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{crashes: 1, diskFaults: 1, excludes: 1, writes: anAdd})
			s.cutOnly = true
			return s
		}},
		without: func(r *Rules) { r.AnyDiskReturns = true },
		breaks:  "invariant 1:",
		seen:    "invariant 8:",
	},
	{
		name: "a delete during a bulk load, then the publication",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{loads: 1, writes: aDelete})
		}},
		without: func(r *Rules) { r.IngestOnTop = true },
		breaks:  "invariant 11",
		seen:    "invariant 8:",
	},
	{
		name: "an add times out, a delete is acknowledged, the add is resent by a node",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), 0, budget{resends: 1, writes: addThenDelete})
		}},
		without: func(r *Rules) { r.ResendByNode = true },
		breaks:  "again",
		seen:    "again",
	},
	{
		name: "both owners of a degraded plan dead",
		scene: &scene{make: func(r Rules) *setting {
			w := newWorld(5, 1, r,
				each(1, setOf(0, 1, 2, 3, 4), owners{0, 1, 2}),
				each(1, setOf(1, 2, 3, 4), owners{3, 1, 2}),
				each(1, setOf(2, 3, 4), owners{3, 4, 2}))
			return newSetting(w, r, setOf(0, 1, 2, 3, 4), setOf(0), budget{crashes: 2, excludes: 2})
		}},
		without: func(r *Rules) { r.ReadTargetInFill = true },
		breaks:  "invariant 8:",
		seen:    "invariant 8:",
	},
	{
		name: "scrub meets a purged tombstone on one side",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{scrubs: 1, purges: 1, writes: aDelete})
		}},
		without: func(r *Rules) { r.ScrubUnfenced = true },
		breaks:  "invariant 1:",
		seen:    "invariant 8:",
	},
}

// Rules that no interleaving of section 7 is named after.
var others = []interleaving{
	{
		name: "a walk says which rows are unsettled",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring4to3(r), r, setOf(0, 1, 2, 3), 0, budget{crashes: 1, excludes: 1, writes: anAdd})
			return after(s, "M4 stamps operation 1: add of t0", "operation 1 is stored on M1", "M4 crashes")
		}},
		without: func(r *Rules) { r.FillsAreSettled = true },
		breaks:  "invariant 9:",
		seen:    "invariant 9:",
	},
	{
		name: "reads take the snapshot, then check lease and epoch",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{moves: 1})
		}},
		without: func(r *Rules) { r.CheckThenRead = true },
		breaks:  "linearizability",
		seen:    "linearizability",
	},
	{
		name: "rows are deleted in idle only",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{moves: 1, crashes: 1, excludes: 1})
		}},
		without: func(r *Rules) { r.SweepEarly = true },
		breaks:  "invariant",
	},
	{
		name: "tombstones are purged when idle and swept, not by a timer",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{moves: 1, purges: 1, writes: aDelete})
			return after(s, "the leader plans placement 4", "M1 adopts the newest view", "M2 adopts the newest view", "M3 adopts the newest view", "M1 stamps operation 1: delete of t0")
		}},
		without: func(r *Rules) { r.PurgeByTimer = true },
		breaks:  "invariant",
		seen:    "invariant 8:",
	},
	{
		name: "tombstones are purged below what is unsettled",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{purges: 1, writes: addThenDelete})
		}},
		without: func(r *Rules) { r.PurgeUnsettled = true },
		breaks:  "invariant 10",
		seen:    "invariant 8:",
	},
	{
		name: "an epoch is proposed when the one before is adopted",
		scene: &scene{make: func(r Rules) *setting {
			w := newWorld(5, 1, r,
				each(1, setOf(0, 1, 2, 3, 4), owners{0, 1, 2}),
				each(1, setOf(0, 1, 2, 3, 4), owners{0, 2, 3}),
				each(1, setOf(0, 1, 2, 3), owners{0, 2, 3}))
			s := newSetting(w, r, setOf(0, 1, 2, 3, 4), setOf(0), budget{moves: 1, crashes: 1, excludes: 1, writes: aDelete})
			return after(s, "the leader plans placement 1", "settle until serve", "M5 crashes")
		}},
		without: func(r *Rules) { r.ProposeAtOnce = true },
		breaks:  "invariant 6",
		seen:    "invariant 8:",
	},
	{
		name: "serve waits for the walks",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{moves: 1})
		}},
		without: func(r *Rules) { r.ServeBeforeDone = true },
		breaks:  "invariant 8:",
		seen:    "invariant 8:",
	},
	{
		name:    "a walk snapshots after the adoption",
		scene:   movesAndDeletes,
		without: func(r *Rules) { r.SnapshotEarly = true },
		breaks:  "invariant",
		seen:    "invariant 8:",
	},
	{
		name:    "in fill, writes go to the base too",
		scene:   movesAndDeletes,
		without: func(r *Rules) { r.WriteTargetOnly = true },
		breaks:  "invariant 5",
		seen:    "invariant 8:",
	},
	{
		name:    "in fill, writes go to the target too",
		scene:   movesAndDeletes,
		without: func(r *Rules) { r.WriteBaseOnly = true },
		breaks:  "invariant 8:",
		seen:    "invariant 8:",
	},
	{
		name: "a walk is done when its repairs are synced",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{moves: 1, crashes: 1, restarts: 1})
		}},
		without: func(r *Rules) { r.DoneBeforeSync = true },
		breaks:  "invariant 13",
		seen:    "invariant 8:",
	},
	{
		name: "from one machine to two all data is copied",
		scene: &scene{make: func(r Rules) *setting {
			w := newWorld(2, 2, r, each(2, setOf(0), owners{0, 0, 0}), each(2, setOf(0, 1), owners{1, 0, 0}))
			return newSetting(w, r, setOf(0), setOf(0, 1), budget{joins: 1, writes: aDelete})
		}},
		without: func(r *Rules) { r.ServeBeforeDone = true },
		breaks:  "invariant 8:",
		seen:    "invariant 8:",
	},
	{
		name: "a spare takes the place of a machine that dies",
		scene: &scene{make: func(r Rules) *setting {
			w := newWorld(4, 1, r, each(1, setOf(0, 1, 2), owners{0, 1, 2}), each(1, setOf(1, 2, 3), owners{3, 1, 2}))
			return newSetting(w, r, setOf(0, 1, 2, 3), setOf(0), budget{crashes: 1, excludes: 1, writes: aDelete})
		}},
		without: func(r *Rules) { r.RepairerByTarget = true },
		breaks:  "invariant 12",
		seen:    "invariant 8:",
	},
	{
		name: "three of five die within one fill: what is lost is said",
		scene: &scene{make: func(r Rules) *setting {
			w := newWorld(5, 1, r,
				each(1, setOf(0, 1, 2, 3, 4), owners{0, 1, 2}),
				each(1, setOf(1, 2, 3, 4), owners{3, 1, 2}),
				each(1, setOf(2, 3, 4), owners{3, 4, 2}),
				each(1, setOf(3, 4), owners{3, 4, 3}))
			return newSetting(w, r, setOf(0, 1, 2, 3, 4), setOf(0), budget{crashes: 3, excludes: 3})
		}},
		without: func(r *Rules) { r.NoLost = true },
		breaks:  "invariant 12",
		seen:    "invariant 8:",
	},
	{
		name: "a machine that comes back shows which fills it has",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{moves: 1, crashes: 1, diskFaults: 1})
			s.cutOnly = true
			return s
		}},
		without: func(r *Rules) { r.DiskShowsSeqOnly = true },
		breaks:  "invariant 8:",
		seen:    "invariant 8:",
	},
	{
		name: "a machine that comes back after its sequencer waits until the view is reconciled",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{crashes: 2, restarts: 1, diskFaults: 1, excludes: 1, writes: aDelete})
			s.cutOnly = true
			return after(s, "M1 stamps operation 1: delete of t0", "operation 1 is stored on M1", "operation 1 is stored on M2",
				"operation 1 is stored on M3", "M1 crashes", "M3 crashes")
		}},
		without: func(r *Rules) { r.ReadUnreconciled = true },
		breaks:  "invariant 8:",
		seen:    "invariant 8:",
	},
	{
		name: "a process that starts is a new incarnation, in a new epoch",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), 0, budget{crashes: 1, restarts: 1, writes: addThenDelete})
			return after(s, "M1 stamps operation 1: add of t0", "operation 1 is stored on M1", "operation 1 is stored on M2")
		}},
		without: func(r *Rules) { r.RestartInEpoch = true },
		breaks:  "linearizability",
		seen:    "linearizability",
	},
	{
		name: "an operation that is driven again keeps its stamp",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), 0, budget{crashes: 1, excludes: 1, writes: addThenDelete})
			return after(s, "M1 stamps operation 1: add of t0", "operation 1 is stored on M2", "M1 crashes")
		}},
		without: func(r *Rules) { r.NewStampOnRedrive = true },
		breaks:  "invariant",
		seen:    "invariant 9:",
	},
	{
		name: "a load is ingested in one epoch and shown in the next",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(2, r), r, setOf(0, 1, 2), 0, budget{loads: 1})
		}},
		without: func(r *Rules) { r.PublishInOneEpoch = true },
		breaks:  "invariant 15:",
		seen:    "invariant 15:",
	},
}

func TestInterleavings(t *testing.T) {
	for _, test := range interleavings {
		t.Run(test.name, test.run)
	}
}

func TestRules(t *testing.T) {
	for _, test := range others {
		t.Run(test.name, test.run)
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

// A store that is blocked gets no lease, so that its machine is excluded and
// writes go on. It is not safety that is lost without the rule.
func TestOneHoldersDiskStallsUnderLoad(t *testing.T) {
	acknowledged := func(c cluster) bool { return c.ops[0].ever }
	explore := func(r Rules) Result[action] {
		s := newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{stalls: 1, excludes: 1, writes: anAdd})
		s = after(s, "the disk of M2 stalls", "M1 stamps operation 1: add of t0")
		return Explore[cluster, action](s.model(), Bounds{States: mostStates}, acknowledged)
	}
	if got := explore(Rules{}); got.Reached == nil || got.Broken != nil {
		t.Errorf("the write is never acknowledged (%d states, %v)", got.States, got.Broken)
	}
	if got := explore(Rules{LeaseWithoutWrite: true}); got.Reached != nil || got.Broken != nil || !got.Complete {
		t.Errorf("without the rule the write is acknowledged all the same")
	}
}

// onMember reports whether some member has operation i, unsettled.
func (s *model) onMember(i int) bool {
	for m := range s.machines {
		if s.c.in(s.c.latest(), m) && s.c.machines[m].mem.unsettled>>i&1 == 1 {
			return true
		}
	}
	return false
}

// What holds in every state means nothing where nothing happens: each scene gets
// through to an idle, swept view, with what was begun settled.
func TestScenesGetThrough(t *testing.T) {
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
			return changed && began && c.latest().phase == idle && !m.waiting() && m.every(func(n *machine) bool { return n.swept })
		}
		if got := Explore[cluster, action](s.model(), Bounds{States: mostStates}, through); got.Reached == nil {
			t.Errorf("%s: never gets through", test.name)
		}
	}
}
