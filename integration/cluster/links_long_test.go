// Long lists of links in a cluster.

package cluster

// This file compares samples, degrees and lists of links of a cluster with those of plain
// maps: of short lists and of long ones, cut over machines, after every kind of change.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// watched is a machine of a cluster whose reads of the rows of some page's links are
// counted.
type watched struct {
	ownership.Store
	page    string
	read    *atomic.Int64
	counted *atomic.Int64 // ranges whose rows were counted
}

func (s watched) count(asked []triple.Range) {
	for _, r := range asked {
		if strings.Contains(string(r.Lo), s.page) && strings.Contains(string(r.Lo), links.DefaultPredicate) {
			s.read.Add(1)
		}
	}
}

func (s watched) ReadOwn(ctx context.Context, epoch uint64, asked []triple.Range, do func(context.Context, *store.Snapshot) error) error {
	s.count(asked)
	return s.Store.ReadOwn(ctx, epoch, asked, do)
}

func (s watched) Reader() (store.Reader, error) {
	sn, err := s.Store.Reader()
	return watchedSnapshot{sn, s}, err
}

type watchedSnapshot struct {
	store.Reader
	store watched
}

func (s watchedSnapshot) Source() sparql.Source { return watchedSource{s.Reader.Source(), s.store} }

type watchedSource struct {
	sparql.Source
	store watched
}

func (s watchedSource) Lookup(ctx context.Context, asked []triple.Range, each func(int, []byte, []byte) error) error {
	s.store.count(asked)
	return s.Source.Lookup(ctx, asked, each)
}

func (s watchedSource) Count(ctx context.Context, r triple.Range) (int64, error) {
	s.store.counted.Add(1)
	return s.Source.Count(ctx, r)
}

// longWeb is a graph of links of a few pages, some with very many links, in plain maps.
type longWeb struct {
	*world
	graphs  []*ranges.Graph
	read    atomic.Int64 // of rows of the hub's links
	counted atomic.Int64 // ranges whose rows were counted
	links   map[string]map[string]bool
	uids    map[string]uid.UID
}

const hub = "http://hub.example.org/hub"

func newLongWeb(w *world, o ranges.Options) *longWeb {
	web := &longWeb{world: w, links: map[string]map[string]bool{}, uids: map[string]uid.UID{}}
	for _, m := range w.up() {
		o.Logger = w.log.With("machine", m.name)
		if o.Copies > 0 {
			o.FS, o.Dir = m.disk, "copies"
		}
		g, err := ranges.Open(watched{m.node, hub, &web.read, &web.counted}, o)
		if err != nil {
			w.t.Fatal(err)
		}
		web.graphs = append(web.graphs, g)
	}
	return web
}

func (w *longWeb) end() {
	for _, g := range w.graphs {
		if err := g.Close(); err != nil {
			w.t.Error(err)
		}
	}
}

func (w *longWeb) some() *ranges.Graph { return w.graphs[w.random.IntN(len(w.graphs))] }

// end returns one of so many pages of some hosts and domains, the hub's among them.
func (w *longWeb) page(n int) string {
	hosts := []string{"hub.example.org", "www.example.org", "example.com", "www.example.net", "a.b.example.net", "other.test"}
	i := w.random.IntN(n)
	return fmt.Sprintf("http://%s/%05d", hosts[i*7919%len(hosts)], i)
}

