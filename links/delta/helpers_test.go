// Helpers of the tests: a web as a plain map, and random changes.

package delta

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

var random = seed.Rand

// testRange is the range of the tests' cells.
var testRange = uid.Slots{First: 4, Last: 6}.Range()

// model is the oracle of a view.
type model struct {
	pages map[uid.UID]string
	links [2]map[uid.UID]map[uid.UID]cell.Label // by direction, key and target
}

func newModel() *model {
	m := &model{pages: make(map[uid.UID]string)}
	for d := range m.links {
		m.links[d] = make(map[uid.UID]map[uid.UID]cell.Label)
	}
	return m
}

func (m *model) clone() *model {
	c := newModel()
	maps.Copy(c.pages, m.pages)
	for d := range m.links {
		for key, targets := range m.links[d] {
			for target, label := range targets {
				c.add(cell.Direction(d), key, target, label)
			}
		}
	}
	return c
}

func (m *model) add(d cell.Direction, key, target uid.UID, label cell.Label) {
	if m.links[d][key] == nil {
		m.links[d][key] = make(map[uid.UID]cell.Label)
	}
	m.links[d][key][target] = label
}

func (m *model) sortedPages() []uid.UID {
	var all []uid.UID
	for u := range m.pages {
		all = append(all, u)
	}
	slices.Sort(all)
	return all
}

// list returns the links of key, ascending, and their labels.
func (m *model) list(d cell.Direction, key uid.UID) (targets []uid.UID, labels []cell.Label) {
	for target := range m.links[d][key] {
		targets = append(targets, target)
	}
	slices.Sort(targets)
	for _, target := range targets {
		labels = append(labels, m.links[d][key][target])
	}
	return targets, labels
}

// linked reports whether u has a link in any direction.
func (m *model) linked(u uid.UID) bool {
	return len(m.links[cell.Forward][u])+len(m.links[cell.Backward][u]) > 0
}

// cell builds the cell of the model.
func (m *model) cell(tb testing.TB, o cell.Options) *cell.Cell {
	tb.Helper()
	o.Range = testRange
	b, err := cell.NewBuilder(o)
	require.NoError(tb, err)
	pages := m.sortedPages()
	for _, u := range pages {
		require.NoError(tb, b.AddPage(u, []byte(m.pages[u])))
	}
	for _, d := range []cell.Direction{cell.Forward, cell.Backward} {
		for _, u := range pages {
			var edges []cell.Edge
			targets, labels := m.list(d, u)
			for _, target := range targets {
				edges = append(edges, cell.Edge{From: u, To: target})
			}
			if d == cell.Backward {
				labels = nil
			}
			require.NoError(tb, b.AddEdges(d, edges, labels))
		}
	}
	data, err := b.Build()
	require.NoError(tb, err)
	c, err := cell.Open(data)
	require.NoError(tb, err)
	return c
}

// check compares every answer of v with the model.
func (m *model) check(tb testing.TB, v *View) {
	tb.Helper()
	if v.NumPages() != len(m.pages) {
		tb.Fatalf("epoch %d: %d pages, want %d", v.Epoch(), v.NumPages(), len(m.pages))
	}
	var links [2]int64
	var maxDegree [2]int
	linked := 0
	for u, url := range m.pages {
		got, ok := v.AppendURL([]byte("x"), u)
		if !ok || string(got) != "x"+url || !v.Has(u) {
			tb.Fatalf("epoch %d: page %s is %q, %t, want %q", v.Epoch(), u, got, ok, url)
		}
		if got, ok := v.Find(url); !ok || got != u {
			tb.Fatalf("epoch %d: %q is page %s, %t, want %s", v.Epoch(), url, got, ok, u)
		}
		some := false
		for _, d := range []cell.Direction{cell.Forward, cell.Backward} {
			targets, labels := m.list(d, u)
			links[d] += int64(len(targets))
			some = some || len(targets) > 0
			maxDegree[d] = max(maxDegree[d], len(targets))
			if got := v.AppendLinks([]uid.UID{3}, d, u)[1:]; !slices.Equal(got, targets) {
				tb.Fatalf("epoch %d: %s links of %s: %v, want %v", v.Epoch(), d, u, got, targets)
			}
			if got := slices.Collect(v.Links(d, u)); !slices.Equal(got, targets) {
				tb.Fatalf("epoch %d: %s links of %s one by one: %v, want %v", v.Epoch(), d, u, got, targets)
			}
			if got := v.Degree(d, u); got != len(targets) {
				tb.Fatalf("epoch %d: %s degree of %s: %d, want %d", v.Epoch(), d, u, got, len(targets))
			}
			if got := v.AppendLabels(nil, u); d == cell.Forward && !slices.Equal(got, labels) {
				tb.Fatalf("epoch %d: labels of %s: %v, want %v", v.Epoch(), u, got, labels)
			}
		}
		if v.Linked(u) != some {
			tb.Fatalf("epoch %d: page %s has links: %t", v.Epoch(), u, !some)
		}
		if some {
			linked++
		}
	}
	if got := v.NumLinked(); got != linked || v.Collectable() != (linked < len(m.pages)) {
		tb.Fatalf("epoch %d: %d pages with links, want %d", v.Epoch(), got, linked)
	}
	for _, d := range []cell.Direction{cell.Forward, cell.Backward} {
		if got := v.NumLinks(d); got != links[d] {
			tb.Fatalf("epoch %d: %d %s links, want %d", v.Epoch(), got, d, links[d])
		}
		if got := v.MaxDegree(d); got != maxDegree[d] {
			tb.Fatalf("epoch %d: greatest %s degree %d, want %d", v.Epoch(), d, got, maxDegree[d])
		}
	}
	m.checkReader(tb, v)
	m.checkScan(tb, v)
}

