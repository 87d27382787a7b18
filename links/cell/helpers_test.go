// Helpers of the tests: graphs as plain maps, and random ones.

package cell

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links/uid"
)

var random = seed.Rand

// graph is the oracle: all links of a web. A cell has its pages in keys.
type graph struct {
	keys  uid.Range
	pages map[uid.UID]string
	links map[Edge]Label // From links to To
}

func newGraph(keys uid.Range) *graph {
	return &graph{keys: keys, pages: make(map[uid.UID]string), links: make(map[Edge]Label)}
}

// own returns the pages of the cell, ascending.
func (g *graph) own() []uid.UID {
	var own []uid.UID
	for u := range g.pages {
		if g.keys.Contains(u) {
			own = append(own, u)
		}
	}
	slices.Sort(own)
	return own
}

// edges returns the cell's edges in direction d, sorted.
func (g *graph) edges(d Direction) (edges []Edge, labels []Label) {
	for e := range g.links {
		if d == Backward {
			e = Edge{From: e.To, To: e.From}
		}
		// An unknown target has no list.
		if _, there := g.pages[e.From]; there && g.keys.Contains(e.From) {
			edges = append(edges, e)
		}
	}
	slices.SortFunc(edges, compareEdges)
	if d == Forward {
		for _, e := range edges {
			labels = append(labels, g.links[e])
		}
	}
	return edges, labels
}

func compareEdges(a, b Edge) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}

// build builds the cell of g. If tweak is not nil, it may change the builder before edges come.
func (g *graph) build(tb testing.TB, o Options, tweak func(*Builder)) *Cell {
	tb.Helper()
	c, err := Open(g.bytes(tb, o, tweak))
	require.NoError(tb, err)
	return c
}

func (g *graph) bytes(tb testing.TB, o Options, tweak func(*Builder)) []byte {
	tb.Helper()
	o.Range = g.keys
	b, err := NewBuilder(o)
	require.NoError(tb, err)
	if tweak != nil {
		tweak(b)
	}
	for _, u := range g.own() {
		require.NoError(tb, b.AddPage(u, []byte(g.pages[u])))
	}
	for _, d := range []Direction{Forward, Backward} {
		edges, labels := g.edges(d)
		if !Labelled(labels) {
			labels = nil
		}
		require.NoError(tb, b.AddEdges(d, edges, labels))
	}
	data, err := b.Build()
	require.NoError(tb, err)
	return data
}

// check compares every answer of c with g.
func (g *graph) check(tb testing.TB, c *Cell) {
	tb.Helper()
	if c.Range() != g.keys {
		tb.Errorf("range %s, want %s", c.Range(), g.keys)
	}
	g.checkNumbers(tb, c)
	own := g.own()
	for i, u := range own {
		ord := uint32(i)
		if got := string(c.AppendURL([]byte("x"), ord)); got != "x"+g.pages[u] {
			tb.Fatalf("ordinal %d has URL %.200q, want %.200q", i, got[1:], g.pages[u])
		}
		if got, ok := c.Find(g.pages[u]); !ok || got != ord {
			tb.Fatalf("%.200q is ordinal %d, %t, want %d", g.pages[u], got, ok, i)
		}
	}
	for _, d := range []Direction{Forward, Backward} {
		g.checkLinks(tb, c, d, own)
	}
	if err := c.Verify(); err != nil {
		tb.Error(err)
	}
	if err := c.Err(); err != nil {
		tb.Error(err)
	}
}

// checkNumbers compares UIDs and ordinals.
func (g *graph) checkNumbers(tb testing.TB, c *Cell) {
	tb.Helper()
	own := g.own()
	if c.Len() != len(own) {
		tb.Fatalf("%d pages, want %d", c.Len(), len(own))
	}
	for i, u := range own {
		ord := uint32(i)
		if got := c.UID(ord); got != u {
			tb.Fatalf("ordinal %d has UID %s, want %s", i, got, u)
		}
		if got, ok := c.Ordinal(u); !ok || got != ord {
			tb.Fatalf("UID %s has ordinal %d, %t, want %d", u, got, ok, i)
		}
		for _, near := range []uid.UID{u - 1, u + 1} {
			if _, there := g.pages[near]; there && g.keys.Contains(near) {
				continue
			}
			if got, ok := c.Ordinal(near); ok {
				tb.Fatalf("UID %s, no page, has ordinal %d", near, got)
			}
		}
	}
	if u := c.UID(uint32(len(own))); u != 0 {
		tb.Errorf("the ordinal behind the last one has UID %s", u)
	}
}

