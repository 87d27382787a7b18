// The 28 named interleavings.

package model

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

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
		without: func(r *Rules) { r.ReadInFlight = true },
		breaks:  "invariant 9:",
		seen:    "invariant 9:",
	},
	{
		name:    "POS has v7, OSP not, the SPO owner dies",
		scene:   loses1Empty,
		without: func(r *Rules) { r.DropInFlight = true },
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

func TestInterleavings(t *testing.T) {
	seed.Slow(t)
	notShort(t)
	for _, test := range interleavings {
		t.Run(test.name, test.run)
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
