// Benchmarks of bytes and times on generated webs. TREFOIL_BENCH_PAGES is the number of pages;
// if it is not set, a million.

package cell

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/trefoildb/trefoil/internal/dataset/linkgen"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

// web is a generated web with UIDs.
type web struct {
	graph *linkgen.Graph
	uids  []uid.UID // by page of the graph
	pages []uint32  // by UID
	edges [2][]Edge // by Direction, sorted
}

// cpuTime returns the processor time of the process, in nanoseconds. It is steadier than the
// clock if others use the machine.
func cpuTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// cpu returns a function to call at the end of a benchmark. It reports the processor time an
// operation.
func cpu(b *testing.B) func() {
	before := cpuTime()
	return func() { b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op") }
}

var benchWeb = sync.OnceValue(func() *web {
	o := linkgen.Options{Seed: 1, Pages: 1_000_000}
	if text := os.Getenv("TREFOIL_BENCH_PAGES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			panic(err)
		}
		o.Pages = uint32(n)
	}
	return newWeb(o)
})

func newWeb(o linkgen.Options) *web {
	g, err := linkgen.New(o)
	if err != nil {
		panic(err)
	}
	w := &web{graph: g}
	w.number()
	w.link()
	return w
}

// number assigns the pages their UIDs.
func (w *web) number() {
	g := w.graph
	w.uids, w.pages = make([]uid.UID, g.Pages()), make([]uint32, g.Pages())
	next := make(map[uid.Slot]uint32)
	for h := range g.Hosts() {
		first, end := g.HostPages(h)
		slot := uid.SlotOf(weburl.HostKey(string(g.URL(first, nil))))
		next[slot]++
		for p := first; p < end; p++ {
			w.uids[p], w.pages[p] = uid.Make(slot, next[slot], p-first), p
		}
	}
	slices.SortFunc(w.pages, func(a, b uint32) int {
		if w.uids[a] < w.uids[b] {
			return -1
		}
		return 1
	})
}

// link makes the edges of both directions.
func (w *web) link() {
	g := w.graph
	var list []uint32
	into := make([]uint32, g.Pages()+1) // start of each page's backward links
	rank := make([]uint32, g.Pages())
	for i, p := range w.pages {
		rank[p] = uint32(i)
	}
	for _, p := range w.pages {
		from := len(w.edges[Forward])
		for _, q := range g.Links(p, list[:0]) {
			w.edges[Forward] = append(w.edges[Forward], Edge{w.uids[p], w.uids[q]})
			into[rank[q]+1]++
		}
		slices.SortFunc(w.edges[Forward][from:], compareEdges)
	}
	for i := range g.Pages() {
		into[i+1] += into[i]
	}
	w.edges[Backward] = make([]Edge, len(w.edges[Forward]))
	for _, p := range w.pages {
		for _, q := range g.Links(p, list[:0]) {
			w.edges[Backward][into[rank[q]]] = Edge{w.uids[q], w.uids[p]}
			into[rank[q]]++
		}
	}
}

// within returns the part of sorted edges from pages of keys.
func within(edges []Edge, keys uid.Range) []Edge {
	at := func(u uid.UID) int {
		i, _ := slices.BinarySearchFunc(edges, u, func(e Edge, u uid.UID) int {
			if e.From < u {
				return -1
			}
			return 1
		})
		return i
	}
	from, to := at(keys.First), len(edges)
	if keys.Last != ^uid.UID(0) {
		to = at(keys.Last + 1)
	}
	return edges[from:to]
}

// builder returns a builder with the pages of a range.
func (w *web) builder(o Options) *Builder {
	b, err := NewBuilder(o)
	if err != nil {
		panic(err)
	}
	var url []byte
	for _, p := range w.pages {
		if o.Range.Contains(w.uids[p]) {
			url = w.graph.URL(p, url[:0])
			if err := b.AddPage(w.uids[p], url); err != nil {
				panic(err)
			}
		}
	}
	return b
}

// finish adds the edges of a range and builds.
func (w *web) finish(b *Builder) []byte {
	var wg sync.WaitGroup
	for d := range w.edges {
		wg.Go(func() {
			if err := b.AddEdges(Direction(d), within(w.edges[d], b.opts.Range), nil); err != nil {
				panic(err)
			}
		})
	}
	wg.Wait()
	data, err := b.Build()
	if err != nil {
		panic(err)
	}
	return data
}

