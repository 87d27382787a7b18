// An executor that runs the transactions of several processes on the reference store, step by step.

package history_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/history"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/workload"
)

// running is the transaction that a process runs.
type running struct {
	number int // of the history
	ops    []history.Op
	txn    *workload.MemoryTxn // nil until it has a snapshot
	read   bool
}

// execute runs transactions in steps of random processes: begin, snapshot, reads, commit, end. A fifth of the
// outcomes is not recorded if lose is set, as after a broken connection.
func execute(r *rand.Rand, m *workload.Memory, processes, txns int, lose bool, next func() []history.Op) []history.Txn {
	var recorder history.Recorder
	active := make([]*running, processes)
	for begun, ended := 0, 0; ended < txns; {
		p := r.IntN(processes)
		switch t := active[p]; {
		case t == nil && begun < txns:
			ops := next()
			active[p] = &running{number: recorder.Begin(p, ops), ops: ops}
			begun++
		case t == nil:
		case t.txn == nil:
			t.txn = m.Begin(t.ops)
		case !t.read:
			t.ops, t.read = t.txn.Read(), true
		default:
			outcome := history.Aborted
			if t.txn.Commit() {
				outcome = history.Committed
			}
			if lose && r.IntN(5) == 0 {
				outcome = history.Unknown
			}
			recorder.End(t.number, outcome, t.ops)
			active[p] = nil
			ended++
		}
	}
	return recorder.History()
}

// transactions returns a source of list transactions. It takes new keys after some elements.
func transactions(r *rand.Rand, keys, elements int) func() []history.Op {
	last := 0
	return func() (ops []history.Op) {
		for range 1 + r.IntN(4) {
			o := history.Op{Kind: history.Read, Key: last/elements*keys + r.IntN(keys)}
			if r.IntN(2) == 0 {
				last++
				o.Kind, o.Value = history.Append, last
			}
			ops = append(ops, o)
		}
		return ops
	}
}

// A correct store has a clean history, at the level of the store. One with snapshots is not serializable.
func TestCorrectHistories(t *testing.T) {
	r := seed.Rand(t)
	for _, serial := range []bool{false, true} {
		level := history.StrongSnapshotIsolation
		if serial {
			level = history.StrictSerializable
		}
		skewed := 0
		for range seed.Rounds(30, 1000) {
			m := workload.NewMemory(r.Uint64(), serial, workload.Bugs{})
			h := execute(r, m, 1+r.IntN(12), 300, r.IntN(2) == 0, transactions(r, 1+r.IntN(6), 60))
			report, err := history.Check(h)
			require.NoError(t, err)
			if v := report.Violations(level); len(v) > 0 {
				t.Fatalf("a correct store breaks %s:\n%s", level, history.Describe(h, v))
			}
			skewed += len(report.Violations(history.Serializable))
		}
		if (skewed > 0) == serial {
			t.Errorf("%s: %d cases of write skew", level, skewed)
		}
	}
}

// The check is linear: a history as long as a night of tests takes seconds. Quadratic steps would take hours.
func TestLongHistory(t *testing.T) {
	seed.Slow(t)
	r := seed.Rand(t)
	txns := race.Fewer(100_000)
	for _, c := range []struct {
		name string
		bugs workload.Bugs
	}{{"correct", workload.Bugs{}}, {"stale and without conflicts", workload.Bugs{StaleSnapshots: true, NoConflicts: true}}} {
		h := execute(r, workload.NewMemory(r.Uint64(), false, c.bugs), 20, txns, true, transactions(r, 5, 80))
		start := time.Now()
		report, err := history.Check(h)
		require.NoError(t, err)
		t.Logf("%s: %d transactions checked in %s: %v", c.name, len(h), time.Since(start).Round(time.Millisecond), report.Names())
		if broken := len(report.Violations(history.StrongSnapshotIsolation)) > 0; broken != (c.bugs != workload.Bugs{}) {
			t.Errorf("%s: broken: %v", c.name, broken)
		}
	}
}
