// Benchmarks of every access, inside and outside of the cache.

package ef

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

var sink uint64

func benchSequence(n int) Sequence {
	rng := rand.New(rand.NewPCG(1, 0))
	values := make([]uint64, n)
	v := uint64(0)
	for i := range values {
		v += rng.Uint64N(36)
		values[i] = v
	}
	s, _, err := Open(Append(nil, values))
	if err != nil {
		panic(err)
	}
	return s
}

func benchAccess(b *testing.B, access func(s Sequence, i int) uint64) {
	for _, n := range []int{20_000, 10_000_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			s := benchSequence(n)
			rng := rand.New(rand.NewPCG(2, 0))
			places := make([]int, 1<<16)
			for i := range places {
				places[i] = rng.IntN(n - 1)
			}
			k := 0
			for b.Loop() {
				sink += access(s, places[k&(1<<16-1)])
				k++
			}
		})
	}
}

func BenchmarkAt(b *testing.B) {
	benchAccess(b, func(s Sequence, i int) uint64 { return s.At(i) })
}

func BenchmarkTwo(b *testing.B) {
	benchAccess(b, func(s Sequence, i int) uint64 { lo, hi := s.Pair(i); return hi - lo })
}

func BenchmarkSearch(b *testing.B) {
	benchAccess(b, func(s Sequence, i int) uint64 { return uint64(s.Search(uint64(i) * 17)) })
}

func BenchmarkIterate(b *testing.B) {
	s := benchSequence(1_000_000)
	for b.Loop() {
		it := s.Iterator(0)
		for v, ok := it.Next(); ok; v, ok = it.Next() {
			sink += v
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/value")
}

func BenchmarkBuild(b *testing.B) {
	s := benchSequence(1_000_000)
	values := make([]uint64, 0, s.Len())
	for _, v := range s.All(0) {
		values = append(values, v)
	}
	var out []byte
	for b.Loop() {
		out = Append(out[:0], values)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/value")
	b.ReportMetric(float64(len(out)*8)/1e6, "bits/value")
}

func BenchmarkOpen(b *testing.B) {
	data := Append(nil, func() (values []uint64) {
		s := benchSequence(1_000_000)
		for _, v := range s.All(0) {
			values = append(values, v)
		}
		return values
	}())
	for b.Loop() {
		if _, _, err := Open(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/value")
}

func BenchmarkParts(b *testing.B) {
	for _, n := range []int{20_000, 10_000_000} {
		rng := rand.New(rand.NewPCG(1, 0))
		values := make([]uint64, n)
		v := uint64(0)
		for i := range values {
			v += rng.Uint64N(36)
			values[i] = v
		}
		s := openParts(b, AppendParts(nil, values))
		places := make([]uint32, 1<<16)
		for i := range places {
			places[i] = rng.Uint32N(uint32(n))
		}
		b.Run(fmt.Sprintf("At/n=%d", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				sink += s.At(int(places[i&(1<<16-1)]))
			}
		})
		b.Run(fmt.Sprintf("Gather/n=%d", n), func(b *testing.B) {
			var dst [4]uint64
			for i := 0; b.Loop(); i += 4 {
				Gather(s, dst[:], places[i&(1<<16-1):][:4])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(4*b.N), "ns/value")
		})
	}
}