// checkReader compares a reader's results for all pages at once and for an unknown one, twice.
func (m *model) checkReader(tb testing.TB, v *View) {
	tb.Helper()
	r := NewReader()
	defer r.Release()
	views := slices.Repeat([]*View{v}, ReaderLen)
	for pages := range slices.Chunk(append(m.sortedPages(), 7), ReaderLen) {
		for _, d := range []cell.Direction{cell.Forward, cell.Backward, cell.Backward} {
			r.Read(d, views, pages)
			for i, u := range pages {
				targets, _ := m.list(d, u)
				if got := r.AppendLinks([]uid.UID{3}, i)[1:]; !slices.Equal(got, targets) || r.Degree(i) != len(targets) {
					tb.Fatalf("epoch %d: a reader says that %s links of %s are %d, %v, want %v", v.Epoch(), d, u, r.Degree(i), got, targets)
				}
			}
		}
		m.checkTargets(tb, v, r, pages)
		urls, hosts := make([]string, len(pages)), make([]uint64, len(pages))
		r.ReadURLs(views, pages)
		for i, u := range pages {
			url, known := m.pages[u]
			if got, ok := r.AppendURL([]byte("x"), i); ok != known || string(got) != "x"+url {
				tb.Fatalf("epoch %d: a reader says that page %s is %q, %t, want %q", v.Epoch(), u, got, ok, url)
			}
			if urls[i] = url; !known {
				urls[i] = "http://nobody.example/"
			}
			hosts[i] = cell.HostHash(urls[i])
		}
		r.FindURLs(views, urls, hosts)
		for i, u := range pages {
			if got, ok := r.UID(i); ok != (u != 7) || ok && got != u {
				tb.Fatalf("epoch %d: a reader says that %q is page %s, %t, want %s", v.Epoch(), urls[i], got, ok, u)
			}
		}
	}
}

// checkTargets compares the stored links of the cell's pages if no row changes them.
func (m *model) checkTargets(tb testing.TB, v *View, r *Reader, pages []uid.UID) {
	tb.Helper()
	views := slices.Repeat([]*View{v}, ReaderLen)
	r.Find(views, pages)
	var known []uid.UID
	var ords []uint32
	for i, u := range pages {
		want, there := v.Cell().Ordinal(u)
		ord, ok := r.Ordinal(i)
		if ok != there || ok && ord != want {
			tb.Fatalf("epoch %d: a reader says that page %s is %d, %t, want %d, %t", v.Epoch(), u, ord, ok, want, there)
		}
		if ok {
			known, ords = append(known, u), append(ords, ord)
		}
	}
	for _, d := range []cell.Direction{cell.Forward, cell.Backward} {
		r.ReadTargets(d, views, known, ords)
		for i, u := range known {
			want, _ := m.list(d, u)
			if got := r.AppendLinks(nil, i); !slices.Equal(got, want) {
				tb.Fatalf("epoch %d: a reader says that %s links of %s are %v, want %v", v.Epoch(), d, u, got, want)
			}
			e, s := v.entry(d, u)
			if s != nil {
				s.release()
			}
			if r.Changed(i) != (e != nil) {
				tb.Fatalf("epoch %d: a reader says that %s links of %s have changed: %t", v.Epoch(), d, u, r.Changed(i))
			}
			if e != nil {
				continue
			}
			locals, got := r.AppendTargets(nil, nil, i)
			if some, ghosts, ok := r.Targets(i); ok && (!slices.Equal(some, locals) || ghosts != len(got) || !slices.Equal(r.AppendGhosts(nil, i), got)) {
				tb.Fatalf("epoch %d: a reader says that %s links of %s are to %v and to %d others, then to %v and %v", v.Epoch(), d, u, some, ghosts, locals, got)
			}
			for _, ord := range locals {
				got = append(got, v.Cell().UID(ord))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				tb.Fatalf("epoch %d: a reader says that the targets of %s links of %s are %v, want %v", v.Epoch(), d, u, got, want)
			}
		}
	}
}

