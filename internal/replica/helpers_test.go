// Helpers of the tests of this package.

package replica

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) {
	// Pebble leaves this goroutine behind if a database cannot be opened.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/cockroachdb/pebble/v2.(*ConcurrencyLimitScheduler).periodicGranter"))
}

var ctx = context.Background()

// openMem opens a store on a file system in memory; it is closed with the test.
func openMem(t testing.TB, o store.Options) *Store { return openJournal(t, o, Options{}) }

// openJournal is openMem with a journal.
func openJournal(t testing.TB, o store.Options, journal Options) *Store {
	t.Helper()
	if o.FS == nil {
		o.FS = vfs.NewMem()
	}
	s, err := Open("data", o, journal)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func add(t testing.TB, s *Store, triples ...triple.Triple) store.Result {
	t.Helper()
	r, err := store.Add(ctx, s, triples)
	require.NoError(t, err)
	return r
}

// checked fails the test if the store is damaged, and returns the report.
func checked(t testing.TB, s *Store) api.CheckReport {
	t.Helper()
	report, err := s.Check(ctx)
	require.NoError(t, err)
	for _, p := range report.Problems {
		t.Errorf("check: %+v", p)
	}
	return report
}

var random = seed.Rand

// The triples of the tests.
var (
	iri      = sample.IRI
	student  = sample.Student
	students = sample.Students
	small    = sample.Small
	draws    = sample.Draws
	longs    = sample.Long
)

func snapshot(t testing.TB, s *Store) *Snapshot {
	t.Helper()
	sn, err := s.Snapshot()
	require.NoError(t, err)
	t.Cleanup(func() { sn.Close() })
	return sn
}

// all returns the triples that match p.
func all(t testing.TB, sn *Snapshot, p triple.Pattern, o store.ReadOptions) []triple.Triple {
	t.Helper()
	var triples []triple.Triple
	for row, err := range sn.Match(ctx, p, o) {
		require.NoError(t, err)
		tr, err := row.Triple()
		require.NoError(t, err)
		triples = append(triples, tr)
	}
	return triples
}

func annotate(t testing.TB, s *Store, tr triple.Triple, id string) {
	t.Helper()
	require.NoError(t, store.Annotate(ctx, s, tr, id, []byte("note")))
}

func openDisk(t testing.TB, o store.Options) *Store {
	t.Helper()
	o.MinFreeBytes = -1
	s, err := Open(filepath.Join(t.TempDir(), "data"), o, Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// minMemTableBytes is the minimum size of a memtable, because tests need frequent flushes.
const minMemTableBytes = 64 << 10

func openFor(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open("data", store.Options{FS: fs, MemTableBytes: minMemTableBytes}, Options{})
	require.NoError(t, err)
	return s
}

// commits returns how many groups the store has committed.
func commits(t testing.TB, s *Store) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(t, s.RegisterMetrics(registry))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "trefoil_store_commits_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatal("commits are not counted")
	return 0
}
