// Tests of a snapshot as a source of queries.

package store

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/sparql/source/sourcetest"
	"github.com/trefoildb/trefoil/triple"
)

// A snapshot is a source: with rows in memory and in tables, beside annotations and under later
// writes.
func TestSource(t *testing.T) {
	for _, kind := range []string{"in memory", "in tables", "in both"} {
		if race.Enabled && kind != "in both" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			sourcetest.Check(t, uint64(time.Now().UnixNano()), testing.Short(), func(triples []triple.Triple) source.Source {
				return sourceOf(t, kind, triples).Source()
			})
		})
	}
}

// sourceOf returns a snapshot of triples; other changes come after it.
func sourceOf(t *testing.T, kind string, triples []triple.Triple) *Snapshot {
	s := openMem(t, Options{})
	more := in(iri("more"), students(0, 50))
	add(t, s, more...)
	add(t, s, triples[:len(triples)/2]...)
	if kind == "in both" {
		require.NoError(t, s.db.Flush())
	}
	add(t, s, triples[len(triples)/2:]...)
	for i := 0; i < len(triples); i += 9 {
		annotate(t, s, triples[i], "app")
	}
	apply(t, s, Steps{Delete: slices.Values(more)})
	if kind == "in tables" {
		require.NoError(t, s.db.Flush())
	}
	sn := snapshot(t, s)
	apply(t, s, Steps{ClearAll: true, Add: slices.Values(students(0, 30))})
	return sn
}

// A source is safe for concurrent use.
func TestSourceAtTheSameTime(t *testing.T) {
	s := openMem(t, Options{})
	add(t, s, students(0, 2000)...)
	src := snapshot(t, s).Source()
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			r := triple.OrderRange(triple.Orders[i%3])
			n, err := src.Count(ctx, r)
			if err != nil || n != 2000 {
				t.Errorf("%d rows, %v", n, err)
			}
			n = 0
			if err := src.Lookup(ctx, []triple.Range{r}, func(int, []byte, []byte) error { n++; return nil }); err != nil || n != 2000 {
				t.Errorf("%d rows, %v", n, err)
			}
		})
	}
	wait.Wait()
}

// The source of a closed snapshot returns errors, not answers.
func TestSourceOfClosedSnapshot(t *testing.T) {
	s := openMem(t, Options{})
	add(t, s, students(0, 10)...)
	sn := snapshot(t, s)
	src := sn.Source()
	sn.Close()
	r := triple.OrderRange(triple.SPO)
	if _, err := src.Scan(ctx, r, false); err == nil {
		t.Error("scan")
	}
	if err := src.Lookup(ctx, []triple.Range{r}, func(int, []byte, []byte) error { return nil }); err == nil {
		t.Error("look up")
	}
	if _, err := src.Count(ctx, r); err == nil {
		t.Error("count")
	}
	if _, _, err := src.Estimate(ctx, r); err == nil {
		t.Error("estimate")
	}
}
