// Throughput of functions, and the price of checks.

package functions

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// BenchmarkFunctions measures calls a second of a function that follows the feed of a lone store,
// end to end: from the log, through the sandbox, to durable effects.
//
//	go test -run - -bench Functions ./internal/functions
func BenchmarkFunctions(b *testing.B) {
	for _, c := range []struct {
		name   string
		r      Registration
		module func(testing.TB) []byte
	}{
		{"trivial", Registration{Pattern: "? <http://example.org/likes> ?"}, func(t testing.TB) []byte { return assemble(t, `(i64.const 0)`) }},
		{"inverse", Registration{Pattern: "? <http://example.org/likes> ?"}, func(t testing.TB) []byte {
			return writes(t, `{"op":"add","s":{"type":"uri","value":"a:s"},"p":{"type":"uri","value":"a:p"},"o":{"type":"uri","value":"a:o"}}`)
		}},
		{"counter", counter, func(t testing.TB) []byte { return module(t, "counter") }},
	} {
		b.Run(c.name, func(b *testing.B) {
			const changes = 50_000
			s := open(b, nil, Options{})
			defer s.close()
			c.r.Name, c.r.TimeoutMS = "f", 10_000
			s.put(c.r, c.module(b))
			var processor time.Duration
			for b.Loop() {
				// 1. Make changes while no runner runs.
				b.StopTimer()
				before := s.state("f").Counts.Calls
				if err := s.service.Close(); err != nil {
					b.Fatal(err)
				}
				many := make([]triple.Triple, changes)
				for i := range many {
					many[i] = of(fmt.Sprint("s", time.Now().UnixNano()), "likes", fmt.Sprint(i))
				}
				for len(many) > 0 {
					if _, err := store.Add(s.ctx, s.db, many[:1000]); err != nil {
						b.Fatal(err)
					}
					many = many[1000:]
				}
				processor -= processorTime()
				b.StartTimer()
				// 2. Measure until all calls are made, and their effects are written. Without effects the
				// calls are recorded up to a heartbeat later, which is not their time.
				s.service = Open(Options{Store: s.db, Feed: s.db.Feed()})
				s.eventually("all calls", func() bool {
					f := s.service.functions()["f"]
					return f != nil && f.figures.calls.Load() >= changes
				})
				if c.name != "trivial" {
					s.eventually("all effects", func() bool { return s.state("f").Counts.Calls >= before+changes })
				}
				processor += processorTime()
			}
			b.ReportMetric(float64(changes)*float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(processor.Nanoseconds())/changes/float64(b.N), "cpu-ns/call")
		})
	}
}

// processorTime is that of this process. Compactions and the wait for the end are in it, too.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkChecked measures adds of one triple each without durability's cost: to a store whose
// registry has no check, and to the same store without the checks.
func BenchmarkChecked(b *testing.B) {
	s := open(b, nil, Options{})
	defer s.close()
	s.eventually("the registry", func() bool { return s.service.checks.Load() == nil })
	ctx := context.Background()
	nothing := []triple.Triple{}
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			store.Add(ctx, s.db, nothing)
		}
	})
	b.Run("checked", func(b *testing.B) {
		for b.Loop() {
			store.Add(ctx, s.checked, nothing)
		}
	})
}
