// Helpers of the tests of this package.

package store

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/store/check"
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

func iri(format string, args ...any) triple.Term {
	return triple.NewIRI("http://example.org/" + fmt.Sprintf(format, args...))
}

// student returns the i-th of a sequence of triples like a university's.
func student(i int) triple.Triple {
	subject := iri("university%d/department%d/student%d", i/5000, i/500%10, i/5)
	switch i % 5 {
	case 0:
		return triple.Triple{Subject: subject, Predicate: iri("type"), Object: iri("Student")}
	case 1:
		return triple.Triple{Subject: subject, Predicate: iri("name"), Object: triple.NewString(fmt.Sprintf("Student %d", i/5))}
	case 2:
		return triple.Triple{Subject: subject, Predicate: iri("age"), Object: triple.NewTyped(fmt.Sprint(18+i%60), triple.XSDInteger)}
	case 3:
		return triple.Triple{Subject: subject, Predicate: iri("takes"), Object: iri("university%d/course%d", i/5000, i*7919%50)}
	}
	return triple.Triple{Subject: subject, Predicate: iri("advisor"), Object: iri("university%d/professor%d", i/5000, i*104729%20)}
}

func students(from, to int) []triple.Triple {
	var triples []triple.Triple
	for i := from; i < to; i++ {
		triples = append(triples, student(i))
	}
	return triples
}

// small returns one of a few triples, because draws must meet the same ones again. Some are in
// named graphs, some have long terms.
func small(rng *rand.Rand) triple.Triple {
	t := triple.Triple{
		Subject:   iri("s%d", rng.IntN(5)),
		Predicate: iri("p%d", rng.IntN(3)),
		Object:    triple.NewTyped(fmt.Sprint(rng.IntN(6)), triple.XSDInteger),
	}
	switch rng.IntN(6) {
	case 0:
		t.Graph = iri("g%d", rng.IntN(2))
	case 1:
		t.Object = triple.NewString(fmt.Sprintf("%01200d", rng.IntN(3)))
	case 2:
		t.Object = iri("s%d", rng.IntN(5))
	}
	return t
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
func checked(t testing.TB, s *Store) check.Report {
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

// eventually waits until a goroutine of the store makes a condition true.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

var random = seed.Rand

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
