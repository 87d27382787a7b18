// Helpers of the tests of this package.

package store

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) {
	// Pebble leaves this goroutine behind if a database cannot be opened.
	goleak.VerifyTestMain(suite{m}, goleak.IgnoreTopFunction("github.com/cockroachdb/pebble/v2.(*ConcurrencyLimitScheduler).periodicGranter"))
}

// suite runs all tests, then frees the shared data of benchmarks.
type suite struct{ *testing.M }

func (s suite) Run() int {
	code := s.M.Run()
	if benchStore.store != nil {
		benchStore.store.Close()
		os.RemoveAll(benchStore.dir)
	}
	return code
}

var ctx = context.Background()

// openMem opens a store on a file system in memory; it is closed with the test.
func openMem(t testing.TB, o Options) *Store {
	t.Helper()
	if o.FS == nil {
		o.FS = vfs.NewMem()
	}
	s, err := Open("data", o)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func add(t testing.TB, s *Store, triples ...triple.Triple) Result {
	t.Helper()
	r, err := Add(ctx, s, triples)
	require.NoError(t, err)
	return r
}

func snapshot(t testing.TB, s *Store) *Snapshot {
	t.Helper()
	sn, err := s.Snapshot()
	require.NoError(t, err)
	t.Cleanup(func() { sn.Close() })
	return sn
}

// all returns the triples that match p.
func all(t testing.TB, sn *Snapshot, p triple.Pattern, o ReadOptions) []triple.Triple {
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
	in       = sample.WithGraph
)

// loadTriples loads triples through the sink, like a bulk load.
func loadTriples(t require.T, s *Store, id string, triples []triple.Triple) {
	loadNew(t, s, id, triples, int64(len(triples)))
}

// loadNew is loadTriples with a number of new triples.
func loadNew(t require.T, s *Store, id string, triples []triple.Triple, added int64) {
	sink := s.Sink()
	start, err := sink.Begin(ctx, id)
	require.NoError(t, err)
	if start.Existing != nil {
		require.NoError(t, start.Existing.Close())
	}
	require.NoError(t, sink.Publish(ctx, rdfload.Record{ID: id, Read: int64(len(triples)), New: added}, writeTables(t, s, id, triples, start.Stamp)))
}

// writeTables writes one table for each order with rows.
func writeTables(t require.T, s *Store, id string, triples []triple.Triple, stamp triple.Stamp) []string {
	sink := s.Sink()
	var tables []string
	for _, o := range triple.Orders {
		var rows []tableRow
		for _, tr := range triples {
			if key, _ := triple.AppendKey(nil, o, tr); len(key) > 0 {
				rows = append(rows, tableRow{key, triple.AppendValue(nil, stamp, tr)})
			}
		}
		if len(rows) == 0 {
			continue
		}
		slices.SortFunc(rows, func(a, b tableRow) int { return bytes.Compare(a.key, b.key) })
		rows = slices.CompactFunc(rows, func(a, b tableRow) bool { return bytes.Equal(a.key, b.key) })
		path := s.options.FS.PathJoin(sink.Dir(), fmt.Sprintf("%s-%s.sst", id, o))
		table, err := sink.CreateTable(path)
		require.NoError(t, err)
		for _, row := range rows {
			require.NoError(t, table.Set(row.key, row.value))
		}
		require.NoError(t, table.Close())
		tables = append(tables, path)
	}
	return tables
}

type tableRow struct{ key, value []byte }
