// Tests of builds.

package linkgraph

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// load loads triples in bulk.
func (w *world) load(triples []triple.Triple) {
	w.t.Helper()
	var text []byte
	for _, t := range triples {
		text = triple.AppendNQuad(text, t)
	}
	source := input.Document("triples", bytes.NewReader(text), -1, syntax.NQuads)
	if _, err := rdfload.Load(ctx, w.store.Sink(), []input.Source{source}, rdfload.Options{Memory: rdfload.MinMemory}); err != nil {
		w.t.Fatal(err)
	}
}

// manyLinks makes links of pages of many hosts, some of them long, and triples that are no
// links.
func (w *world) manyLinks(rng *rand.Rand, n int) (triples []triple.Triple) {
	page := func() string {
		url := pageURL(rng.IntN(40), rng.IntN(60))
		switch rng.IntN(20) {
		case 0:
			return url + strings.Repeat("/long", 250) + strconv.Itoa(rng.IntN(9))
		case 1:
			return url + strings.Repeat("/long", 50)
		case 2:
			return "urn:page:" + strconv.Itoa(rng.IntN(9))
		}
		return url
	}
	for range n {
		src, dst := page(), page()
		t := links.Link(links.DefaultPredicate, src, dst)
		switch rng.IntN(10) {
		case 0: // in a graph too
			triples = append(triples, t)
			t.Graph = triple.NewIRI("urn:graph:" + strconv.Itoa(rng.IntN(3)))
		case 1: // in a graph only
			t.Graph = triple.NewIRI("urn:graph:" + strconv.Itoa(rng.IntN(3)))
		case 2: // no links
			t.Object = triple.NewString(dst)
			triples = append(triples, t)
			t = links.Link(links.DefaultPredicate, src, dst)
			t.Subject = triple.NewBlank("b" + strconv.Itoa(rng.IntN(3)))
			triples = append(triples, t)
			continue
		}
		triples = append(triples, t)
		if _, ok := w.links[src][dst]; !ok {
			w.set(src, dst, cell.NoLabel)
		}
	}
	return triples
}

