package rank_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// The graph of the benchmarks: 1 million pages of 50,000 hosts, some 18 million
// links, 3 of 4 within a host, others half to popular pages; hosts are of many
// sizes. Partitions are of whole hosts.
const (
	benchPages      = 1_000_000
	benchHosts      = 50_000
	benchPartitions = 16
)

var benchGraph = sync.OnceValue(func() *rank.Lists[uint32] {
	r := rand.New(rand.NewPCG(1, 1))
	// Sizes fall with the rank as in Zipf's law; hosts lie in any order, as slots
	// are hashes.
	sizes, left := make([]int, benchHosts), benchPages
	for host := range sizes {
		share := benchPages / (float64(host+10) * math.Log(float64(benchHosts+10)/10))
		sizes[host] = min(1+int(share), left-(benchHosts-1-host))
		left -= sizes[host]
	}
	sizes[0] += left
	r.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	lists := &rank.Lists[uint32]{}
	var linked []uint32 // targets outside of hosts so far
	var list []uint32
	first := 0
	for _, size := range sizes {
		for page := first; page < first+size; page++ {
			list = list[:0]
			for range int(r.ExpFloat64() * 22) {
				to := r.IntN(benchPages)
				switch {
				case r.IntN(4) < 3: // near pages of the host more often
					to = first + (page-first+int(r.NormFloat64()*30)+1000*size)%size
				case len(linked) > 0 && r.IntN(2) == 0:
					to = int(linked[r.IntN(len(linked))])
					fallthrough
				default:
					linked = append(linked, uint32(to))
				}
				list = append(list, uint32(to))
			}
			slices.Sort(list)
			lists.Items = append(lists.Items, slices.Compact(list)...)
			lists.End()
		}
		first += size
	}
	return lists
})

var benchBackward = sync.OnceValue(func() *rank.Lists[uint32] {
	forward := benchGraph()
	lists := &rank.Lists[uint32]{Ends: make([]int, benchPages), Items: make([]uint32, len(forward.Items))}
	for _, to := range forward.Items {
		lists.Ends[to]++
	}
	start := 0
	for to, degree := range lists.Ends {
		lists.Ends[to] = start
		start += degree
	}
	for from := range benchPages {
		for _, to := range forward.At(from) {
			lists.Items[lists.Ends[to]] = uint32(from)
			lists.Ends[to]++
		}
	}
	return lists
})

func evenly(pages, partitions int) []int {
	sizes := slices.Repeat([]int{pages / partitions}, partitions)
	sizes[0] += pages % partitions
	return sizes
}

// byPopularity orders the ghosts of a partition as a cell does: those with most
// links first.
func byPopularity(p *partition) {
	counts := make([]int, len(p.where))
	for _, g := range p.ghosts {
		counts[g]++
	}
	order := make([]uint32, len(p.where))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return counts[b] - counts[a] })
	place, where := make([]uint32, len(order)), make([]rank.Address, len(order))
	for i, g := range order {
		place[g], where[i] = uint32(i), p.where[g]
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

func benchParts(pages []int) map[int]rank.Partition {
	parts := splitBy(benchGraph().At, pages)
	for _, p := range parts {
		byPopularity(p.(*partition))
	}
	return parts
}

// PageRank as it is used, over arrays: 5 rounds in each operation.
func BenchmarkPageRank(b *testing.B) {
	for _, partitions := range []int{1, 4, 16, 64} {
		pages := evenly(benchPages, partitions)
		parts := benchParts(pages)
		ghosts := 0
		for _, p := range parts {
			ghosts += p.Ghosts()
		}
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("partitions=%d/workers=%d", partitions, workers), func(b *testing.B) {
				links := int64(0)
				for b.Loop() {
					b.StopTimer()
					first := true
					_, err := rank.PageRank(ctx, pages, parts, rank.Options{
						Workers: workers, MaxRounds: 6, Tolerance: 1e-300, Progress: func(r rank.Round) {
							if first { // what comes before is preparation
								b.StartTimer()
								first = false
							} else {
								links += r.Links
							}
						},
					})
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(links)/b.Elapsed().Seconds()/float64(workers)/1e6, "Mlinks/s/core")
				b.ReportMetric(float64(ghosts)/float64(len(benchGraph().Items)), "ghosts/link")
			})
		}
	}
}

// The ways to do a round that were compared, without exchange and settling, over
// the arrays of each of 16 partitions in turn: sums of forward links in float64
// and float32, and sums over backward links of what is read at their sources.
func BenchmarkKernels(b *testing.B) {
	pages := evenly(benchPages, benchPartitions)
	forward, backward := benchParts(pages), splitBy(benchBackward().At, pages)
	for _, p := range backward {
		byPopularity(p.(*partition))
	}
	run := func(name string, parts map[int]rank.Partition, kernel func(p *partition)) {
		b.Run(name, func(b *testing.B) {
			links := 0
			ghosts := 0
			for b.Loop() {
				for i := range benchPartitions {
					p := parts[i].(*partition)
					kernel(p)
					links += len(p.locals) + len(p.ghosts)
					ghosts += len(p.where)
				}
			}
			b.ReportMetric(float64(links)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
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
	for d, lists := range []*rank.Lists[uint32]{rank.Forward: benchGraph(), rank.Backward: benchBackward()} {
		links[d].Ends = lists.Ends
		links[d].Items = make([]uid.UID, len(lists.Items))
		for i, page := range lists.Items {
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

// A query-time ranking, all in: 2,800 roots, 10 in-links and 10 out-links each.
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
				b.ReportMetric(float64(n.Graph.Len()), "pages")
				b.ReportMetric(float64(n.Graph.NumEdges()), "links")
			})
		}
	}
}
