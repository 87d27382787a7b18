// Benchmarks of reads on three machines.

package reads

import (
	"math/rand/v2"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// benchRows is how many triples a benchmark reads.
const benchRows = 1_000_000

// benchWorld is a cluster of three machines, 24 segments, over connections in
// memory.
func benchWorld(b *testing.B) *world {
	w := newWorld(b, 3, Options{})
	w.fill(rand.New(rand.NewPCG(1, 2)), 24, students(benchRows))
	return w
}

// BenchmarkRead reads 1M triples in one order, and looks up 4,000 subjects: from
// a lone store, and from a cluster by one of its machines.
func BenchmarkRead(b *testing.B) {
	w := benchWorld(b)
	lone, cluster := w.truth(), w.snapshot(0)
	ranges := subjects(w, rand.New(rand.NewPCG(3, 4)), 4000)
	for name, src := range map[string]sparql.Source{"lone": lone.Source(), "cluster": cluster.Source()} {
		b.Run("scan/"+name, func(b *testing.B) {
			for b.Loop() {
				rows, err := src.Scan(ctx, triple.OrderRange(triple.POS), false)
				if err != nil {
					b.Fatal(err)
				}
				n := 0
				for rows.Next() {
					n++
				}
				if rows.Close(); n != benchRows || rows.Err() != nil {
					b.Fatalf("%d rows, %v", n, rows.Err())
				}
			}
			b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
		b.Run("lookup/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := hits(src.Lookup, ranges); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(ranges))*float64(b.N)/b.Elapsed().Seconds(), "ranges/s")
		})
		b.Run("count/"+name, func(b *testing.B) {
			for b.Loop() {
				if n, err := src.Count(ctx, triple.OrderRange(triple.POS)); err != nil || n != benchRows {
					b.Fatalf("%d, %v", n, err)
				}
			}
			b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
	b.Run("first/cluster", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			p := triple.Pattern{Subject: w.triples[i*7919%benchRows].Subject}
			if have, err := got(cluster.Match(ctx, p, store.ReadOptions{Limit: 10})); err != nil || len(have) != 4 {
				b.Fatalf("%d rows, %v", len(have), err)
			}
		}
	})
}
