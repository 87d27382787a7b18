// Benchmarks of every access, and zstd for comparison with the symbols.

package urls

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// benchHosts are 2 million URLs of 40 hosts: a table past the caches.
var benchHosts = sync.OnceValue(func() []extent {
	return denseHosts(rand.New(rand.NewPCG(5, 0)), 40, 2_000_000)
})

type probe struct {
	url     string
	hash    uint64
	ordinal uint32
}

// probes returns random URLs of extents.
func probes(extents []extent) []probe {
	rng := rand.New(rand.NewPCG(6, 0))
	starts := make([]uint32, len(extents)+1)
	for i, e := range extents {
		starts[i+1] = starts[i] + uint32(len(e.urls))
	}
	out := make([]probe, 1<<16)
	for i := range out {
		k := rng.IntN(len(extents))
		e := extents[k]
		j := rng.IntN(len(e.urls))
		out[i] = probe{e.urls[j], e.hash(), starts[k] + uint32(j)}
	}
	return out
}

func benchTables(b *testing.B, extents []extent, strides []int, run func(b *testing.B, table *Table, asked []probe)) {
	asked := probes(extents)
	for _, symbols := range []bool{false, true} {
		for _, stride := range strides {
			data := build(b, Options{Stride: stride, Symbols: symbols}, extents)
			table := mustOpen(b, data)
			b.Run(fmt.Sprintf("symbols=%v/stride=%d", symbols, stride), func(b *testing.B) {
				run(b, table, asked)
				b.ReportMetric(float64(len(data))/float64(table.Len()), "bytes/URL")
			})
		}
	}
}

var benchStrides = []int{16, 32, 64, 128}

func findAll(b *testing.B, table *Table, asked []probe) {
	k := 0
	for b.Loop() {
		p := &asked[k&(1<<16-1)]
		if o, ok := table.Find(p.url, p.hash); !ok || o != p.ordinal {
			b.Fatal(p, o, ok)
		}
		k++
	}
}

func BenchmarkFind(b *testing.B) { benchTables(b, benchHosts(), benchStrides, findAll) }

func BenchmarkFindOnePageHosts(b *testing.B) {
	benchTables(b, onePageHosts(rand.New(rand.NewPCG(7, 0)), 1_000_000), []int{32, 64}, findAll)
}

// The URLs of a host come one by one, in no order.
func BenchmarkFindStrays(b *testing.B) {
	extents := denseHosts(rand.New(rand.NewPCG(8, 0)), 1, 500_000)
	rand.New(rand.NewPCG(9, 0)).Shuffle(len(extents[0].urls), func(i, j int) {
		u := extents[0].urls
		u[i], u[j] = u[j], u[i]
	})
	benchTables(b, extents, []int{32}, findAll)
}

func BenchmarkAppendURL(b *testing.B) {
	benchTables(b, benchHosts(), benchStrides, func(b *testing.B, table *Table, asked []probe) {
		buffer := make([]byte, 0, 4096)
		k := 0
		for b.Loop() {
			buffer = table.AppendURL(buffer[:0], asked[k&(1<<16-1)].ordinal)
			k++
		}
	})
}

func BenchmarkScan(b *testing.B) {
	benchTables(b, benchHosts(), []int{32}, func(b *testing.B, table *Table, _ []probe) {
		bytes := 0
		for b.Loop() {
			it := table.Scan(0)
			for _, url, ok := it.Next(); ok; _, url, ok = it.Next() {
				bytes += len(url)
			}
		}
		b.ReportMetric(float64(b.N)*float64(table.Len())/b.Elapsed().Seconds()/1e6, "MURLs/s")
	})
}

func benchBuild(b *testing.B, extents []extent) {
	n, _ := total(extents)
	hashes := make([]uint64, len(extents))
	urls := make([][][]byte, len(extents))
	for i, e := range extents {
		hashes[i] = e.hash()
		for _, url := range e.urls {
			urls[i] = append(urls[i], []byte(url))
		}
	}
	for _, symbols := range []bool{false, true} {
		b.Run(fmt.Sprintf("symbols=%v", symbols), func(b *testing.B) {
			var out []byte
			for b.Loop() {
				builder, err := NewBuilder(Options{Symbols: symbols})
				if err != nil {
					b.Fatal(err)
				}
				for i := range extents {
					builder.StartExtent(hashes[i])
					for _, url := range urls[i] {
						if err := builder.Add(url); err != nil {
							b.Fatal(err)
						}
					}
				}
				out = builder.AppendTo(out[:0])
			}
			b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds()/1e6, "MURLs/s")
		})
	}
}

func BenchmarkBuild(b *testing.B) { benchBuild(b, benchHosts()) }

func BenchmarkBuildOnePageHosts(b *testing.B) {
	benchBuild(b, onePageHosts(rand.New(rand.NewPCG(7, 0)), 1_000_000))
}

// The sizes of real data, all of it.
func BenchmarkLinkedData(b *testing.B) {
	benchTables(b, linkedData(b, true), benchStrides, findAll)
}

// Blocks compressed one by one with zstd and a dictionary made from samples: the alternative to
// symbols.
func BenchmarkZstdBlocks(b *testing.B) {
	extents := benchHosts()
	for _, stride := range []int{32, 64, 128} {
		table := mustOpen(b, build(b, Options{Stride: stride}, extents))
		count := table.blocks()
		block := func(k int) []byte {
			body := table.leaf(k).body
			return body[:len(body)-readAhead]
		}
		var samples [][]byte
		var history []byte
		for k := 0; k < count; k += count/2000 + 1 {
			samples = append(samples, block(k))
			if k%7 == 0 && len(history) < 64<<10 {
				history = append(history, block(k)...)
			}
		}
		dictionary, err := zstd.BuildDict(zstd.BuildDictOptions{ID: 1, Contents: samples, History: history, Offsets: [3]int{1, 4, 8}})
		if err != nil {
			b.Fatal(err)
		}
		e, err := zstd.NewWriter(nil, zstd.WithEncoderDict(dictionary), zstd.WithEncoderLevel(zstd.SpeedBestCompression),
			zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
		if err != nil {
			b.Fatal(err)
		}
		d, err := zstd.NewReader(nil, zstd.WithDecoderDicts(dictionary), zstd.WithDecoderConcurrency(1))
		if err != nil {
			b.Fatal(err)
		}
		var packed [][]byte
		size, urls := len(dictionary), 0
		for k := 0; k < count; k += 1 + count/10_000 {
			packed = append(packed, e.EncodeAll(block(k), nil))
			size += len(packed[len(packed)-1]) + 2
			urls += stride
		}
		b.Run(fmt.Sprintf("stride=%d", stride), func(b *testing.B) {
			var out []byte
			k := 0
			for b.Loop() {
				if out, err = d.DecodeAll(packed[k*7919%len(packed)], out[:0]); err != nil {
					b.Fatal(err)
				}
				k++
			}
			b.ReportMetric(float64(size-len(dictionary))/float64(urls), "bytes/URL")
			b.ReportMetric(float64(len(dictionary)), "dictionary-bytes")
		})
		d.Close()
	}
}