func (w *web) cell(o Options) *Cell {
	c, err := Open(w.finish(w.builder(o)))
	if err != nil {
		panic(err)
	}
	return c
}

var oneCell = sync.OnceValue(func() *Cell { return benchWeb().cell(Options{Range: uid.AllSlots.Range()}) })

// BenchmarkSize reports bytes a link and a page, of one cell and of sixteen.
func BenchmarkSize(b *testing.B) {
	w := benchWeb()
	for _, split := range []int{1, 16} {
		for _, codec := range []lists.Codec{lists.StreamVByte, lists.Reference} {
			b.Run(fmt.Sprintf("cells=%d/%s", split, codec), func(b *testing.B) {
				for b.Loop() {
					total := make(map[string]int)
					var links, pages, ghosts [2]int
					for _, slots := range uid.AllSlots.Split(split) {
						c := w.cell(Options{Range: slots.Range(), Lists: lists.Options{Codec: codec}})
						for name, n := range c.Sizes() {
							total[name] += n
						}
						for d := range links {
							links[d] += int(c.NumLinks(Direction(d)))
							ghosts[d] += c.Ghosts(Direction(d)).Len()
						}
						pages[0] += c.Len()
					}
					for d := range links {
						name := Direction(d).String()
						b.ReportMetric(float64(total[name+" lists"])/float64(links[d]), name+"-B/link")
						if ghosts[d] > 0 {
							b.ReportMetric(float64(total[name+" ghosts"])/float64(links[d]), name+"-ghosts-B/link")
							b.ReportMetric(float64(total[name+" ghosts"])/float64(ghosts[d]), name+"-B/ghost")
						}
					}
					b.ReportMetric(float64(total["page numbers"])/float64(pages[0]), "numbers-B/page")
					b.ReportMetric(float64(total["URLs"])/float64(pages[0]), "B/URL")
				}
			})
		}
	}
}

// BenchmarkBuild builds a cell of edges in memory. The time does not include the pages, because
// they come first.
func BenchmarkBuild(b *testing.B) {
	w := benchWeb()
	for _, split := range []int{1, 16} {
		b.Run(fmt.Sprintf("cells=%d", split), func(b *testing.B) {
			keys := uid.AllSlots.Split(split)[0].Range()
			links, cpu := 0, int64(0)
			for b.Loop() {
				b.StopTimer()
				builder := w.builder(Options{Range: keys})
				runtime.GC()
				b.StartTimer()
				cpu -= cpuTime()
				w.finish(builder)
				cpu += cpuTime()
				links += len(within(w.edges[Forward], keys))
			}
			b.ReportMetric(float64(links)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
			b.ReportMetric(float64(cpu)/float64(links), "cpu-ns/link")
		})
	}
}

func BenchmarkPages(b *testing.B) {
	w := benchWeb()
	for b.Loop() {
		w.builder(Options{Range: uid.AllSlots.Range()})
	}
	b.ReportMetric(float64(len(w.pages)*b.N)/b.Elapsed().Seconds()/1e6, "Mpages/s")
}

// BenchmarkAppendLinks reads lists of random pages, and the lists of a few pages repeatedly.
func BenchmarkAppendLinks(b *testing.B) {
	for _, split := range []int{1, 16} {
		c := oneCell()
		if split > 1 {
			c = benchWeb().cell(Options{Range: uid.AllSlots.Split(split)[3].Range()})
		}
		for _, d := range []Direction{Forward, Backward} {
			for name, pages := range map[string]uint32{"cached": 256, "all": uint32(c.Len())} {
				b.Run(fmt.Sprintf("cells=%d/%s/%s", split, d, name), func(b *testing.B) {
					r := rand.New(rand.NewPCG(1, 0))
					ords := make([]uint32, 1<<16)
					for i := range ords {
						ords[i] = r.Uint32N(pages) * uint32(c.Len()/int(pages))
					}
					var dst []uid.UID
					links, i := 0, 0
					defer cpu(b)()
					for b.Loop() {
						dst = c.AppendLinks(dst[:0], d, ords[i&(len(ords)-1)])
						links += len(dst)
						i++
					}
					b.ReportMetric(float64(links)/float64(b.N), "links")
				})
			}
		}
	}
}

// BenchmarkBatch reads lists of random pages like BenchmarkAppendLinks, but many at a time. An
// operation is one list.
func BenchmarkBatch(b *testing.B) {
	c := oneCell()
	cells := slices.Repeat([]*Cell{c}, BatchLen)
	for _, d := range []Direction{Forward, Backward} {
		for name, pages := range map[string]uint32{"cached": 256, "all": uint32(c.Len())} {
			b.Run(fmt.Sprintf("%s/%s", d, name), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 0))
				uids := make([]uid.UID, 1<<16)
				for i := range uids {
					uids[i] = c.UID(r.Uint32N(pages) * uint32(c.Len()/int(pages)))
				}
				batch := new(Batch)
				var dst []uid.UID
				links, i := 0, 0
				defer cpu(b)()
				for b.Loop() {
					k := i % BatchLen
					if k == 0 {
						batch.Read(d, cells, uids[i&(len(uids)-1):][:BatchLen])
					}
					dst = batch.AppendLinks(dst[:0], k)
					links += len(dst)
					i++
				}
				b.ReportMetric(float64(links)/float64(b.N), "links")
			})
		}
	}
}

