// Benchmarks of writes and reads.

package store

import (
	"os"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/triple"
)

// benchTriples is the number of triples of the read benchmarks.
const benchTriples = 500_000

func openDisk(t testing.TB, o Options) *Store {
	t.Helper()
	o.MinFreeBytes = -1
	s, err := Open(filepath.Join(t.TempDir(), "data"), o)
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

// BenchmarkAddBatches adds batches of 1,000 triples, each durable before the next.
func BenchmarkAddBatches(b *testing.B) {
	s := openDisk(b, Options{})
	const batch = 1000
	n := 0
	for b.Loop() {
		b.StopTimer()
		triples := students(n, n+batch)
		n += batch
		b.StartTimer()
		add(b, s, triples...)
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "triples/s")
}

// BenchmarkAddBatchesParallel does the same from four goroutines.
func BenchmarkAddBatchesParallel(b *testing.B) {
	s := openDisk(b, Options{})
	const batch = 1000
	var next atomic.Int64
	b.SetParallelism(2)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := int(next.Add(batch))
			add(b, s, students(n-batch, n)...)
		}
	})
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "triples/s")
}

// BenchmarkAddSingles adds one triple at a time from each of 64 goroutines.
func BenchmarkAddSingles(b *testing.B) {
	s := openDisk(b, Options{})
	var next atomic.Int64
	var wait sync.WaitGroup
	b.ResetTimer()
	for range 64 {
		wait.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if _, err := Add(ctx, s, []triple.Triple{student(int(n))}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "triples/s")
}

var benchStore struct {
	once  sync.Once
	store *Store
	dir   string
}

// loaded returns a store of benchTriples, made by a bulk load. All read benchmarks share it.
func loaded(b *testing.B) *Store {
	benchStore.once.Do(func() {
		dir, err := os.MkdirTemp("", "trefoil-bench")
		if err != nil {
			b.Fatal(err)
		}
		benchStore.dir = dir
		s, err := Open(filepath.Join(dir, "data"), Options{})
		if err != nil {
			b.Fatal(err)
		}
		loadTriples(b, s, "bench", students(0, benchTriples))
		benchStore.store = s
	})
	return benchStore.store
}

// BenchmarkFeed reads the changes of many batches from the feed, as one consumer.
func BenchmarkFeed(b *testing.B) {
	const batch, batches = 1000, 300
	s := openDisk(b, Options{})
	for n := range batches {
		add(b, s, students(n*batch, (n+1)*batch)...)
	}
	changes := 0
	for b.Loop() {
		changes = 0
		for got, err := range s.Feed().Changes(ctx, feed.Request{}) {
			if err != nil {
				b.Fatal(err)
			}
			changes += len(got.Changes)
		}
	}
	kept, _ := s.ChangeFeed().Size()
	b.ReportMetric(float64(b.N*changes)/b.Elapsed().Seconds(), "changes/s")
	b.ReportMetric(float64(kept)/float64(changes), "B/change")
}

// BenchmarkScan reads all of SPO.
func BenchmarkScan(b *testing.B) {
	sn := snapshot(b, loaded(b))
	rows := 0
	for b.Loop() {
		rows = 0
		for _, err := range sn.Match(ctx, triple.Pattern{}, ReadOptions{}) {
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
	}
	b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "triples/s")
	b.ReportMetric(float64(sn.store.Status().Bytes)/float64(rows), "B/triple")
}

// BenchmarkPattern answers patterns of a few triples from a warm cache.
func BenchmarkPattern(b *testing.B) {
	s := loaded(b)
	patterns := map[string]func(i int) triple.Pattern{
		"sp?": func(i int) triple.Pattern {
			return triple.Pattern{Subject: student(i).Subject, Predicate: student(i).Predicate}
		},
		"?po": func(i int) triple.Pattern {
			i = i/5*5 + 1
			return triple.Pattern{Predicate: student(i).Predicate, Object: student(i).Object}
		},
		"??o": func(i int) triple.Pattern { return triple.Pattern{Object: student(i/5*5 + 1).Object} },
		"s?o": func(i int) triple.Pattern {
			return triple.Pattern{Subject: student(i).Subject, Object: student(i).Object}
		},
		"s??": func(i int) triple.Pattern { return triple.Pattern{Subject: student(i).Subject} },
	}
	for name, pattern := range patterns {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			i := 0
			for b.Loop() {
				i = (i + 7919*101) % benchTriples
				p := pattern(i)
				start := time.Now()
				sn, err := s.Snapshot()
				if err != nil {
					b.Fatal(err)
				}
				rows := 0
				for _, err := range sn.Match(ctx, p, ReadOptions{}) {
					if err != nil {
						b.Fatal(err)
					}
					rows++
				}
				sn.Close()
				took = append(took, time.Since(start))
				if rows == 0 {
					b.Fatalf("%v: no rows", p)
				}
			}
			sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
			b.ReportMetric(float64(took[len(took)/2])/1e3, "µs-median")
			b.ReportMetric(float64(took[len(took)*99/100])/1e3, "µs-p99")
		})
	}
}

// BenchmarkEstimate estimates a pattern of many triples.
func BenchmarkEstimate(b *testing.B) {
	sn := snapshot(b, loaded(b))
	for b.Loop() {
		if _, _, err := sn.Estimate(b.Context(), triple.Pattern{Predicate: iri("takes")}); err != nil {
			b.Fatal(err)
		}
	}
}
