// Benchmarks of every access.

package urls

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
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

func benchTables(b *testing.B, extents []extent, shifts []uint, run func(b *testing.B, table *Table, asked []probe)) {
	asked := probes(extents)
	for _, shift := range shifts {
		data := build(b, shift, extents)
		table := mustOpen(b, data)
		b.Run(fmt.Sprintf("block=%d", 1<<shift), func(b *testing.B) {
			run(b, table, asked)
			b.ReportMetric(float64(len(data))/float64(table.Len()), "bytes/URL")
		})
	}
}

var benchShifts = []uint{4, 5, 6, 7}

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

func BenchmarkFind(b *testing.B) { benchTables(b, benchHosts(), benchShifts, findAll) }

func BenchmarkFindOnePageHosts(b *testing.B) {
	benchTables(b, onePageHosts(rand.New(rand.NewPCG(7, 0)), 1_000_000), []uint{5, 6}, findAll)
}

// The URLs of a host come one by one, in no order.
func BenchmarkFindStrays(b *testing.B) {
	extents := denseHosts(rand.New(rand.NewPCG(8, 0)), 1, 500_000)
	rand.New(rand.NewPCG(9, 0)).Shuffle(len(extents[0].urls), func(i, j int) {
		u := extents[0].urls
		u[i], u[j] = u[j], u[i]
	})
	benchTables(b, extents, []uint{5}, findAll)
}

func BenchmarkAppendURL(b *testing.B) {
	benchTables(b, benchHosts(), benchShifts, func(b *testing.B, table *Table, asked []probe) {
		buffer := make([]byte, 0, 4096)
		k := 0
		for b.Loop() {
			buffer = table.AppendURL(buffer[:0], asked[k&(1<<16-1)].ordinal)
			k++
		}
	})
}

func BenchmarkScan(b *testing.B) {
	benchTables(b, benchHosts(), []uint{5}, func(b *testing.B, table *Table, _ []probe) {
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
	var out []byte
	for b.Loop() {
		builder := NewBuilder()
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
}

func BenchmarkBuild(b *testing.B) { benchBuild(b, benchHosts()) }

func BenchmarkBuildOnePageHosts(b *testing.B) {
	benchBuild(b, onePageHosts(rand.New(rand.NewPCG(7, 0)), 1_000_000))
}

// The sizes of real data, all of it.
func BenchmarkLinkedData(b *testing.B) {
	benchTables(b, linkedData(b, true), benchShifts, findAll)
}