// change adds, deletes or replaces links of a page, or links to it, at one of the endpoints.
func (w *longWeb) change(page string, ends []string, kind links.ChangeKind, backward bool) {
	w.t.Helper()
	var changes []links.Change
	if backward {
		for _, end := range ends {
			changes = append(changes, links.Change{Kind: kind, Source: end, Targets: []string{page}})
		}
	} else {
		changes = []links.Change{{Kind: kind, Source: page, Targets: ends}}
	}
	for _, c := range changes {
		if w.links[c.Source] == nil || kind == links.ReplaceLinks {
			w.links[c.Source] = map[string]bool{}
		}
		for _, dst := range c.Targets {
			if kind == links.DeleteLinks {
				delete(w.links[c.Source], dst)
			} else {
				w.links[c.Source][dst] = true
			}
		}
	}
	if kind == links.AddLinks && w.random.IntN(2) == 0 { // as triples, some in named graphs as well
		var triples []triple.Triple
		for _, c := range changes {
			for _, dst := range c.Targets {
				link := links.Link(links.DefaultPredicate, c.Source, dst)
				triples = append(triples, link)
				for i := range w.random.IntN(3) {
					link.Graph = triple.NewIRI(fmt.Sprint("urn:graph:", i))
					triples = append(triples, link)
				}
			}
		}
		for part := range slices.Chunk(triples, 5000) {
			if _, err := w.any().node.Add(w.t.Context(), part); err != nil {
				w.t.Fatal(err)
			}
		}
		return
	}
	if kind != links.AddLinks { // updates change the default graph alone
		w.unname(changes)
	}
	if _, err := w.some().Update(w.t.Context(), changes); err != nil {
		w.t.Fatal(err)
	}
}

// unname deletes the links of named graphs which are not any more.
func (w *longWeb) unname(changes []links.Change) {
	w.t.Helper()
	var triples []triple.Triple
	for _, c := range changes {
		pattern := triple.Pattern{Subject: triple.NewIRI(c.Source), Predicate: triple.NewIRI(links.DefaultPredicate)}
		sn, err := w.any().node.Reader()
		if err != nil {
			w.t.Fatal(err)
		}
		for found, err := range sn.Match(w.t.Context(), pattern, store.ReadOptions{}) {
			if err != nil {
				w.t.Fatal(err)
			}
			link, err := found.Triple()
			if err != nil {
				w.t.Fatal(err)
			}
			if !link.Graph.IsZero() && !w.links[c.Source][link.Object.Value()] {
				triples = append(triples, link.Clone())
			}
		}
		if err := sn.Close(); err != nil {
			w.t.Fatal(err)
		}
	}
	for part := range slices.Chunk(triples, 5000) {
		if _, err := w.any().node.Delete(w.t.Context(), part); err != nil {
			w.t.Fatal(err)
		}
	}
}

// extentHosts are the hosts and domains of extents, as numbers (sample.Hosts).
type extentHosts map[uid.Extent][2]uint64

func (h extentHosts) Host(e uid.Extent) uint64   { return h[e][0] }
func (h extentHosts) Domain(e uid.Extent) uint64 { return h[e][1] }

// hostsOf returns the hosts of the extents of pages.
func hostsOf(pages map[string]uid.UID) extentHosts {
	h, numbers := extentHosts{}, map[string]uint64{}
	number := func(name string) uint64 {
		if numbers[name] == 0 {
			numbers[name] = uint64(len(numbers) + 1)
		}
		return numbers[name]
	}
	for url, u := range pages {
		key := weburl.HostKey(url)
		h[u.Extent()] = [2]uint64{number(key), number("domain " + weburl.Domain(key))}
	}
	return h
}

