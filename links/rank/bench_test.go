// Benchmarks of all rankings.

package rank_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/dataset/linkgen"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// The graph of the benchmarks: 1 million pages of 50,000 hosts, some 18 million links, 3 of 4
// within a host.
const (
	benchPages      = 1_000_000
	benchPartitions = 16
)

var benchGraph = sync.OnceValue(func() *rank.Lists[uint32] {
	g, err := linkgen.New(linkgen.Options{Pages: benchPages, Seed: 1})
	if err != nil {
		panic(err)
	}
	links := &rank.Lists[uint32]{}
	for page := range uint32(benchPages) {
		links.Items = g.Links(page, links.Items)
		links.End()
	}
	return links
})

// cpuTime returns the processor time of the process. If others use the machine, it is a better
// measure than the clock.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

var benchBackward = sync.OnceValue(func() *rank.Lists[uint32] {
	forward := benchGraph()
	links := &rank.Lists[uint32]{Ends: make([]int, benchPages), Items: make([]uint32, len(forward.Items))}
	for _, to := range forward.Items {
		links.Ends[to]++
	}
	start := 0
	for to, degree := range links.Ends {
		links.Ends[to] = start
		start += degree
	}
	for from := range benchPages {
		for _, to := range forward.At(from) {
			links.Items[links.Ends[to]] = uint32(from)
			links.Ends[to]++
		}
	}
	return links
})

func evenly(pages, partitions int) []int {
	sizes := slices.Repeat([]int{pages / partitions}, partitions)
	sizes[0] += pages % partitions
	return sizes
}

// byPage numbers the ghosts of a partition in the order of a cell.
func byPage(p *partition) {
	// Ghosts have the order of their pages first.
	order := make([]uint32, len(p.where))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Compare(p.where[a], p.where[b])
	})
	place, where := make([]uint32, len(order)), make([]uint32, len(order))
	for i, ghost := range order {
		place[ghost], where[i] = uint32(i), p.where[ghost]
	}
	p.where = where
	start := 0
	for _, end := range p.ghostEnds {
		for i := start; i < end; i++ {
			p.ghosts[i] = place[p.ghosts[i]]
		}
		slices.Sort(p.ghosts[start:end])
		start = end
	}
}

func benchParts(pages []int) []rank.Partition {
	parts := splitBy(benchGraph().At, pages)
	for _, p := range parts {
		byPage(p.(*partition))
	}
	return parts
}

// coded is a partition with its links in a table, as in a cell.
type coded struct {
	*partition
	table *lists.Table
}

func encode(b *testing.B, p *partition) *coded {
	builder, err := lists.NewBuilder(lists.Options{})
	if err != nil {
		b.Fatal(err)
	}
	local, ghost := 0, 0
	for page := range p.localEnds {
		if err := builder.Append(p.locals[local:p.localEnds[page]], p.ghosts[ghost:p.ghostEnds[page]]); err != nil {
			b.Fatal(err)
		}
		local, ghost = p.localEnds[page], p.ghostEnds[page]
	}
	data, err := builder.AppendTo(nil)
	if err != nil {
		b.Fatal(err)
	}
	table, err := lists.Open(data)
	if err != nil {
		b.Fatal(err)
	}
	return &coded{p, table}
}

func (c *coded) Scan(yield func(uint32, []uint32, []uint32) bool) error {
	s := c.table.Scan(0, c.table.Len())
	for s.Next() {
		if !yield(s.Key(), s.Locals(), s.Ghosts()) {
			return nil
		}
	}
	return s.Err()
}

// PageRank as it is used, 10 rounds in each operation, over arrays, over StreamVByte lists, and
// over copies of these. Preparation is not counted.
func BenchmarkPageRank(b *testing.B) {
	for _, partitions := range []int{1, 4, 16, 64} {
		pages := evenly(benchPages, partitions)
		arrays := benchParts(pages)
		tables, ghosts := []rank.Partition(nil), 0
		for _, p := range arrays {
			tables = append(tables, encode(b, p.(*partition)))
			ghosts += p.Ghosts()
		}
		for _, c := range []struct {
			name      string
			parts     []rank.Partition
			copyBytes int64
		}{{"arrays", arrays, 0}, {"lists", tables, 0}, {"copies", tables, 1 << 30}} {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("%s/partitions=%d/workers=%d", c.name, partitions, workers), func(b *testing.B) {
					benchRounds(b, c.parts, rank.Options{Workers: workers, CopyBytes: c.copyBytes})
					b.ReportMetric(float64(ghosts)/float64(len(benchGraph().Items)), "ghosts/link")
				})
			}
		}
	}
}

func benchRounds(b *testing.B, parts []rank.Partition, o rank.Options) {
	const rounds = 10
	links, took, used := int64(0), time.Duration(0), time.Duration(0)
	for b.Loop() {
		var start time.Time
		var startCPU time.Duration
		o.MaxRounds, o.Tolerance = 1+rounds, 1e-300
		o.Progress = func(r rank.Round) {
			switch r.Number {
			case 1:
				start, startCPU = time.Now(), cpuTime()
			case 1 + rounds:
				links += rounds * r.Links
				took += time.Since(start)
				used += cpuTime() - startCPU
			}
		}
		_, err := rank.PageRank(ctx, parts, o)
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(links)/took.Seconds()/1e6, "Mlinks/s")
	b.ReportMetric(float64(links)/used.Seconds()/1e6, "Mlinks/cpu-s")
}

