// The workload of a counter that only grows.

package workload

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/trefoildb/trefoil/internal/testing/history"
)

// The anomalies of a counter.
const (
	// NonMonotonicRead is a read of less than an earlier one had.
	NonMonotonicRead = "non-monotonic-read"
	// StaleRead is a read without a change that was acknowledged before.
	StaleRead = "stale-read"
)

// Counter returns increments and reads of one counter.
func Counter() Workload {
	get := []history.Op{{Kind: history.Get}}
	return Workload{
		Name: "counter", check: checkCounter,
		setup: func(int) [][]history.Op { return [][]history.Op{{{Kind: history.Add, Value: 1}}} },
		final: func() [][]history.Op { return [][]history.Op{get} },
		next: func(r *rand.Rand) []history.Op {
			if r.IntN(2) == 0 {
				return get
			}
			return []history.Op{{Kind: history.Add, Value: 1}}
		},
	}
}

// counterState is what is known of the counter at a tick.
type counterState struct {
	acknowledged int
	began        int // increments that may have an effect
	greatest     int // of all reads that have ended
	byProcess    map[int]int
}

// checkCounter goes through the events of a history in the order of time.
func checkCounter(h []history.Txn) (anomalies []history.Anomaly) {
	type event struct {
		tick, txn int
		end       bool
	}
	var events []event
	for i, t := range h {
		events = append(events, event{t.Begin, i, false})
		if t.Outcome == history.Committed {
			events = append(events, event{t.End, i, true})
		}
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.tick, b.tick) })

	state := counterState{byProcess: map[int]int{}}
	before := map[int]counterState{} // by read that runs, the state at its begin
	for _, e := range events {
		t := h[e.txn]
		op := t.Ops[0]
		switch {
		case op.Kind == history.Add && e.end:
			state.acknowledged++
		case op.Kind == history.Add && t.Outcome != history.Aborted:
			state.began++
		case op.Kind == history.Get && op.Torn == "" && !e.end:
			// The process runs nothing else until the read ends, so its own entry does not change.
			before[e.txn] = state
		case op.Kind == history.Get && op.Torn == "":
			anomalies = append(anomalies, judgeRead(before[e.txn], state.began, t, e.txn)...)
			delete(before, e.txn)
			state.greatest = max(state.greatest, op.Value)
			state.byProcess[t.Process] = max(state.byProcess[t.Process], op.Value)
		}
	}
	return append(anomalies, judgeTotal(h, state)...)
}

// judgeRead compares a read with the state at its begin, and with the increments that began before its end.
func judgeRead(before counterState, began int, t history.Txn, number int) (anomalies []history.Anomaly) {
	value := t.Ops[0].Value
	found := func(name string, l history.Level, text string, limit int) {
		anomalies = append(anomalies, history.Anomaly{Name: name, Weakest: l, Txns: []int{number},
			Text: fmt.Sprintf("T%d read %d, and %s %d", number, value, text, limit)})
	}
	if last := before.byProcess[t.Process]; value < last {
		found(NonMonotonicRead, history.StrongSessionSnapshotIsolation, "the same process read before", last)
	}
	if value < before.greatest {
		found(NonMonotonicRead, history.StrongSnapshotIsolation, "somebody read before", before.greatest)
	}
	if value < before.acknowledged {
		found(StaleRead, history.StrongSnapshotIsolation, "the increments acknowledged before were", before.acknowledged)
	}
	if value > began {
		found(history.GarbageRead, history.Level{}, "the increments begun before were", began)
	}
	return anomalies
}

// judgeTotal compares the last read with all increments. No later one can repair it, so an
// increment that it lacks is lost.
func judgeTotal(h []history.Txn, s counterState) []history.Anomaly {
	number := len(h) - 1
	last := h[number]
	if op := last.Ops[0]; op.Kind != history.Get || op.Torn != "" || op.Value >= s.acknowledged {
		return nil
	}
	return []history.Anomaly{{Name: history.LostUpdate, Weakest: history.SnapshotIsolation, Txns: []int{number},
		Text: fmt.Sprintf("T%d read %d at the end, and %d increments were acknowledged", number, last.Ops[0].Value, s.acknowledged)}}
}
