// This file tests cells against plain maps: random webs and odd ones.

package cell

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

// allOptions lists the ways to code a cell.
func allOptions() map[string]Options {
	all := map[string]Options{}
	for codec := lists.Codec(1); codec < 16; codec++ {
		o := lists.Options{Codec: codec}
		if o.Validate() != nil {
			continue
		}
		all[codec.String()] = Options{Lists: o}
		all[codec.String()+", one worker"] = Options{Lists: o, Workers: 1}
	}
	return all
}

func TestRandomWebs(t *testing.T) {
	for name, o := range allOptions() {
		t.Run(name, func(t *testing.T) {
			r := random(t)
			rounds := 20
			if testing.Short() {
				rounds = 5
			}
			for range rounds {
				g := randomGraph(r, 300, 2000)
				o.Epoch, o.Meta = r.Uint64(), []byte("meta"[:r.IntN(5)])
				c := g.build(t, o, func(b *Builder) {
					b.sides[0].batch, b.sides[1].batch = 1+r.IntN(50), 1+r.IntN(50)
				})
				g.check(t, c)
				c.pages.table = runTable{} // the sequences must answer
				g.check(t, c)
				if c.Epoch() != o.Epoch || !bytes.Equal(c.Meta(), o.Meta) {
					t.Errorf("epoch %d, meta %q, want %d, %q", c.Epoch(), c.Meta(), o.Epoch, o.Meta)
				}
			}
		})
	}
}

// oddWebs are shapes that random webs lack.
func oddWebs(r *rand.Rand) map[string]*graph {
	webs := make(map[string]*graph)
	web := func(name string, keys uid.Range) *graph {
		webs[name] = newGraph(keys)
		return webs[name]
	}
	all := uid.Range{Last: math.MaxUint64}
	page := func(g *graph, u uid.UID) uid.UID {
		g.pages[u] = fmt.Sprintf("http://%d.example/%d", u.Extent(), u.Page())
		return u
	}
	link := func(g *graph, from, to uid.UID) { g.links[Edge{from, to}] = NoLabel }

	web("empty", all)
	page(web("single page", all), uid.Make(5, 1, 0))
	g := web("self-link", all)
	link(g, page(g, uid.Make(5, 1, 0)), uid.Make(5, 1, 0))
	g = web("least and greatest", all)
	link(g, page(g, 1<<uid.PageBits), page(g, math.MaxUint64))
	link(g, math.MaxUint64, math.MaxUint64)
	g = web("greatest with its neighbours", all)
	for i := range uid.UID(3) {
		link(g, page(g, math.MaxUint64-i), math.MaxUint64)
	}
	g = web("pages without links", all)
	for i := range uint32(100) {
		page(g, uid.Make(3, 1, i))
	}
	g = web("hosts of one page", all)
	for i := range uint32(3000) {
		page(g, uid.Make(uid.Slot(i%7), 1+i/7, 0))
	}
	for i := range uint32(3000) {
		link(g, uid.Make(uid.Slot(i%7), 1+i/7, 0), uid.Make(uid.Slot(i*5%3000%7), 1+i*5%3000/7, 0))
	}
	slot4 := uid.Slots{First: 4, Last: 4}.Range()
	g = web("all to one, one to all", slot4)
	hub := page(g, uid.Make(4, 2, 17))
	for i := range uint32(5000) {
		u := page(g, uid.Make(uid.Slot(3+i%3), 1+i/3%4, 100+i))
		link(g, hub, u)
		link(g, u, hub)
	}
	g = web("holes", slot4)
	for i := range uint32(2000) {
		page(g, uid.Make(4, 1+i/100, i*uint32(1+r.IntN(2))))
	}
	own := g.own()
	for range 5000 {
		link(g, own[r.IntN(len(own))], own[r.IntN(len(own))])
	}
	g = web("ghosts between locals", all)
	for i := range uint32(50) {
		u := page(g, uid.Make(uid.Slot(1+i%3), 1, 2*i+2))
		link(g, u, u)
		link(g, u, u+1)
		link(g, u, u-1)
	}
	g = web("hosts that are full", all)
	for i := range uint32(20) {
		page(g, uid.Make(4, 1+i/4, i%4))
	}
	g = web("long URLs", all)
	for i := range uint32(3) {
		g.pages[uid.Make(4, 1, i)] = "http://a.example/" + strings.Repeat("x", int(i)*100_000)
	}
	g = web("odd names", all)
	for i, name := range []string{"", "x", ":", "urn:isbn:1", "mailto:a@b", "http://[2001:db8::1]:80/a", "http://\xff\xfe/", "HTTP://A.example", "http://a.example", "http://a.example/", "https://a.example/"} {
		g.pages[uid.Make(4, uint32(1+i/3), uint32(i))] = name
	}
	return webs
}

