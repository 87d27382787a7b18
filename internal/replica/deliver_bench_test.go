// Benchmarks of deliveries and of the in-flight list.

package replica

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// BenchmarkDeliver delivers batches of 1,000 operations to a machine with all places. They come
// from one sequencer whose batches are committed in order, or from several at once.
func BenchmarkDeliver(b *testing.B) {
	const size = 1000
	for _, senders := range []int{1, 4} {
		b.Run(fmt.Sprintf("senders=%d", senders), func(b *testing.B) {
			s := openDisk(b, store.Options{})
			j := idle(layoutOf(b, s, 0))
			work := make(chan int)
			done := make(chan error, senders)
			for sender := range senders {
				go func() {
					batch := uint64(0)
					for n := range work {
						batch++
						d := Delivery{Origin: origin(trie.MachineID(sender+1), 1, batch), Settled: batch - 1,
							Operations: operations(store.OperationAdd, 2, uint64(n*size+1), students(n*size, n*size+size)...)}
						if err := s.Deliver(ctx, &d, j); err != nil {
							done <- err
							return
						}
					}
					done <- nil
				}()
			}
			n := 0
			for b.Loop() {
				work <- n
				n++
			}
			close(work)
			for range senders {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*size)/b.Elapsed().Seconds(), "triples/s")
			b.ReportMetric(float64(3*n*size)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkUnsettled looks up one triple when many operations are in flight, in batches of 1 or of
// 1,000, at rest or under traffic.
func BenchmarkUnsettled(b *testing.B) {
	for _, test := range []struct {
		operations, size int
		moving           bool
	}{{0, 1, false}, {5000, 1, false}, {5000, 1000, false}, {5000, 1, true}, {5000, 1000, true}} {
		b.Run(fmt.Sprintf("operations=%d/batch=%d/moving=%v", test.operations, test.size, test.moving), func(b *testing.B) {
			var u inFlight
			u.init()
			batch := uint64(0)
			next := func() {
				batch++
				n := int(batch) * test.size
				u.enter(origin(7, 1, batch), operations(store.OperationAdd, 2, uint64(n), students(n, n+test.size)...))
			}
			for range test.operations / test.size {
				next()
			}
			ranges := make([]triple.Range, 1000)
			for i := range ranges {
				ranges[i] = exact(b, triple.POS, student(test.size+i*13%5000))
			}
			u.in(ranges[0])
			i := 0
			for b.Loop() {
				if test.moving && i%test.size == 0 {
					b.StopTimer()
					next()
					u.settle(stream{7, 1}, batch-uint64(test.operations/test.size), nil, nil)
					b.StartTimer()
				}
				u.in(ranges[i%len(ranges)])
				i++
			}
		})
	}
}
