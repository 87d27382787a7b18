// The workloads on the reference store: clean without bugs, and each bug is found.

package workload

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/history"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

var all = []func() Workload{Bank, ListAppend, WriteSkew, LongFork, Counter}

// runMemory runs a workload on a new reference store.
func runMemory(t *testing.T, w Workload, serial bool, bugs Bugs, txns int) Result {
	t.Helper()
	number := seed.Number(t)
	result, err := Run(t.Context(), []Store{NewMemory(number, serial, bugs)}, w, Options{Processes: 8, Txns: txns, Seed: number})
	require.NoError(t, err)
	return result
}

// A store with a level breaks nothing that the level includes.
func TestCorrectStores(t *testing.T) {
	for _, serial := range []bool{false, true} {
		level := history.StrongSnapshotIsolation
		if serial {
			level = history.StrictSerializable
		}
		for _, make := range all {
			w := make()
			t.Run(fmt.Sprint(level, " ", w.Name), func(t *testing.T) {
				result := runMemory(t, w, serial, Bugs{}, 3000)
				if v := result.Report.Violations(level); len(v) > 0 {
					t.Errorf("it breaks %s:\n%s", level, history.Describe(result.History, v))
				}
				if result.Report.Committed < 500 {
					t.Errorf("only %d transactions are committed", result.Report.Committed)
				}
			})
		}
	}
}

// Each bug is found by a workload that is made for it, by one of these anomalies, which breaks the level.
var planted = []struct {
	bug      string
	bugs     Bugs
	workload func() Workload
	breaks   history.Level
	names    []string
}{
	{"half of a commit is visible", Bugs{HalfVisible: true}, Bank, history.SnapshotIsolation, []string{WrongSum}},
	{"half of a commit is visible", Bugs{HalfVisible: true}, ListAppend, history.SnapshotIsolation, []string{history.GSingle}},
	{"no check of conflicts", Bugs{NoConflicts: true}, Bank, history.SnapshotIsolation, []string{WrongSum}},
	{"no check of conflicts", Bugs{NoConflicts: true}, ListAppend, history.SnapshotIsolation, []string{history.LostUpdate, history.GSingle}},
	{"no check of conflicts", Bugs{NoConflicts: true}, Counter, history.SnapshotIsolation, []string{history.LostUpdate}},
	{"stale snapshots", Bugs{StaleSnapshots: true}, Counter, history.StrongSnapshotIsolation, []string{StaleRead}},
	{"stale snapshots", Bugs{StaleSnapshots: true}, Counter, history.StrongSessionSnapshotIsolation, []string{NonMonotonicRead}},
	{"stale snapshots", Bugs{StaleSnapshots: true}, ListAppend, history.StrongSnapshotIsolation, []string{"G-single-realtime"}},
	{"lost commits", Bugs{LostCommits: true}, Counter, history.SnapshotIsolation, []string{history.LostUpdate}},
	{"lost commits", Bugs{LostCommits: true}, ListAppend, history.StrongSnapshotIsolation, []string{"G-single-realtime"}},
	{"writes of aborted transactions", Bugs{DirtyAborts: true}, ListAppend, history.Level{Isolation: history.ReadCommitted}, []string{history.G1a}},
	{"forked snapshots", Bugs{Forks: true}, LongFork, history.SnapshotIsolation, []string{history.GNonadjacent}},
	{"snapshots where serializability is promised", Bugs{}, WriteSkew, history.Serializable, []string{history.G2Item}},
}

func TestPlanted(t *testing.T) {
	for _, c := range planted {
		w := c.workload()
		t.Run(c.bug+" "+w.Name+" "+c.breaks.String(), func(t *testing.T) {
			// The search reports one cycle of a component, so a history may show another anomaly of the same bug.
			found := map[string]bool{}
			for range 4 {
				report := runMemory(t, w, false, c.bugs, 4000).Report
				for _, name := range (history.Report{Anomalies: report.Violations(c.breaks)}).Names() {
					found[name] = true
				}
			}
			for _, name := range c.names {
				if !found[name] {
					t.Errorf("no %s among %v", name, slices.Sorted(maps.Keys(found)))
				}
			}
		})
	}
}

// Stale snapshots break no plain snapshot isolation: a workload must not blame more than was broken.
func TestStaleSnapshotsAreSnapshots(t *testing.T) {
	for _, make := range []func() Workload{Bank, ListAppend, LongFork} {
		w := make()
		result := runMemory(t, w, false, Bugs{StaleSnapshots: true}, 3000)
		if v := result.Report.Violations(history.SnapshotIsolation); len(v) > 0 {
			t.Errorf("%s:\n%s", w.Name, history.Describe(result.History, v))
		}
	}
}
