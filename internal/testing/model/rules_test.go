// Tests that each rule is needed: without it an invariant breaks.

package model

import (
	"reflect"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// Rules that no interleaving of section 7 is named after.
var others = []interleaving{
	{
		name: "a walk says which rows are unsettled",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring4to3(r), r, setOf(0, 1, 2, 3), 0, budget{crashes: 1, excludes: 1, writes: anAdd})
			return after(s, "M4 stamps operation 1: add of t0", "operation 1 is stored on M2", "M4 crashes")
		}},
		without: func(r *Rules) { r.FillsAreCommitted = true },
		breaks:  "invariant 9:",
		seen:    "invariant 9:",
	},
	{
		name: "a row before an operation in flight is read when its driver has not committed it",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), 0, budget{writes: addThenDelete, ackLosses: 1})
		}},
		without: func(r *Rules) { r.UndoUnasked = true },
		breaks:  "invariant 8:",
		seen:    "invariant 8:",
	},
	{
		name: "a fill that brings what is there takes away what operations replaced there",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), setOf(0), budget{moves: 1, writes: aDelete})
		}},
		without: func(r *Rules) { r.FillsKeepUndo = true },
		breaks:  "invariant 8:",
		seen:    "invariant 8:",
	},
	{
		name: "an older row that comes later takes away what newer ones replaced",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring4to3(r), r, setOf(0, 1, 2, 3), 0, budget{crashes: 1, excludes: 1, writes: addThenDelete})
			return after(s, "M4 stamps operation 1: add of t0", "operation 1 is stored on M2", "M4 crashes")
		}},
		without: func(r *Rules) { r.LateRowsKeepUndo = true },
		breaks:  "invariant 8:",
		seen:    "invariant 8:",
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
		without: func(r *Rules) { r.PurgeInFlight = true },
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
		name: "a machine that comes back shows which loads it has",
		scene: &scene{make: func(r Rules) *setting {
			s := newSetting(ring3(1, r), r, setOf(0, 1, 2), 0, budget{loads: 1, crashes: 1, diskFaults: 1, excludes: 1})
			s.cutOnly = true
			return s
		}},
		without: func(r *Rules) { r.DiskShowsSeqOnly = true },
		breaks:  "invariant 1:",
		seen:    "invariant 8:",
	},
	{
		name: "a machine that comes back shows each of the fills that it had in one epoch",
		scene: &scene{make: func(r Rules) *setting {
			w := newWorld(4, 2, r,
				placement{setOf(0, 1, 2, 3), []owners{{1, 2, 3}, {2, 1, 3}}},
				placement{setOf(0, 1, 2, 3), []owners{{0, 2, 3}, {0, 1, 3}}})
			s := newSetting(w, r, setOf(0, 1, 2, 3), setOf(0, 1), budget{moves: 1, crashes: 1, diskFaults: 1})
			s.cutOnly = true
			return after(s, "the leader plans placement 1", "settle until serve")
		}},
		without: func(r *Rules) { r.MarkByEpoch = true },
		breaks:  "invariant 8:",
		seen:    "invariant 8:",
	},
	{
		name: "operations of a sequencer come in the order of their stamps, or a tail that is lost hides",
		scene: &scene{make: func(r Rules) *setting {
			w := newWorld(3, 2, r,
				placement{setOf(0, 1, 2), []owners{{0, 1, 2}, {0, 2, 1}}},
				placement{setOf(0, 2), []owners{{0, 2, 2}, {0, 2, 0}}})
			s := newSetting(w, r, setOf(0, 1, 2), 0, budget{crashes: 1, diskFaults: 1, writes: [maxTriples]writeBudget{{adds: 1}, {adds: 1}}})
			s.cutOnly = true
			return after(s, "M1 stamps operation 1: add of t0", "M1 stamps operation 2: add of t1",
				"operation 1 is stored on M1", "operation 2 is stored on M1", "operation 1 is stored on M3", "operation 2 is stored on M3")
		}},
		without: func(r *Rules) { r.LastSeqIsGreatest = true },
		breaks:  "invariant 1:",
		seen:    "invariant 8:",
	},
	{
		name: "a load that is being ingested goes forward when a member dies",
		scene: &scene{make: func(r Rules) *setting {
			return newSetting(ring3(1, r), r, setOf(0, 1, 2), 0, budget{loads: 1, crashes: 1, excludes: 1})
		}},
		without: func(r *Rules) { r.AbortLoad = true },
		breaks:  "invariant 15",
		seen:    "invariant 15",
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
		name: "a sequencer without a place in base asks a machine that its successor needs",
		scene: &scene{make: func(r Rules) *setting {
			w := newWorld(5, 1, r,
				each(1, setOf(0, 1, 3, 4), owners{1, 4, 3}),
				each(1, setOf(0, 3, 4), owners{0, 4, 3}),
				each(1, setOf(0, 2, 3, 4), owners{2, 4, 3}))
			s := newSetting(w, r, setOf(0, 1, 3, 4), setOf(0), budget{crashes: 1, excludes: 1, joins: 1, writes: addThenDelete})
			s.joinInFill = true
			return after(s, "M2 crashes", "the leader excludes M2, to placement 1", "M1 adopts the newest view", "M4 adopts the newest view",
				"M5 adopts the newest view", "the leader lets M3 join, to placement 2",
				"M3 adopts the newest view", "M4 adopts the newest view", "M5 adopts the newest view", "M3 stamps operation 1: add of t0",
				"operation 1 is stored on M3", "operation 1 is stored on M4")
		}},
		without: func(r *Rules) { r.StampUnconfirmed = true },
		breaks:  "linearizability",
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

func TestRules(t *testing.T) {
	seed.Slow(t)
	notShort(t)
	for _, test := range others {
		t.Run(test.name, test.run)
	}
}

// A rule that no test takes away is a rule that is not tested.
func TestEveryRuleIsTakenAway(t *testing.T) {
	// The test of a disk that stalls, and the one below.
	taken := Rules{LeaseWithoutWrite: true, IdleBeforeAdopted: true}
	for _, test := range append(append([]interleaving(nil), interleavings...), others...) {
		test.without(&taken)
	}
	for _, test := range liveness {
		if test.without != nil {
			test.without(&taken)
		}
	}
	v := reflect.ValueOf(taken)
	for i := range v.NumField() {
		if !v.Field(i).Bool() {
			t.Errorf("no test takes %s away", v.Type().Field(i).Name)
		}
	}
}

// Two rules that are kept although nothing comes of their absence here: should
// that change, this test says so. Idle waits until all have adopted serve, where
// the gate waits for leases in any case; and rows outside of the target are
// deleted in idle only, where a failure in serve takes target for base.
func TestRulesThatNobodyMisses(t *testing.T) {
	notShort(t)
	for _, rules := range []Rules{{IdleBeforeAdopted: true}, {SweepEarly: true}} {
		s := newSetting(ring3(1, rules), rules, setOf(0, 1, 2), setOf(0), budget{moves: 1, cuts: 1, excludes: 1})
		s = after(s, "the leader plans placement 4", "settle until serve")
		s.seenOnly = true
		got := Explore[cluster, action](s.model(), Bounds{States: mostStates}, nil)
		if got.Broken != nil {
			t.Errorf("%+v:\n%s", rules, Print[cluster, action](s.model(), *got.Broken))
		}
		if !got.Complete {
			t.Errorf("%+v: %d states and no end", rules, got.States)
		}
		t.Logf("%d states", got.States)
	}
}