// checkScan compares a view's passes for the next cell.
func (m *model) checkScan(tb testing.TB, v *View) {
	tb.Helper()
	pages := m.sortedPages()
	i := 0
	for p := range v.Pages() {
		if i == len(pages) || p.UID != pages[i] || string(p.URL) != m.pages[p.UID] || p.Linked != m.linked(p.UID) {
			tb.Fatalf("epoch %d: page %d is %v %q", v.Epoch(), i, p, p.URL)
		}
		i++
	}
	if i != len(pages) {
		tb.Fatalf("epoch %d: %d pages, want %d", v.Epoch(), i, len(pages))
	}
	for _, d := range []cell.Direction{cell.Forward, cell.Backward} {
		var want, got []cell.Edge
		var wantLabels, gotLabels []cell.Label
		for _, u := range pages {
			targets, labels := m.list(d, u)
			for _, target := range targets {
				want = append(want, cell.Edge{From: u, To: target})
			}
			wantLabels = append(wantLabels, labels...)
		}
		for edges, labels := range v.Edges(d) {
			got = append(got, edges...)
			if labels == nil {
				labels = slices.Repeat([]cell.Label{cell.NoLabel}, len(edges))
			}
			gotLabels = append(gotLabels, labels...)
		}
		if !slices.Equal(got, want) || d == cell.Forward && !slices.Equal(gotLabels, wantLabels) {
			tb.Fatalf("epoch %d: %s edges %v, want %v", v.Epoch(), d, got, want)
		}
	}
}

// maker makes the same random changes to a batch and to a model.
type maker struct {
	r      *rand.Rand
	labels bool
}

// anyUID returns one of few pages in and around the range.
func (k *maker) anyUID() uid.UID {
	return uid.Make(uid.Slot(3+k.r.IntN(5)), uint32(1+k.r.IntN(3)), uint32(k.r.IntN(12)))
}

func (k *maker) label() cell.Label {
	if !k.labels || k.r.IntN(2) == 0 {
		return cell.NoLabel
	}
	return cell.Label{Weight: float64(k.r.IntN(4)) / 2, Anchor: "label"[:k.r.IntN(5)]}
}

// page returns a page of m. It may add a new one, to m and b.
func (k *maker) page(b *Batch, m *model) uid.UID {
	if pages := m.sortedPages(); len(pages) > 0 && k.r.IntN(3) > 0 {
		return pages[k.r.IntN(len(pages))]
	}
	for {
		u := k.anyUID()
		if !testRange.Contains(u) {
			continue
		}
		url := fmt.Sprintf("http://h%d.example/page/%d", u.Extent(), u.Page())
		b.Page(u, []byte(url))
		m.pages[u] = url
		return u
	}
}

// change makes one change.
func (k *maker) change(b *Batch, m *model) {
	u := k.page(b, m)
	d := cell.Direction(k.r.IntN(2))
	switch k.r.IntN(8) {
	case 0:
		m.links[cell.Forward][u] = make(map[uid.UID]cell.Label)
		var list []uid.UID
		var labels []cell.Label
		for range k.r.IntN(6) {
			list, labels = append(list, k.anyUID()), append(labels, k.label())
			m.add(cell.Forward, u, list[len(list)-1], labels[len(labels)-1])
		}
		b.Replace(u, list, labels)
	case 1, 2, 3:
		target := k.anyUID()
		if targets, _ := m.list(d, u); len(targets) > 0 && k.r.IntN(3) > 0 {
			target = targets[k.r.IntN(len(targets))]
		}
		delete(m.links[d][u], target)
		b.Delete(d, u, target)
	case 4:
		target, label := k.anyUID(), k.label()
		m.add(cell.Forward, u, target, label)
		b.AddLabelled(u, target, label)
	default:
		target := k.anyUID()
		m.add(d, u, target, cell.NoLabel)
		b.Add(d, u, target)
	}
}
