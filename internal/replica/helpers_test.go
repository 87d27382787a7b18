// Helpers of the tests of this package.

package replica

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/check"
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

func add(t testing.TB, s *Store, triples ...triple.Triple) store.Result {
	t.Helper()
	r, err := store.Add(ctx, s, triples)
	if err != nil {
		t.Fatal(err)
	}
	return r
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
func all(t testing.TB, sn *Snapshot, p triple.Pattern, o store.ReadOptions) []triple.Triple {
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

// longs returns triples with terms too long for keys.
func longs(n int) []triple.Triple {
	var triples []triple.Triple
	for i := range n {
		triples = append(triples, triple.Triple{
			Subject:   iri("s/%s/%d", strings.Repeat("subject", 300), i),
			Predicate: iri("p"),
			Object:    triple.NewString(strings.Repeat("text ", 400) + fmt.Sprint(i)),
			Graph:     iri("graph/%s", strings.Repeat("g", 2000)),
		})
	}
	return triples
}

func annotate(t testing.TB, s *Store, tr triple.Triple, id string) {
	t.Helper()
	if err := store.Annotate(ctx, s, tr, id, []byte("note")); err != nil {
		t.Fatal(err)
	}
}

func draws(rng *rand.Rand, atMost int) []triple.Triple {
	var triples []triple.Triple
	for range rng.IntN(atMost + 1) {
		triples = append(triples, small(rng))
	}
	return triples
}

func openDisk(t testing.TB, o store.Options) *Store {
	t.Helper()
	o.MinFreeBytes = -1
	s, err := Open(filepath.Join(t.TempDir(), "data"), o, Options{})
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

// minMemTableBytes is the minimum size of a memtable, because tests need frequent flushes.
const minMemTableBytes = 64 << 10

func openFor(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open("data", store.Options{FS: fs, MemTableBytes: minMemTableBytes}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var errDisk = errors.New("the disk is on fire")

// failAt returns a file system that fails at its n-th write operation, and if forever is set, at
// all later ones. The counter returns how many there were.
func failAt(fs vfs.FS, n int, forever bool) (vfs.FS, *atomic.Int64) {
	count := new(atomic.Int64)
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		at := count.Add(1) - 1
		if at == int64(n) || forever && at > int64(n) {
			return fmt.Errorf("%w: %s %s", errDisk, op.Path, time.Now().Format("05.000"))
		}
		return nil
	})), count
}

// commits returns how many groups the store has committed.
func commits(t testing.TB, s *Store) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	if err := s.RegisterMetrics(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "trefoil_store_commits_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatal("commits are not counted")
	return 0
}