// check compares what a graph says of pages with what ought to be.
func (w *longWeb) check(g *ranges.Graph, pages []string) {
	w.t.Helper()
	ctx := w.t.Context()
	lists := [2]map[string][]string{{}, {}}
	all := map[string]bool{}
	for _, page := range pages {
		all[page] = true
	}
	for src, of := range w.links {
		for dst := range of {
			lists[links.Forward][src] = append(lists[links.Forward][src], dst)
			lists[links.Backward][dst] = append(lists[links.Backward][dst], src)
			all[src], all[dst] = true, true
		}
	}
	// All pages with links have UIDs when their lists were asked for.
	var urls []string
	for url := range all {
		urls = append(urls, url)
	}
	slices.Sort(urls)
	uids, err := g.UIDs(ctx, urls)
	if err != nil {
		w.t.Fatal(err)
	}
	of := map[string]uid.UID{}
	for i, u := range uids {
		if before := w.uids[urls[i]]; before != 0 && before != u {
			w.t.Fatalf("%s was %s and is %s", urls[i], before, u)
		}
		of[urls[i]] = u
		if u != 0 {
			w.uids[urls[i]] = u
		}
	}
	hosts := hostsOf(w.uids)
	asked := make([]uid.UID, 0, 2*len(pages))
	for _, page := range pages {
		asked = append(asked, of[page])
	}
	asked = append(asked, 12345, asked[0])
	for d, ends := range lists {
		d := links.Direction(d)
		var want [][]uid.UID
		for _, page := range append(slices.Clone(pages), "none", pages[0]) {
			list := make([]uid.UID, 0, len(ends[page]))
			for _, end := range ends[page] {
				list = append(list, of[end])
			}
			slices.Sort(list)
			want = append(want, list)
		}
		degrees, err := g.Degrees(ctx, d, asked)
		if err != nil {
			w.t.Fatal(err)
		}
		got, err := g.Links(ctx, d, asked)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range asked {
			if degrees[i] != len(want[i]) || !slices.Equal(got.At(i), want[i]) {
				w.t.Fatalf("%v: page %d has degree %d and %d links; they are %d", d, i, degrees[i], len(got.At(i)), len(want[i]))
			}
		}
		for range 4 {
			spec := sample.Spec{N: []int{0, 1, 10, 40, 300, 2000, 20_000}[w.random.IntN(7)], Mode: sample.Mode(w.random.IntN(2)),
				Class: sample.Class(w.random.IntN(3)), Seed: w.random.Uint64()}
			got, err := g.SampleLinks(ctx, d, asked, spec)
			if err != nil {
				w.t.Fatal(err)
			}
			for i, u := range asked {
				if want := sample.Sample(nil, want[i], u, spec, hosts); !slices.Equal(got.At(i), want) {
					w.t.Fatalf("%v, %+v: the sample of page %d is of %d links\n%v\nwant %d\n%v", d, spec, i, len(got.At(i)), got.At(i), len(want), want)
				}
			}
		}
	}
}

// readers returns how many machines read the forward links of a page.
func (w *longWeb) readers(page string) int {
	joint := w.any().node.View().Joint()
	scan, err := triple.Pattern{Subject: triple.NewIRI(page), Predicate: triple.NewIRI(links.DefaultPredicate)}.Scan(triple.SPO)
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[trie.MachineID]bool{}
	for s := range joint.Reads().Trie.Range(scan.Range.Lo, scan.Range.Hi) {
		owner, _ := joint.ReaderOf(s)
		all[owner] = true
	}
	return len(all)
}

// TestLinksLong changes short and long lists, which are cut over machines, and compares.
func TestLinksLong(t *testing.T) {
	for _, long := range []int{60, 0} {
		simulate(t, 4, func(t *testing.T, w *world) {
			w.form()
			web := newLongWeb(w, ranges.Options{LongList: long})
			defer web.end()
			pages := []string{hub, "http://small.example.org/", "http://middle.example.org/", "http://none.example.org/"}
			for round := range 5 {
				for i, size := range []int{1200, 8, 200} {
					var ends []string
					for range w.random.IntN(size) {
						ends = append(ends, web.page(3*size))
					}
					kind := links.AddLinks
					if round > 0 {
						kind = links.ChangeKind(w.random.IntN(3))
					}
					web.change(pages[i], ends, kind, kind != links.ReplaceLinks && w.random.IntN(2) == 0)
				}
				web.check(web.some(), pages)
				web.check(web.some(), pages)
			}
			w.settle()
			for _, g := range web.graphs {
				web.check(g, pages)
			}
		})
	}
}

