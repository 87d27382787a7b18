// Benchmarks of changes.

package store

import (
	"testing"
	"time"

	"github.com/trefoildb/trefoil/triple"
)

// BenchmarkApplyAdd adds 100,000 triples as one change.
func BenchmarkApplyAdd(b *testing.B) {
	s := openDisk(b, Options{})
	const size = 100_000
	n := 0
	for b.Loop() {
		if r := apply(b, s, Steps{Add: numbers(n, n+size)}); r.Added != size {
			b.Fatalf("%+v", r)
		}
		n += size
	}
	b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "triples/s")
}

// BenchmarkApplyDelete deletes 100,000 of a million triples as one change.
func BenchmarkApplyDelete(b *testing.B) {
	s := openDisk(b, Options{})
	const size = 100_000
	loadTriples(b, s, "load", students(0, 10*size))
	n := 0
	for b.Loop() {
		b.StopTimer()
		if n == 10*size {
			b.Fatal("all is deleted")
		}
		b.StartTimer()
		apply(b, s, Steps{Delete: numbers(n, n+size)})
		n += size
	}
	b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "triples/s")
}

// BenchmarkApplySmall makes changes of one triple from one goroutine.
func BenchmarkApplySmall(b *testing.B) {
	s := openDisk(b, Options{})
	n := 0
	for b.Loop() {
		apply(b, s, Steps{Delete: numbers(n, n+1), Add: numbers(n+1, n+2)})
		n++
	}
}

// BenchmarkApplyClear clears a million triples once, in each of the ways.
func BenchmarkApplyClear(b *testing.B) {
	const size = 1_000_000
	large, small, rest := iri("large"), iri("small"), students(3*size, 3*size+1000)
	load := func(s *Store, plain, named int) {
		loadTriples(b, s, "default", students(0, plain))
		add(b, s, in(small, rest)...)
		if named > 0 {
			loadTriples(b, s, "named", in(large, students(0, named)))
		}
	}
	for _, test := range []struct {
		name        string
		plain, rows int
		changes     Steps
	}{
		{"all", size, 0, Steps{ClearAll: true}},
		{"default", size, 0, Steps{ClearDefault: true}},
		{"large graph", size / 10, size * 9 / 10, Steps{ClearGraphs: []triple.Term{large}}},
		{"tenth", size * 9 / 10, size / 10, Steps{ClearGraphs: []triple.Term{large}}},
		{"small graph", size, 0, Steps{ClearGraphs: []triple.Term{small}}},
	} {
		b.Run(test.name, func(b *testing.B) {
			s := openDisk(b, Options{})
			load(s, test.plain, test.rows)
			b.ResetTimer()
			began := time.Now()
			r := apply(b, s, test.changes)
			b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms")
			b.ReportMetric(float64(r.Deleted), "deleted")
			if b.N > 1 {
				b.Skip("run with -benchtime 1x")
			}
		})
	}
}
