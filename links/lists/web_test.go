// Graphs of the benchmarks: a generated web, split into cells, and the hosts' links of 1996.

package lists

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/dataset/linkgen"
)

// web is a graph of pages, numbered by host, in URL order.
type web struct {
	hostOf  []uint32 // by page
	forward [][]uint32
	links   int
}

// generate returns a generated web of about 20 pages a host.
func generate(pages uint32) *web {
	g, err := linkgen.New(linkgen.Options{Pages: pages, Seed: 1})
	if err != nil {
		panic(err)
	}
	w := &web{hostOf: make([]uint32, pages), forward: make([][]uint32, pages)}
	for p := range pages {
		w.hostOf[p] = g.Host(p)
		w.forward[p] = slices.Clip(g.Links(p, nil))
		w.links += len(w.forward[p])
	}
	return w
}

// backward returns the reversed links.
func (w *web) backward() *web {
	count := make([]int, len(w.forward))
	for _, list := range w.forward {
		for _, v := range list {
			count[v]++
		}
	}
	out := &web{hostOf: w.hostOf, forward: make([][]uint32, len(w.forward)), links: w.links}
	for v, n := range count {
		out.forward[v] = make([]uint32, 0, n)
	}
	for u, list := range w.forward {
		for _, v := range list {
			out.forward[v] = append(out.forward[v], uint32(u))
		}
	}
	return out
}

// part is a cell: its lists and the number of distinct ghosts.
type part struct {
	graph  []links
	ghosts int
}

// cells splits a web by host into n parts and numbers locals and ghosts.
func (w *web) cells(n int) []part {
	cellOf := func(p uint32) int { return int(uint64(w.hostOf[p]) * 0x9e3779b97f4a7c15 >> 40 % uint64(n)) }
	ordinal := make([]uint32, len(w.forward))
	parts := make([]part, n)
	sizes := make([]uint32, n)
	for p := range w.forward {
		c := cellOf(uint32(p))
		ordinal[p] = sizes[c]
		sizes[c]++
	}
	for c := range parts {
		seen := map[uint32]bool{}
		for p, list := range w.forward {
			if cellOf(uint32(p)) != c {
				continue
			}
			for _, v := range list {
				if cellOf(v) != c {
					seen[v] = true
				}
			}
		}
		number := numberGhosts(seen)
		parts[c].ghosts = len(seen)
		for p, list := range w.forward {
			if cellOf(uint32(p)) != c {
				continue
			}
			var l links
			for _, v := range list {
				if cellOf(v) == c {
					l.locals = append(l.locals, ordinal[v])
				} else {
					l.ghosts = append(l.ghosts, number[v])
				}
			}
			slices.Sort(l.ghosts)
			parts[c].graph = append(parts[c].graph, l)
		}
	}
	return parts
}

func numberGhosts(seen map[uint32]bool) map[uint32]uint32 {
	ids := make([]uint32, 0, len(seen))
	for v := range seen {
		ids = append(ids, v)
	}
	slices.Sort(ids)
	number := make(map[uint32]uint32, len(ids))
	for i, v := range ids {
		number[v] = uint32(i)
	}
	return number
}

var theWeb = sync.OnceValue(func() *web { return generate(1_000_000) })
var theBackward = sync.OnceValue(func() *web { return theWeb().backward() })
var sixteen = sync.OnceValue(func() [2][]part {
	return [2][]part{theWeb().cells(16), theBackward().cells(16)}
})

// hosts1996 returns the graph of hosts beside the project, as one cell, in both directions.
func hosts1996(b *testing.B) [2][]part {
	b.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "weblinks", "1996-uk-web-hosts.tsv.gz"))
	if err != nil {
		b.Skip("the hosts of 1996 are not beside the project: ", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	type edge struct{ from, to string }
	var edges []edge
	names := map[string]uint32{}
	for sc := bufio.NewScanner(z); sc.Scan(); {
		line, _, _ := strings.Cut(sc.Text(), "\t")
		f := strings.Split(line, "|")
		if len(f) != 3 {
			continue
		}
		e := edge{reversed(f[1]), reversed(f[2])}
		edges = append(edges, e)
		names[e.from], names[e.to] = 0, 0
	}
	sorted := make([]string, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	for i, n := range sorted {
		names[n] = uint32(i)
	}
	var out [2][]part
	for d := range out {
		p := part{graph: make([]links, len(sorted))}
		for _, e := range edges {
			from, to := names[e.from], names[e.to]
			if d == 1 {
				from, to = to, from
			}
			p.graph[from].locals = append(p.graph[from].locals, to)
		}
		for i := range p.graph {
			l := &p.graph[i].locals
			slices.Sort(*l)
			*l = slices.Compact(*l)
		}
		out[d] = []part{p}
	}
	return out
}

func reversed(host string) string {
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// count returns the lists and links of cells.
func count(parts []part) (lists, links, ghosts, distinct int) {
	for _, p := range parts {
		for _, l := range p.graph {
			links += l.degree()
			ghosts += len(l.ghosts)
		}
		lists += len(p.graph)
		distinct += p.ghosts
	}
	return lists, links, ghosts, distinct
}