// TestLinksLongKept has a page with very many links, split over machines. After the first
// request, its degree and samples are answered without reading its rows, until it changes.
func TestLinksLongKept(t *testing.T) {
	size := 3000
	o := ranges.Options{LongList: 500}
	if os.Getenv("TREFOIL_ABUSE") != "" {
		size, o.LongList = 40_000, 0
	}
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		web := newLongWeb(w, o)
		defer web.end()
		var ends []string
		for i := range size {
			ends = append(ends, fmt.Sprintf("http://www%d.example%d.org/%d", i%50, i%7, i))
		}
		web.change(hub, ends, links.AddLinks, false)
		w.until("several machines read the list", func() bool { return web.readers(hub) > 1 })
		w.settle()
		web.check(web.graphs[0], []string{hub})
		asked := []uid.UID{web.uids[hub]}
		ask := func() (reads int64) {
			t.Helper()
			before := web.read.Load()
			for _, g := range web.graphs[:2] {
				for _, class := range []sample.Class{sample.All, sample.InterHost, sample.InterDomain} {
					if got, err := g.SampleLinks(t.Context(), links.Forward, asked, sample.Spec{N: 50, Mode: sample.ModeConsistent, Class: class}); err != nil || got.Len() != 1 || len(got.At(0)) != 50 {
						t.Fatal(got, err)
					}
				}
				if degrees, err := g.Degrees(t.Context(), links.Forward, asked); err != nil || degrees[0] != len(web.links[hub]) {
					t.Fatal(degrees, err)
				}
			}
			return web.read.Load() - before
		}
		// Members look through their ranges once more where these have changed.
		w.until("nobody reads the hub's rows any more", func() bool { return ask() == 0 })
		for range 3 {
			if n := ask(); n != 0 {
				t.Errorf("rows of the list were read %d times", n)
			}
		}
		web.change(hub, ends[:10], links.DeleteLinks, false)
		if n := ask(); n == 0 {
			t.Error("the list has changed, and nobody has read it")
		}
		web.check(web.graphs[1], []string{hub})
	})
}

// TestLinksCountedOnce: links are counted again after a change, and only then.
func TestLinksCountedOnce(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		web := newLongWeb(w, ranges.Options{})
		defer web.end()
		g := web.some()
		counted := func() (links.Stats, bool) {
			t.Helper()
			before := web.counted.Load()
			stats, err := g.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return stats, web.counted.Load() > before
		}
		for n := range int64(3) {
			change := links.Change{Source: hub, Targets: []string{fmt.Sprintf("http://www.example.org/%d", n)}}
			if _, err := web.some().Update(t.Context(), []links.Change{change}); err != nil {
				t.Fatal(err)
			}
			stats, anew := counted()
			if stats.Links != n+1 || !anew {
				t.Fatalf("%+v, counted: %v, after %d links", stats, anew, n+1)
			}
			// Members name pages, and look through their links.
			w.until("nothing is counted any more", func() bool {
				again, anew := counted()
				if again.Links != stats.Links || again.Pages < stats.Pages || len(again.Servers) != len(stats.Servers) {
					t.Fatalf("%+v, and before %+v", again, stats)
				}
				stats = again
				return !anew && again.Pages == n+2
			})
		}
	})
}

// TestLinksHeld: a list of more links than may be held at once is an error that says so.
// Samples of it are answered.
func TestLinksHeld(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		web := newLongWeb(w, ranges.Options{LongList: 50, HeldBytes: 16 * 150})
		defer web.end()
		for i, size := range []int{200, 40, 100} {
			var ends []string
			for k := range size {
				ends = append(ends, fmt.Sprintf("http://www%d.example.org/%d", k%9, k))
			}
			web.change(fmt.Sprint(hub, i), ends, links.AddLinks, false)
		}
		g := web.some()
		pages, err := g.UIDs(t.Context(), []string{hub + "0", hub + "1", hub + "2"})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			pages []uid.UID
			held  bool
		}{{pages[:1], false}, {pages[1:], true}, {[]uid.UID{pages[1], pages[1], pages[2]}, false}, {pages[2:], true}} {
			l, err := g.Links(t.Context(), links.Forward, c.pages)
			if c.held != (err == nil) || !c.held && (!strings.Contains(err.Error(), "HeldBytes") || !errors.Is(err, links.ErrInvalid)) {
				t.Errorf("%d pages: %d links, %v", len(c.pages), len(l.Items), err)
			}
		}
		for _, mode := range []sample.Mode{sample.ModeRandom, sample.ModeConsistent} {
			got, err := g.SampleLinks(t.Context(), links.Forward, pages, sample.Spec{N: 60, Mode: mode})
			if mode == sample.ModeConsistent && (err != nil || len(got.Items) != 60+40+60) || mode == sample.ModeRandom && !errors.Is(err, links.ErrInvalid) {
				t.Errorf("%v: %d links, %v", mode, len(got.Items), err)
			}
		}
		degrees, err := g.Degrees(t.Context(), links.Forward, pages)
		if err != nil || !slices.Equal(degrees, []int{200, 40, 100}) {
			t.Error(degrees, err)
		}
	})
}