// TestBuild builds links from bulk loads, beside existing ones, under all limits: pages of a
// cell held or read again, UIDs committed or loaded, one pass or one for each cell.
func TestBuild(t *testing.T) {
	for name, o := range map[string]Options{
		"plain":      {},
		"cells":      {CellPages: 100, Workers: 3},
		"one worker": {CellPages: 100, Workers: 1},
		"loaded":     {CellPages: 100, limits: limits{1, heldBytes, 0}},
		"read again": {CellPages: 100, limits: limits{loadedPages, 100, 0}},
		"passes":     {CellPages: 100, BuildBytes: 1 << 10, limits: limits{1, 20_000, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			rng := random(t)
			w := newWorld(t, o)
			most := 2000
			if testing.Short() {
				most = 300
			}
			w.load(w.manyLinks(rng, most))
			w.compare()
			w.load(w.manyLinks(rng, 200)) // beside existing UIDs
			w.compare()
			if _, err := store.Add(ctx, w.store, w.manyLinks(rng, 100)); err != nil {
				t.Fatal(err)
			}
			w.compare()
			w.label(rng, 100)
			w.compare()
			w.close()
			if err := os.RemoveAll(filepath.Join(w.dir, "links")); err != nil {
				t.Fatal(err)
			}
			w.open()
			w.compare()
			// A build's own load must not cause another build.
			loads, err := w.store.Loads(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{false: 2, true: 4}[o.limits.loadedPages == 1]; len(loads) != want {
				t.Errorf("%d loads, want %d: %+v", len(loads), want, loads)
			}
		})
	}
}

// label annotates links with labels.
func (w *world) label(rng *rand.Rand, n int) {
	var changes []links.Change
	for _, src := range slices.Sorted(maps.Keys(w.links)) {
		for _, dst := range slices.Sorted(maps.Keys(w.links[src])) {
			if len(changes) < n && rng.IntN(10) == 0 {
				label := links.Label{Weight: rng.Float64()}
				changes = append(changes, links.Change{Source: src, Targets: []string{dst}, Labels: []links.Label{label}})
			}
		}
	}
	w.update(changes...)
}

// TestPasses checks that each pass keeps what a build's memory holds, at least one cell, and
// that all passes keep every link once in each direction.
func TestPasses(t *testing.T) {
	const budget = 4 << 10
	w := newWorld(t, Options{CellPages: 100, BuildBytes: budget})
	w.load(w.manyLinks(random(t), 2000))
	w.compare()
	sn, err := w.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	keys, err := predicateRange(links.DefaultPredicate)
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.graph.cells.newBuilder(ctx, &loneRows{snapshot: sn, keys: keys, workers: 2}, allPartitions, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept := func(c *collection) (edges [2]int, size int64) {
		for i := range c.spans {
			s := &c.spans[i]
			for _, piece := range s.forward.pieces {
				edges[cell.Forward] += len(piece)
				size += edgeBytes * int64(len(piece))
			}
			for _, piece := range s.backward.pieces {
				eachRun(piece, func(_ int, _ uint32, srcs []uint32) { edges[cell.Backward] += len(srcs) })
				size += wordLen * int64(len(piece))
			}
		}
		return edges, size
	}
	c, err := b.pass(ctx, 0, len(b.spans), budget)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := kept(c); !c.dropped.Load() || n != [2]int{} {
		t.Errorf("%d edges are kept though they are too many", n)
	}
	var total [2]int
	passes := 0
	for from := 0; from < len(b.spans); passes++ {
		c, to, err := b.collect(ctx, from)
		if err != nil {
			t.Fatal(err)
		}
		n, size := kept(c)
		if to > from+1 && size > budget {
			t.Errorf("%d edges of cells %d to %d, %d bytes", n, from, to, size)
		}
		total[0], total[1] = total[0]+n[0], total[1]+n[1]
		from = to
	}
	rows := 0 // links in several graphs are several edges
	for _, list := range w.links {
		rows += len(list)
	}
	if total[0] != total[1] || total[0] < rows || passes < 2 {
		t.Errorf("%d edges in %d passes; there are %d links", total, passes, rows)
	}
}

// TestGivenMeanwhile checks that a page keeps its UID if it got one after a build had found
// none.
func TestGivenMeanwhile(t *testing.T) {
	w := newWorld(t, Options{})
	rounds, err := w.graph.assigner.assignRounds(ctx)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := pageURL(1, 1), pageURL(2, 1), pageURL(3, 1)
	w.update(links.Change{Source: a, Targets: []string{b}})
	if err := w.graph.assigner.assignAll(ctx, []string{a, b, c}, rounds); err != nil {
		t.Fatal(err)
	}
	sn, err := w.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	n, err := sn.Count(ctx, triple.Pattern{Predicate: triple.NewIRI(links.UIDPredicate)})
	if err != nil || n != 3 {
		t.Errorf("%d UIDs of 3 pages, %v", n, err)
	}
}

// TestLoadOfUIDsEnds checks that an interrupted load of UIDs assigns none, and the next load
// assigns them.
func TestLoadOfUIDsEnds(t *testing.T) {
	w := newWorld(t, Options{})
	w.update(links.Change{Source: pageURL(1, 1), Targets: []string{pageURL(2, 2)}})
	var urls []string
	for i := range 3000 {
		urls = append(urls, pageURL(i%50+10, i))
	}
	unlock, err := w.graph.assigner.assigning.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	a := &w.graph.assigner.allocators
	stopped, stop := context.WithCancelCause(ctx)
	enough := errors.New("enough")
	stop(enough)
	if err := a.load(stopped, form{}, slices.Clone(urls), 0); err == nil {
		t.Fatal("a load in a context that has ended")
	}
	for range 2 {
		found, err := form{}.findUIDs(ctx, w.graph.node, urls)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[uid.UID]bool{}
		n := 0
		for _, u := range found {
			if u != 0 {
				n++
				seen[u] = true
			}
		}
		switch {
		case n == 0:
			if err := a.load(ctx, form{}, slices.Clone(urls), 0); err != nil {
				t.Fatal(err)
			}
		case n != len(urls) || len(seen) != n:
			t.Fatalf("%d pages have %d UIDs", n, len(seen))
		default:
			return
		}
	}
	t.Fatal("no page has a UID")
}

// TestUIDReader checks that loaded triples of UIDs equal committed ones, however they are read.
func TestUIDReader(t *testing.T) {
	first := uid.Make(7, 3, uid.ExtentPages-2)
	host := func(n int) (pages []keyed) {
		for i := range n {
			pages = append(pages, keyed{7, "org.example", "http://example.org/" + strings.Repeat("x", i%900) + strconv.Itoa(i)})
		}
		return pages
	}
	for _, n := range []int{0, 1, 3000} {
		runs := []numbered{{first, host(2)}, {uid.Make(7, 4, 0), host(n)}, {uid.Make(8, 1, 5), host(3)}}
		var want []byte
		for _, r := range runs {
			for i, p := range r.pages {
				u := r.first + uid.UID(i)
				if u.Page() == 0 {
					want = triple.AppendNQuad(want, links.HostTriple(u.Extent(), p.key))
				}
				want = triple.AppendNQuad(want, links.UIDTriple(p.url, u))
			}
		}
		runs = slices.DeleteFunc(runs, func(r numbered) bool { return len(r.pages) == 0 })
		for _, wrap := range []func(io.Reader) io.Reader{iotest.HalfReader, func(r io.Reader) io.Reader { return r }} {
			got, err := io.ReadAll(wrap(&uidReader{runs: slices.Clone(runs)}))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d pages: %d bytes, want %d: %v", n, len(got), len(want), err)
			}
		}
	}
}

// TestParts checks that parts of links are adjacent, cover all links, and that none of a few
// has most.
func TestParts(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine reads many links")
	}
	dir := t.TempDir()
	n := loadWorld(t, dir, 12_000)
	store := openStore(t, dir)
	defer store.Close()
	sn, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	b := &loneRows{snapshot: sn, workers: 2}
	if b.keys, err = predicateRange(links.DefaultPredicate); err != nil {
		t.Fatal(err)
	}
	parts, err := b.DivideLinks(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) < 2 {
		t.Fatalf("%d parts", len(parts))
	}
	at, total := b.keys.Lo, int64(0)
	for _, p := range parts {
		if !bytes.Equal(p.Lo, at) {
			t.Fatalf("a part begins at %q, not at %q", p.Lo, at)
		}
		at = p.Hi
		rows, err := sn.Rows(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		some := int64(0)
		for rows.Next() {
			some++
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		total += some
		if some > n*3/4 {
			t.Errorf("%d of %d links in one part of %d", some, n, len(parts))
		}
	}
	if !bytes.Equal(at, b.keys.Hi) || total != n {
		t.Errorf("%d of %d links, up to %q", total, n, at)
	}
}

func TestBetween(t *testing.T) {
	for _, test := range []struct{ lo, hi, want string }{
		{"a", "c", "b"},
		{"aa", "ac", "ab"},
		{"a", "b", "a\x80"},
		{"ab\x00\x01x", "ab\x00\x01z", "ab\x00\x01y"},
		{"abc", "abcd", "abc2"},
	} {
		got := strings.TrimRight(string(between([]byte(test.lo), []byte(test.hi))), "\x00")
		if got != test.want || got < test.lo || got >= test.hi {
			t.Errorf("between %q and %q: %q, want %q", test.lo, test.hi, got, test.want)
		}
	}
}

func TestTable(t *testing.T) {
	rng := random(t)
	tab, words := newTable(newSeeds(), 0), wordSet{}
	words = *newWordSet(tab.seeds)
	want := map[string]uint32{}
	var order []string
	for range 20_000 {
		url := pageURL(rng.IntN(10), rng.IntN(1000))
		of := tab.sum([]byte(url))
		ordinal, known := want[url]
		if got := tab.find(of); known && got != ordinal+1 || !known && got != 0 {
			t.Fatalf("%s is at %d, want %d, %t", url, got, ordinal, known)
		}
		if got := tab.add(of, uint32(len(want))); got == known {
			t.Fatalf("%s is known: %t; added: %t", url, known, got)
		}
		words.add([]byte(url), of)
		if !known {
			want[url] = uint32(len(want))
			order = append(order, url)
		}
	}
	if got := words.list(); !slices.Equal(got, order) {
		t.Errorf("%d words, want %d", len(got), len(order))
	}
}
