// Benchmarks of the journal: what an entry costs in memory, and how fast entries are read.

package replica

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// BenchmarkJournal lists 100,000 links that come in batches of a size, and reads them.
// The heap is what is free when the journal drops them.
func BenchmarkJournal(b *testing.B) {
	const links = 100_000
	filled := func(b *testing.B, size int) *Store {
		s := openJournal(b, store.Options{}, Options{Journal: []string{journaledIRI}})
		j := idle(layoutOf(b, s, 0))
		for n := range links / size {
			var some []triple.Triple
			for i := range size {
				some = append(some, triple.Triple{Subject: iri("page%d", n), Predicate: triple.NewIRI(journaledIRI), Object: iri("page%d", i)})
			}
			number := uint64(n + 1)
			deliver(b, s, j, Delivery{Origin: origin(7, 1, number), Settled: number - 1, Operations: operations(store.OperationAdd, 2, number*uint64(size), some...)})
		}
		return s
	}
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for _, size := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			s := filled(b, size)
			b.ResetTimer()
			for b.Loop() {
				if got := len(journalOf(b, s, 0, 1<<20)); got != links {
					b.Fatalf("%d entries", got)
				}
			}
			b.ReportMetric(float64(b.N)*links/b.Elapsed().Seconds(), "links/s")
			before := heap()
			s.Journal().Break()()
			b.ReportMetric((before-heap())/links, "heap-B/link")
		})
	}
}
