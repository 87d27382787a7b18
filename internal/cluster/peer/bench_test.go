// Benchmarks of calls.

package peer

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"
)

func BenchmarkCall(b *testing.B) {
	addr, _ := start(b, Options{}, func(s *Server) { s.Handle("echo", echo) })
	c := client(b, ClientOptions{})
	body := make([]byte, 1<<10)
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		if _, err := c.Call(b.Context(), Recipient{Address: addr}, "echo", body); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

func BenchmarkStream(b *testing.B) {
	const frames = 2000
	addr, _ := start(b, Options{}, func(s *Server) {
		s.HandleStream("frames", func(_ context.Context, _ Header, _ []byte, w *Writer) error {
			frame := make([]byte, 32<<10)
			for range frames {
				if err := w.Write(frame); err != nil {
					return err
				}
			}
			return nil
		})
	})
	c := client(b, ClientOptions{})
	b.SetBytes(frames * 32 << 10)
	b.ReportAllocs()
	for b.Loop() {
		s, err := c.Stream(b.Context(), Recipient{Address: addr}, "frames", nil)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for ; err == nil; n++ {
			_, err = s.Next()
		}
		if err != io.EOF || n != frames+1 {
			b.Fatalf("%d frames, %v", n-1, err)
		}
	}
}
