// Random changes beside a model.

package store

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// holds fails the test if the store, its counters or any of its orders differ from the model.
func (m model) holds(t testing.TB, s *Store) {
	t.Helper()
	report := checked(t, s)
	st := s.Status()
	if n, notes := int64(len(m)), int64(m.notes()); st.Triples != n || report.Triples != n || st.Annotations != notes || report.Annotations != notes {
		t.Fatalf("%d triples, %d annotations; checked %d, %d; want %d, %d",
			st.Triples, st.Annotations, report.Triples, report.Annotations, n, notes)
	}
	sn, err := s.Snapshot()
	require.NoError(t, err)
	defer sn.Close()
	for row, err := range sn.Match(ctx, triple.Pattern{}, ReadOptions{}) {
		require.NoError(t, err)
		tr, err := row.Triple()
		require.NoError(t, err)
		notes, ok := m[tr]
		if !ok {
			t.Fatalf("%s is there", tr)
		}
		for id, data := range notes {
			if got, err := sn.Annotation(ctx, tr, id); err != nil || string(got.Bytes()) != data {
				t.Fatalf("annotation %q of %s: %q, %v, want %q", id, tr, got.Bytes(), err, data)
			}
		}
	}
}

// apply applies a change to a model.
func (m model) apply(c Steps) Result {
	var r Result
	for tr := range m {
		if c.ClearAll || c.ClearDefault && tr.Graph.IsZero() || !tr.Graph.IsZero() && slices.Contains(c.ClearGraphs, tr.Graph) {
			delete(m, tr)
			r.Deleted++
		}
	}
	if c.Delete != nil {
		for tr := range c.Delete {
			if _, ok := m[tr]; ok {
				delete(m, tr)
				r.Deleted++
			}
		}
	}
	if c.Add != nil {
		for tr := range c.Add {
			if _, ok := m[tr]; !ok {
				m[tr] = map[string]string{}
				r.Added++
			}
		}
	}
	return r
}

// Changes of random kinds beside a model, with all other writes between them.
func TestApplyModel(t *testing.T) {
	race.Skip(t)
	rng := random(t)
	for range race.Fewer(10) {
		fs := vfs.NewMem()
		open := func() *Store {
			s, err := Open("data", Options{FS: fs, MaxSegmentBytes: 8 << 10, MemTableBytes: minMemTableBytes})
			require.NoError(t, err)
			return s
		}
		s, m := open(), model{}
		for step := range 40 {
			switch n := rng.IntN(10); {
			case n < 5:
				c := randomChanges(rng)
				want := m.apply(c)
				if got, err := Apply(ctx, s, c); err != nil || got != want {
					t.Fatalf("apply: %+v, %v, want %+v", got, err, want)
				}
			case n < 6:
				triples := draws(rng, 30)
				want := m.apply(Steps{Add: slices.Values(triples)})
				if got, err := Add(ctx, s, triples); err != nil || got.Added != want.Added {
					t.Fatalf("add: %+v, %v, want %+v", got, err, want)
				}
			case n < 7:
				triples := draws(rng, 10)
				want := m.apply(Steps{Delete: slices.Values(triples)})
				if got, err := Delete(ctx, s, triples); err != nil || got.Deleted != want.Deleted {
					t.Fatalf("delete: %+v, %v, want %+v", got, err, want)
				}
			case n < 9:
				for tr := range m { // one of them, at random
					annotate(t, s, tr, "app")
					m[tr]["app"] = "note"
					break
				}
			default:
				require.NoError(t, s.Close())
				s = open()
			}
			if step%8 == 7 {
				m.holds(t, s)
			}
		}
		m.holds(t, s)
		require.NoError(t, s.Close())
	}
}

// randomChanges returns changes of triples of small.
func randomChanges(rng *rand.Rand) Steps {
	var c Steps
	switch rng.IntN(12) {
	case 0:
		c.ClearAll = true
	case 1, 2:
		c.ClearDefault = true
	}
	for i := range 3 {
		if rng.IntN(4) == 0 {
			c.ClearGraphs = append(c.ClearGraphs, iri("g%d", i))
		}
	}
	if rng.IntN(3) > 0 {
		c.Delete = slices.Values(draws(rng, 20))
	}
	if rng.IntN(4) > 0 {
		c.Add = slices.Values(draws(rng, 60))
	}
	return c
}