// BenchmarkLarge reads random lists of one cell of 140 million forward links. It does not keep
// the edges. It runs only if TREFOIL_BENCH_LARGE is set, because it takes a minute and 2.5 GB.
func BenchmarkLarge(b *testing.B) {
	if os.Getenv("TREFOIL_BENCH_LARGE") == "" {
		b.Skip("TREFOIL_BENCH_LARGE is not set")
	}
	g, err := linkgen.New(linkgen.Options{Seed: 1, Pages: 8_000_000})
	if err != nil {
		b.Fatal(err)
	}
	w := &web{graph: g}
	w.number()
	builder := w.builder(Options{Range: uid.AllSlots.Range()})
	var edges []Edge
	var list []uint32
	for i, p := range w.pages {
		list = g.Links(p, list[:0])
		from := len(edges)
		for _, q := range list {
			edges = append(edges, Edge{w.uids[p], w.uids[q]})
		}
		slices.SortFunc(edges[from:], compareEdges)
		if len(edges) >= batchEdges || i == len(w.pages)-1 {
			if err := builder.AddEdges(Forward, edges, nil); err != nil {
				b.Fatal(err)
			}
			edges = edges[:0]
		}
	}
	data, err := builder.Build()
	if err != nil {
		b.Fatal(err)
	}
	builder, w = nil, nil
	c, err := Open(data)
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	r := rand.New(rand.NewPCG(1, 0))
	var dst []uid.UID
	links := 0
	defer cpu(b)()
	for b.Loop() {
		dst = c.AppendLinks(dst[:0], Forward, r.Uint32N(uint32(c.Len())))
		links += len(dst)
	}
	b.ReportMetric(float64(links)/float64(b.N), "links")
	b.ReportMetric(float64(c.NumLinks(Forward))/1e6, "Mlinks")
	b.ReportMetric(float64(len(data))/float64(c.NumLinks(Forward)), "B/link-with-URLs")
}

func BenchmarkNumbers(b *testing.B) {
	c := oneCell()
	r := rand.New(rand.NewPCG(1, 0))
	ords, uids := make([]uint32, 1<<16), make([]uid.UID, 1<<16)
	for i := range ords {
		ords[i] = r.Uint32N(uint32(c.Len()))
		uids[i] = c.UID(ords[i])
	}
	sum := uint64(0)
	b.Run("UID", func(b *testing.B) {
		defer cpu(b)()
		for i := 0; b.Loop(); i++ {
			sum += uint64(c.UID(ords[i&(len(ords)-1)]))
		}
	})
	b.Run("Ordinal", func(b *testing.B) {
		defer cpu(b)()
		for i := 0; b.Loop(); i++ {
			ord, _ := c.Ordinal(uids[i&(len(uids)-1)])
			sum += uint64(ord)
		}
	})
	b.Run("Find", func(b *testing.B) {
		urls := make([]string, 1<<12)
		for i := range urls {
			urls[i] = string(c.AppendURL(nil, ords[i]))
		}
		defer cpu(b)()
		for i := 0; b.Loop(); i++ {
			ord, _ := c.Find(urls[i&(len(urls)-1)])
			sum += uint64(ord)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	data := oneCell().Bytes()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Open(data); err != nil {
			b.Fatal(err)
		}
	}
}