func (g *graph) checkLinks(tb testing.TB, c *Cell, d Direction, own []uid.UID) {
	tb.Helper()
	edges, labels := g.edges(d)
	ghosts := make(map[uid.UID]bool)
	maxDegree, at := 0, 0
	for i, u := range own {
		from := at
		var want []uid.UID
		for ; at < len(edges) && edges[at].From == u; at++ {
			want = append(want, edges[at].To)
			if _, there := g.pages[edges[at].To]; !there || !g.keys.Contains(edges[at].To) {
				ghosts[edges[at].To] = true
			}
		}
		maxDegree = max(maxDegree, len(want))
		if got := c.AppendLinks([]uid.UID{7}, d, uint32(i))[1:]; !slices.Equal(got, want) {
			tb.Fatalf("%s links of %s: %v, want %v", d, u, got, want)
		}
		if got := c.Degree(d, uint32(i)); got != len(want) {
			tb.Fatalf("%s degree of %s: %d, want %d", d, u, got, len(want))
		}
		if got := slices.Collect(c.Links(d, uint32(i))); !slices.Equal(got, want) {
			tb.Fatalf("%s links of %s one by one: %v, want %v", d, u, got, want)
		}
		if d == Forward {
			if got := c.AppendLabels(nil, uint32(i)); !slices.Equal(got, labels[from:at]) {
				tb.Fatalf("labels of %s: %v, want %v", u, got, labels[from:at])
			}
		}
	}
	if got := c.NumLinks(d); got != int64(len(edges)) {
		tb.Errorf("%d %s links, want %d", got, d, len(edges))
	}
	if got := c.MaxDegree(d); got != maxDegree {
		tb.Errorf("greatest %s degree %d, want %d", d, got, maxDegree)
	}
	want := slices.Sorted(maps.Keys(ghosts))
	var got []uid.UID
	for i := range c.Ghosts(d).Len() {
		u := c.Ghosts(d).UID(uint32(i))
		got = append(got, u)
		if back, ok := c.Ghosts(d).Index(u); !ok || int(back) != i {
			tb.Fatalf("%s ghost %s has index %d, %t, want %d", d, u, back, ok, i)
		}
	}
	if !slices.Equal(got, want) {
		tb.Fatalf("%s ghosts %v, want %v", d, got, want)
	}
	beyond := uint32(len(own))
	if c.Degree(d, beyond) != 0 || len(c.AppendLinks(nil, d, beyond)) != 0 || len(c.AppendLabels(nil, beyond)) != 0 {
		tb.Errorf("the page behind the last one has %s links", d)
	}
}

// randomGraph returns a web of at most that many pages and links. It has holes, pages known only
// as ends of links, labels on some links, and a cell somewhere in it.
func randomGraph(r *rand.Rand, maxPages, maxLinks int) *graph {
	slots := uid.Slots{First: uid.Slot(r.IntN(4)), Last: 0}
	slots.Last = slots.First + uid.Slot(r.IntN(4))
	g := newGraph(slots.Range())
	var all []uid.UID
	hosts, dense := 1+r.IntN(5), r.IntN(3) > 0
	for len(all) < maxPages && r.IntN(200) > 0 {
		slot := uid.Slot(r.IntN(8))
		host := uint32(1 + r.IntN(hosts))
		page := uint32(r.IntN(1 + maxPages/8))
		if !dense && r.IntN(20) == 0 {
			host, page = uint32(1+r.IntN(uid.MaxHost)), uint32(r.IntN(uid.ExtentPages))
		}
		u := uid.Make(slot, host, page)
		all = append(all, u)
		// Some targets of the range must be no page.
		if r.IntN(50) > 0 || !g.keys.Contains(u) {
			g.pages[u] = fmt.Sprintf("http://h%d-%d.example/%s%d", slot, host, []string{"", "a/", "b/c/"}[r.IntN(3)], u)
		}
	}
	own := g.own()
	labels := r.IntN(2) == 0
	for range r.IntN(maxLinks + 1) {
		if len(own) == 0 {
			break
		}
		// Half of the links stay within the cell; some pages are popular.
		e := Edge{own[r.IntN(len(own))], all[r.IntN(1+r.IntN(len(all)))]}
		if r.IntN(2) == 0 {
			e.To = own[r.IntN(len(own))]
		}
		if r.IntN(2) == 0 {
			e.From, e.To = e.To, e.From
		}
		if _, there := g.pages[e.From]; !there && g.keys.Contains(e.From) {
			continue
		}
		label := NoLabel
		if labels && r.IntN(3) == 0 {
			label = Label{Weight: float64(r.IntN(3)), Anchor: "anchor"[:r.IntN(6)]}
		}
		g.links[e] = label
	}
	return g
}
