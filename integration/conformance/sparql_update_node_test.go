// The W3C suites of SPARQL updates, on a store.

package conformance

import (
	"context"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/update"
	"github.com/trefoildb/trefoil/triple"
)

// stored is a dataset in a store on disk.
type stored struct{ store *store.Store }

func (s stored) source(t *testing.T) sparql.Source {
	t.Helper()
	snapshot, err := s.store.Snapshot()
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := snapshot.Close(); err != nil {
			t.Error(err)
		}
	})
	return snapshot.Source()
}

func (s stored) apply(t *testing.T, c *update.Changes) {
	t.Helper()
	s.change(t, store.Steps{
		ClearAll: c.ClearAll, ClearDefault: c.ClearDefault, ClearGraphs: c.ClearGraphs,
		Delete: c.Deletes(), Add: c.Adds(),
	})
}

func (s stored) change(t *testing.T, c store.Steps) {
	t.Helper()
	if _, err := store.Apply(context.Background(), s.store, c); err != nil {
		t.Fatal(err)
	}
}

func (s stored) triples(t *testing.T) []triple.Triple {
	t.Helper()
	rows, err := s.source(t).Scan(context.Background(), triple.OrderRange(triple.SPO), false)
	require.NoError(t, err)
	defer rows.Close()
	var all []triple.Triple
	for rows.Next() {
		_, tr, err := triple.DecodeKey(rows.Row())
		require.NoError(t, err)
		all = append(all, tr)
	}
	require.NoError(t, rows.Err())
	return all
}

// TestSPARQLUpdateStored: the update tests on a store, one after the other.
func TestSPARQLUpdateStored(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{CacheBytes: 8 << 20, MemTableBytes: 8 << 20, MinFreeBytes: -1})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	runUpdateTests(t, func(t *testing.T, triples []triple.Triple) dataset {
		s := stored{db}
		s.change(t, store.Steps{ClearAll: true, Add: slices.Values(triples)})
		return s
	})
}