func TestOddWebs(t *testing.T) {
	webs := oddWebs(random(t))
	for name, g := range webs {
		t.Run(name, func(t *testing.T) {
			for how, o := range allOptions() {
				c := g.build(t, o, nil)
				g.check(t, c)
				c.pages.table = runTable{}
				g.checkNumbers(t, c)
				if t.Failed() {
					t.Fatalf("with %s", how)
				}
			}
		})
	}
}

// TestWorkers builds one cell with several numbers of workers. The bytes must be the same.
func TestWorkers(t *testing.T) {
	r := random(t)
	g := randomGraph(r, 3000, 60_000)
	want := g.bytes(t, Options{Workers: 1}, nil)
	for _, workers := range []int{2, 5} {
		for _, batch := range []int{7, 1000, 5 * minPart, batchEdges} {
			got := g.bytes(t, Options{Workers: workers}, func(b *Builder) {
				b.sides[0].batch, b.sides[1].batch = batch, batch
			})
			if !bytes.Equal(got, want) {
				t.Errorf("%d workers with batches of %d give other bytes than one", workers, batch)
			}
		}
	}
}

// TestManyRuns reads a cell with a large table of runs.
func TestManyRuns(t *testing.T) {
	r := random(t)
	g := newGraph(uid.Slots{First: 4, Last: 7}.Range())
	var all []uid.UID
	for i := range uint32(300_000) {
		u := uid.Make(uid.Slot(4+i/75_000), 1+i%75_000/8, 1+i%8)
		g.pages[u] = u.String()
		all = append(all, u)
	}
	for range 20 {
		from := all[r.IntN(len(all))]
		for range 1 + r.IntN(300) {
			g.links[Edge{from, all[r.IntN(len(all))]}] = NoLabel
		}
	}
	c := g.build(t, Options{}, nil)
	if n := len(c.pages.table.runs); n < 1<<15 {
		t.Fatalf("a table of %d runs", n)
	}
	g.checkNumbers(t, c)
	for _, d := range []Direction{Forward, Backward} {
		edges, _ := g.edges(d)
		for len(edges) > 0 {
			n := 1
			for n < len(edges) && edges[n].From == edges[0].From {
				n++
			}
			ord, _ := c.Ordinal(edges[0].From)
			got := c.AppendLinks(nil, d, ord)
			for i, e := range edges[:n] {
				if len(got) != n || got[i] != e.To {
					t.Fatalf("%s links of %s: %v, want %v", d, e.From, got, edges[:n])
				}
			}
			edges = edges[n:]
		}
	}
}

func TestDuplicates(t *testing.T) {
	b, err := NewBuilder(Options{Workers: 3})
	require.NoError(t, err)
	u, v := uid.Make(1, 1, 1), uid.Make(1, 1, 2)
	for _, p := range []uid.UID{u, v} {
		require.NoError(t, b.AddPage(p, []byte(p.String())))
	}
	// The copies of one edge must end up in different parts and batches.
	first := Label{Weight: 2, Anchor: "first"}
	for i := range 3 * batchEdges / 2 {
		label := NoLabel
		if i == 0 {
			label = first
		}
		require.NoError(t, b.AddEdges(Forward, []Edge{{u, v}}, []Label{label}))
	}
	data, err := b.Build()
	require.NoError(t, err)
	c, err := Open(data)
	require.NoError(t, err)
	if got := c.AppendLinks(nil, Forward, 0); len(got) != 1 || got[0] != v {
		t.Errorf("links %v", got)
	}
	if got := c.AppendLabels(nil, 0); len(got) != 1 || got[0] != first {
		t.Errorf("labels %v", got)
	}
	if got := b.Duplicates(Forward); got != 3*batchEdges/2-1 {
		t.Errorf("%d duplicates", got)
	}
}
