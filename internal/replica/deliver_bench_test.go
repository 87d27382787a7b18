// Benchmarks of deliveries and of the in-flight list.

package replica

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/sample"
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
			j := idle(sample.Layout(b, s, 0))
			work := make(chan int)
			done := make(chan error, senders)
			for sender := range senders {
				go func() {
					batch := uint64(0)
					for n := range work {
						batch++
						d := Delivery{Origin: origin(trie.MachineID(sender+1), 1, batch), Committed: batch - 1,
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

// BenchmarkEngines adds the same batches of 1,000 triples by the engine of a lone machine and by
// that of a member, which stamps each row. It also reports the size of the compacted tables.
func BenchmarkEngines(b *testing.B) {
	const size, batches = 1000, 200
	for _, engine := range []string{"lone", "member"} {
		b.Run(engine, func(b *testing.B) {
			bytes := int64(0)
			for b.Loop() {
				// 1. Make an empty store and the batches.
				b.StopTimer()
				s := openDisk(b, store.Options{})
				j := idle(sample.Layout(b, s, 0))
				adds, deliveries := make([][]triple.Triple, batches), make([]Delivery, batches)
				for n := range batches {
					adds[n] = students(n*size, n*size+size)
					deliveries[n] = Delivery{Origin: origin(1, 1, uint64(n+1)), Committed: uint64(n),
						Operations: operations(store.OperationAdd, 2, uint64(n*size+1), adds[n]...)}
				}
				b.StartTimer()
				// 2. Add them. Each batch is durable before the next.
				for n := range batches {
					var err error
					if engine == "lone" {
						_, err = store.Add(ctx, s, adds[n])
					} else {
						err = s.Deliver(ctx, &deliveries[n], j)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				// 3. Compact the tables, because their size then depends on the rows alone.
				b.StopTimer()
				if err := s.Database().Compact(ctx, []byte{0}, []byte{0xff}, false); err != nil {
					b.Fatal(err)
				}
				tables := s.Database().Metrics().Total()
				bytes = tables.TablesSize
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N*size*batches)/b.Elapsed().Seconds(), "triples/s")
			b.ReportMetric(float64(bytes)/(size*batches), "B/triple")
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
				u.enter(origin(7, 1, batch), 0, operations(store.OperationAdd, 2, uint64(n), students(n, n+test.size)...))
			}
			for range test.operations / test.size {
				next()
			}
			ranges := make([]triple.Range, 1000)
			for i := range ranges {
				ranges[i] = exact(b, triple.POS, student(test.size+i*13%5000))
			}
			u.batchesIn(ranges[0], nil)
			i := 0
			for b.Loop() {
				if test.moving && i%test.size == 0 {
					b.StopTimer()
					next()
					u.commit(stream{Machine: 7, Incarnation: 1}, batch-uint64(test.operations/test.size), nil, nil, &CommitTicks{})
					b.StartTimer()
				}
				u.batchesIn(ranges[i%len(ranges)], nil)
				i++
			}
		})
	}
}
