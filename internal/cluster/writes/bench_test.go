// Benchmark of writes through one client.

package writes

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
)

// BenchmarkWrite writes batches of 1,000 new triples through one client into
// machines of one process, whose disks are memory.
func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{1, 3, 5} {
		for _, clients := range []int{1, 4} {
			b.Run(fmt.Sprintf("machines=%d/clients=%d", n, clients), func(b *testing.B) {
				_, ms := idle(b, n, Options{}, facts(0, 30))
				work := make(chan int)
				ended := make(chan error, clients)
				b.ResetTimer()
				for c := range clients {
					go func() {
						for i := range work {
							if _, _, err := ms[c%n].writes.Write(ctx, store.OperationAdd, facts(i*1000, (i+1)*1000)); err != nil {
								ended <- err
								return
							}
						}
						ended <- nil
					}()
				}
				for i := range b.N {
					work <- i
				}
				close(work)
				for range clients {
					if err := <-ended; err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*1000)/b.Elapsed().Seconds(), "triples/s")
			})
		}
	}
}
