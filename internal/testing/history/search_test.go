// The verdicts of small histories, compared with a search of all orders of their events.

package history_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/history"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/workload"
)

// search looks for an order of snapshots and commits that explains a history. It knows nothing of
// dependencies.
type search struct {
	txns  []history.Txn // committed
	level history.Level
	lists map[int][]int
	// at is 0 before a transaction's snapshot, 1 before its commit, and 2 after it.
	at []int
	// lengths are those of the lists that the transaction appends to, at its snapshot.
	lengths []map[int]int
}

func explainable(h []history.Txn, l history.Level) bool {
	s := &search{level: l, lists: map[int][]int{}}
	for _, t := range h {
		if t.Outcome == history.Committed {
			s.txns = append(s.txns, t)
		}
	}
	s.at, s.lengths = make([]int, len(s.txns)), make([]map[int]int, len(s.txns))
	return s.extend()
}

// extend tries each event that may come next.
func (s *search) extend() bool {
	done := true
	for i := range s.txns {
		switch {
		case s.at[i] == 0:
			done = false
			if !s.mayBegin(i) || !s.snapshot(i) {
				continue
			}
			s.at[i] = 1
			// If transactions are serial, the commit follows at once. If one writes nothing, no later commit is better.
			next := s.extend
			if s.level.Isolation == history.Serial || len(s.lengths[i]) == 0 {
				next = func() bool { return s.commit(i) }
			}
			if next() {
				return true
			}
			s.at[i] = 0
		case s.at[i] == 1:
			done = false
			if s.commit(i) {
				return true
			}
		}
	}
	return done
}

// mayBegin reports whether all that must be visible to a transaction is committed.
func (s *search) mayBegin(i int) bool {
	for j, other := range s.txns {
		before := other.End < s.txns[i].Begin
		same := other.Process == s.txns[i].Process
		if s.at[j] < 2 && before && (s.level.Order == history.RealTimeOrder || s.level.Order == history.ProcessOrder && same) {
			return false
		}
	}
	return true
}

// snapshot reports whether a transaction's reads are right if it begins now.
func (s *search) snapshot(i int) bool {
	s.lengths[i] = map[int]int{}
	written := map[int][]int{}
	for _, o := range s.txns[i].Ops {
		if o.Kind == history.Append {
			written[o.Key] = append(written[o.Key], o.Value)
			s.lengths[i][o.Key] = len(s.lists[o.Key])
		} else if !slices.Equal(o.List, slices.Concat(s.lists[o.Key], written[o.Key])) {
			return false
		}
	}
	return true
}

// commit commits a transaction if no list that it appends to has changed, and tries what may follow.
func (s *search) commit(i int) bool {
	for key, length := range s.lengths[i] {
		if len(s.lists[key]) != length {
			return false
		}
	}
	before := maps.Clone(s.lists)
	for _, o := range s.txns[i].Ops {
		if o.Kind == history.Append {
			s.lists[o.Key] = append(slices.Clip(s.lists[o.Key]), o.Value)
		}
	}
	s.at[i] = 2
	if s.extend() {
		return true
	}
	s.at[i], s.lists = 1, before
	return false
}

// randomBugs returns a store with some bugs, or with none.
func randomBugs(r *rand.Rand) workload.Bugs {
	coin := func() bool { return r.IntN(3) == 0 }
	return workload.Bugs{NoConflicts: coin(), StaleSnapshots: coin(), LostCommits: coin(), DirtyAborts: r.IntN(6) == 0, Forks: coin()}
}

// What the check finds is never explainable. If the read of all at the end has all versions, so that their order
// is known, the check also finds whatever is not explainable.
func TestAgainstSearch(t *testing.T) {
	r := seed.Rand(t)
	levels := []history.Level{history.SnapshotIsolation, history.StrongSessionSnapshotIsolation, history.StrongSnapshotIsolation,
		history.Serializable, {Isolation: history.Serial, Order: history.ProcessOrder}, history.StrictSerializable}
	verdicts := map[history.Level]map[bool]int{}
	for _, l := range levels {
		verdicts[l] = map[bool]int{}
	}
	for range seed.Rounds(1_000, 200_000) {
		const keys = 2
		m := workload.NewMemory(r.Uint64(), false, randomBugs(r))
		h := execute(r, m, 2+r.IntN(4), 3+r.IntN(3), false, transactions(r, keys, 1000))
		end := h[len(h)-1].Begin + 1000
		final := history.Txn{Process: -1, Outcome: history.Committed, Begin: end, End: end + 1}
		for key := range keys {
			final.Ops = append(final.Ops, history.Op{Kind: history.Read, Key: key})
		}
		final.Ops = m.Begin(final.Ops).Read()
		h = append(h, final)
		report, err := history.Check(h)
		require.NoError(t, err)
		for _, l := range levels {
			violations := report.Violations(l)
			want := explainable(h, l)
			if len(violations) == 0 && !want && !complete(h) {
				continue
			}
			verdicts[l][want]++
			if want != (len(violations) == 0) {
				t.Fatalf("%s: the search finds an order: %v; the check finds:\n%s\nof all:\n%s", l, want,
					history.Describe(h, violations), history.Describe(h, []history.Anomaly{{Txns: numbers(h)}}))
			}
		}
	}
	// A level without both verdicts would not be tested.
	for l, n := range verdicts {
		t.Logf("%s: %d histories hold, %d do not", l, n[true], n[false])
		if n[true] == 0 || n[false] == 0 {
			t.Errorf("%s has one verdict only", l)
		}
	}
}

// complete reports whether the last transaction read all that was appended by committed ones.
func complete(h []history.Txn) bool {
	final := h[len(h)-1]
	for _, t := range h {
		for _, o := range t.Ops {
			if t.Outcome == history.Committed && o.Kind == history.Append && !slices.Contains(final.Ops[o.Key].List, o.Value) {
				return false
			}
		}
	}
	return true
}

func numbers(h []history.Txn) (all []int) {
	for i := range h {
		all = append(all, i)
	}
	return all
}
