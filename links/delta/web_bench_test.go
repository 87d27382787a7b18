// Benchmarks of single lists of a generated web in sixteen cells, read as a server reads them.
// TREFOIL_BENCH_PAGES is the number of pages; if it is not set, a million.

package delta

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/dataset/linkgen"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

const webCells = 16

// web is a generated web: its pages, ascending, and views of its cells.
type web struct {
	uids  []uid.UID
	views []*View
	links int64
}

// webGraph is the web before its cells are built.
type webGraph struct {
	graph *linkgen.Graph
	uids  []uid.UID // by page of the graph
	pages []uint32  // by rank
	ranks []uint32  // by page: its index by UID
	// into holds the backward links as ranks. Those of the page of rank i begin at starts[i].
	starts []uint32
	into   []uint32
}

var benchWeb = sync.OnceValue(func() *web {
	pages := 1_000_000
	if text := os.Getenv("TREFOIL_BENCH_PAGES"); text != "" {
		var err error
		if pages, err = strconv.Atoi(text); err != nil {
			panic(err)
		}
	}
	g := newWebGraph(uint32(pages))
	w := &web{}
	for _, p := range g.pages {
		w.uids = append(w.uids, g.uids[p])
	}
	for _, slots := range uid.AllSlots.Split(webCells) {
		c := g.cell(slots.Range())
		d, err := New(c)
		if err != nil {
			panic(err)
		}
		w.views = append(w.views, d.View())
		w.links += c.NumLinks(cell.Forward)
	}
	return w
})

func newWebGraph(pages uint32) *webGraph {
	graph, err := linkgen.New(linkgen.Options{Seed: 1, Pages: pages})
	if err != nil {
		panic(err)
	}
	g := &webGraph{graph: graph, uids: make([]uid.UID, pages), pages: make([]uint32, pages), ranks: make([]uint32, pages)}
	hosts := make(map[uid.Slot]uint32)
	for h := range graph.Hosts() {
		first, end := graph.HostPages(h)
		slot := uid.SlotOf(weburl.HostKey(string(graph.URL(first, nil))))
		hosts[slot]++
		for p := first; p < end; p++ {
			g.uids[p], g.pages[p] = uid.Make(slot, hosts[slot], p-first), p
		}
	}
	slices.SortFunc(g.pages, func(a, b uint32) int { return cmp.Compare(g.uids[a], g.uids[b]) })
	for i, p := range g.pages {
		g.ranks[p] = uint32(i)
	}
	g.turn()
	return g
}

// turn makes the backward links.
func (g *webGraph) turn() {
	var list []uint32
	ends := make([]uint32, len(g.pages)+1)
	for _, p := range g.pages {
		for _, q := range g.graph.Links(p, list[:0]) {
			ends[g.ranks[q]+1]++
		}
	}
	for i := range g.pages {
		ends[i+1] += ends[i]
	}
	g.starts = slices.Clone(ends)
	g.into = make([]uint32, ends[len(g.pages)])
	for i, p := range g.pages {
		for _, q := range g.graph.Links(p, list[:0]) {
			at := &ends[g.ranks[q]]
			g.into[*at] = uint32(i)
			*at++
		}
	}
}

// cell builds the cell of a range.
func (g *webGraph) cell(keys uid.Range) *cell.Cell {
	b, err := cell.NewBuilder(cell.Options{Range: keys})
	if err != nil {
		panic(err)
	}
	of := func(u uid.UID) int {
		i, _ := slices.BinarySearchFunc(g.pages, u, func(p uint32, u uid.UID) int { return cmp.Compare(g.uids[p], u) })
		return i
	}
	first, end := of(keys.First), len(g.pages)
	if keys.Last != ^uid.UID(0) {
		end = of(keys.Last + 1)
	}
	var url []byte
	for _, p := range g.pages[first:end] {
		url = g.graph.URL(p, url[:0])
		if err := b.AddPage(g.uids[p], url); err != nil {
			panic(err)
		}
	}
	var list []uint32
	var edges []cell.Edge
	for i := first; i < end; i++ {
		from := g.uids[g.pages[i]]
		edges = edges[:0]
		list = g.graph.Links(g.pages[i], list[:0])
		for _, q := range list {
			edges = append(edges, cell.Edge{From: from, To: g.uids[q]})
		}
		slices.SortFunc(edges, func(a, b cell.Edge) int { return cmp.Compare(a.To, b.To) })
		if err := b.AddEdges(cell.Forward, edges, nil); err != nil {
			panic(err)
		}
		edges = edges[:0]
		for _, rank := range g.into[g.starts[i]:g.starts[i+1]] {
			edges = append(edges, cell.Edge{From: from, To: g.uids[g.pages[rank]]})
		}
		if err := b.AddEdges(cell.Backward, edges, nil); err != nil {
			panic(err)
		}
	}
	data, err := b.Build()
	if err != nil {
		panic(err)
	}
	c, err := cell.Open(data)
	if err != nil {
		panic(err)
	}
	return c
}

// view returns the view of a page.
func (w *web) view(u uid.UID) *View { return w.views[int(u.Slot())*webCells/uid.NumSlots] }

// BenchmarkWeb reads the lists of random pages: of a hundred, of a thousand, and of all. The
// first two are in the processor's caches. If others use the machine, best-ns is the best
// figure: the time of a list in the fastest round of a thousand.
func BenchmarkWeb(b *testing.B) {
	const round = 1000
	w := benchWeb()
	for _, d := range []cell.Direction{cell.Forward, cell.Backward} {
		for _, pages := range []int{100, round, len(w.uids)} {
			b.Run(fmt.Sprintf("%s/pages=%d", d, pages), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 0))
				some := make([]uid.UID, max(1, min(pages, 1<<21)/round)*round)
				for i := range some {
					some[i] = w.uids[r.IntN(len(w.uids))]
					if i >= pages {
						some[i] = some[r.IntN(pages)]
					}
				}
				var dst []uid.UID
				links, at := 0, 0
				best := time.Duration(math.MaxInt64)
				for b.Loop() {
					start := time.Now()
					for _, u := range some[at : at+round] {
						dst = w.view(u).AppendLinks(dst[:0], d, u)
						links += len(dst)
					}
					best = min(best, time.Since(start))
					if at += round; at == len(some) {
						at = 0
					}
				}
				lists := float64(b.N * round)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(best.Nanoseconds())/round, "best-ns/list")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/lists, "ns/list")
				b.ReportMetric(float64(links)/lists, "links/list")
				b.ReportMetric(float64(w.links)/1e6, "Mlinks")
			})
		}
	}
}
