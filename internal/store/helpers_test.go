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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func snapshot(t testing.TB, s *Store) *Snapshot {
	t.Helper()
	sn, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sn.Close() })
	return sn
}

// all returns the triples that match p.
func all(t testing.TB, sn *Snapshot, p triple.Pattern, o ReadOptions) []triple.Triple {
	t.Helper()
	var triples []triple.Triple
	for row, err := range sn.Match(ctx, p, o) {
		if err != nil {
			t.Fatal(err)
		}
		tr, err := row.Triple()
		if err != nil {
			t.Fatal(err)
		}
		triples = append(triples, tr)
	}
	return triples
}

// checked fails the test if the store is damaged, and returns the report.
func checked(t testing.TB, s *Store) api.CheckReport {
	t.Helper()
	report, err := s.Check(ctx)
	if err != nil {
		t.Fatal(err)
	}
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

// fataler is a test, of testing or of rapid.
type fataler interface{ Fatal(...any) }

// loadTriples loads triples through the sink, like a bulk load.
func loadTriples(t fataler, s *Store, id string, triples []triple.Triple) {
	loadNew(t, s, id, triples, int64(len(triples)))
}

// loadNew is loadTriples with a number of new triples.
func loadNew(t fataler, s *Store, id string, triples []triple.Triple, added int64) {
	sink := s.Sink()
	start, err := sink.Begin(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if start.Existing != nil {
		if err := start.Existing.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Publish(ctx, rdfload.Record{ID: id, Read: int64(len(triples)), New: added}, writeTables(t, s, id, triples, start.Stamp)); err != nil {
		t.Fatal(err)
	}
}

// writeTables writes one table for each order with rows.
func writeTables(t fataler, s *Store, id string, triples []triple.Triple, stamp triple.Stamp) []string {
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
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if err := table.Set(row.key, row.value); err != nil {
				t.Fatal(err)
			}
		}
		if err := table.Close(); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, path)
	}
	return tables
}

type tableRow struct{ key, value []byte }