// The compared ways to do a round, without exchange and settling, over the arrays of each of 16
// partitions in turn: sums of forward links in float64 and float32, and sums over backward links,
// read at their sources.
func BenchmarkKernels(b *testing.B) {
	pages := evenly(benchPages, benchPartitions)
	forward, backward := benchParts(pages), splitBy(benchBackward().At, pages)
	for _, p := range backward {
		byPage(p.(*partition))
	}
	run := func(name string, parts []rank.Partition, kernel func(p *partition)) {
		b.Run(name, func(b *testing.B) {
			links, ghosts, before := 0, 0, cpuTime()
			for b.Loop() {
				for i := range benchPartitions {
					p := parts[i].(*partition)
					kernel(p)
					links += len(p.locals) + len(p.ghosts)
					ghosts += len(p.where)
				}
			}
			b.ReportMetric(float64(links)/(cpuTime()-before).Seconds()/1e6, "Mlinks/cpu-s")
			b.ReportMetric(float64(ghosts)/float64(links), "ghosts/link")
		})
	}
	run("push/float64", forward, pushKernel[float64])
	run("push/float32", forward, pushKernel[float32])
	run("pull/float64", backward, pullKernel[float64])
	run("pull/float32", backward, pullKernel[float32])
}

func pushKernel[F float32 | float64](p *partition) {
	shares, next, sums := make([]F, p.Pages()), make([]F, p.Pages()), make([]F, p.Ghosts())
	local, ghost := 0, 0
	for page := range p.localEnds {
		share := shares[page]
		for _, to := range p.locals[local:p.localEnds[page]] {
			next[to] += share
		}
		for _, to := range p.ghosts[ghost:p.ghostEnds[page]] {
			sums[to] += share
		}
		local, ghost = p.localEnds[page], p.ghostEnds[page]
	}
}

func pullKernel[F float32 | float64](p *partition) {
	shares, next, others := make([]F, p.Pages()), make([]F, p.Pages()), make([]F, p.Ghosts())
	local, ghost := 0, 0
	for page := range p.localEnds {
		sum := 0.0
		for _, from := range p.locals[local:p.localEnds[page]] {
			sum += float64(shares[from])
		}
		for _, from := range p.ghosts[ghost:p.ghostEnds[page]] {
			sum += float64(others[from])
		}
		next[page] = F(sum)
		local, ghost = p.localEnds[page], p.ghostEnds[page]
	}
}

// benchUID gives pages UIDs: extents of 20 pages.
func benchUID(page uint32) uid.UID { return uid.UID(page/20+1)<<uid.PageBits | uid.UID(page%20) }

func benchPage(u uid.UID) (uint32, bool) {
	page := uint32(u>>uid.PageBits-1)*20 + u.Page()
	return page, u != 0 && page < benchPages
}

var benchSource = sync.OnceValue(func() *memory {
	var links [2]rank.Lists[uid.UID]
	for d, pages := range []*rank.Lists[uint32]{rank.Forward: benchGraph(), rank.Backward: benchBackward()} {
		links[d].Ends = pages.Ends
		links[d].Items = make([]uid.UID, len(pages.Items))
		for i, page := range pages.Items {
			links[d].Items[i] = benchUID(page)
		}
	}
	return &memory{list: func(d rank.Direction, u uid.UID) []uid.UID {
		page, ok := benchPage(u)
		if !ok {
			return nil
		}
		return links[d].At(int(page))
	}}
})

// A complete ranking at query time: 2,800 roots, 10 in-links and 10 out-links each.
func BenchmarkNeighbourhood(b *testing.B) {
	source := benchSource()
	r := rand.New(rand.NewPCG(1, 1))
	var roots []uid.UID
	for range 2800 {
		roots = append(roots, benchUID(uint32(r.IntN(benchPages))))
	}
	for _, mode := range []sample.Mode{sample.ModeRandom, sample.ModeConsistent} {
		for _, algorithm := range []string{"none", "SALSA", "HITS"} {
			b.Run(fmt.Sprintf("%s/%s", mode, algorithm), func(b *testing.B) {
				b.ReportAllocs()
				var n *rank.Neighbourhood
				before := cpuTime()
				for b.Loop() {
					var err error
					n, err = rank.NewNeighbourhood(ctx, source, roots, rank.NeighbourhoodOptions{In: 10, Out: 10, Mode: mode})
					if err != nil {
						b.Fatal(err)
					}
					switch algorithm {
					case "SALSA":
						n.TopRoots(len(roots), rank.SALSA(n.Graph).Authority)
					case "HITS":
						result, err := rank.HITS(ctx, n.Graph, rank.HITSOptions{})
						if err != nil {
							b.Fatal(err)
						}
						n.TopRoots(len(roots), result.Authority)
					}
				}
				b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
				b.ReportMetric(float64(n.Graph.Len()), "pages")
				b.ReportMetric(float64(n.Graph.NumEdges()), "links")
			})
		}
	}
}
