// Tests of builds.

package linkgraph

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/build"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
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
	seed.Slow(t)
	for name, o := range map[string]machine.Options{
		"plain":      {},
		"cells":      {CellPages: 100, Workers: 3},
		"one worker": {CellPages: 100, Workers: 1},
		"loaded":     {CellPages: 100, Limits: machine.Limits{LoadedPages: 1, HeldBytes: machine.HeldBytes, LoadedLinks: 0}},
		"read again": {CellPages: 100, Limits: machine.Limits{LoadedPages: machine.LoadedPages, HeldBytes: 100, LoadedLinks: 0}},
		"passes":     {CellPages: 100, BuildBytes: 1 << 10, Limits: machine.Limits{LoadedPages: 1, HeldBytes: 20_000, LoadedLinks: 0}},
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
			require.NoError(t, os.RemoveAll(filepath.Join(w.dir, "links")))
			w.open()
			w.compare()
			// A build's own load must not cause another build.
			loads, err := w.store.Loads(ctx)
			require.NoError(t, err)
			if want := map[bool]int{false: 2, true: 4}[o.Limits.LoadedPages == 1]; len(loads) != want {
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
	w := newWorld(t, machine.Options{CellPages: 100, BuildBytes: budget})
	w.load(w.manyLinks(random(t), 2000))
	w.compare()
	sn, err := w.store.Snapshot()
	require.NoError(t, err)
	defer sn.Close()
	keys, err := pagerows.PredicateRange(links.DefaultPredicate)
	require.NoError(t, err)
	b, err := w.graph.cells.NewBuilder(ctx, &build.LoneRows{Snapshot: sn, Keys: keys, Workers: 2}, machine.AllPartitions, nil)
	require.NoError(t, err)
	kept := func(c *build.Collection) (edges [2]int, size int64) {
		for i := range c.Spans {
			s := &c.Spans[i]
			for _, piece := range s.Forward.Pieces {
				edges[cell.Forward] += len(piece)
				size += build.EdgeBytes * int64(len(piece))
			}
			for _, piece := range s.Backward.Pieces {
				build.EachRun(piece, func(_ int, _ uint32, srcs []uint32) { edges[cell.Backward] += len(srcs) })
				size += build.WordLen * int64(len(piece))
			}
		}
		return edges, size
	}
	c, err := b.Pass(ctx, 0, len(b.Spans), budget)
	require.NoError(t, err)
	if n, _ := kept(c); !c.Dropped.Load() || n != [2]int{} {
		t.Errorf("%d edges are kept though they are too many", n)
	}
	var total [2]int
	passes := 0
	for from := 0; from < len(b.Spans); passes++ {
		c, to, err := b.Collect(ctx, from)
		require.NoError(t, err)
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
	w := newWorld(t, machine.Options{})
	rounds, err := w.graph.assigner.AssignRounds(ctx)
	require.NoError(t, err)
	a, b, c := pageURL(1, 1), pageURL(2, 1), pageURL(3, 1)
	w.update(links.Change{Source: a, Targets: []string{b}})
	require.NoError(t, w.graph.assigner.AssignAll(ctx, []string{a, b, c}, rounds))
	sn, err := w.store.Snapshot()
	require.NoError(t, err)
	defer sn.Close()
	n, err := sn.Count(ctx, triple.Pattern{Predicate: triple.NewIRI(links.UIDPredicate)})
	if err != nil || n != 3 {
		t.Errorf("%d UIDs of 3 pages, %v", n, err)
	}
}

// TestLoadOfUIDsEnds checks that an interrupted load of UIDs assigns none, and the next load
// assigns them.
func TestLoadOfUIDsEnds(t *testing.T) {
	w := newWorld(t, machine.Options{})
	w.update(links.Change{Source: pageURL(1, 1), Targets: []string{pageURL(2, 2)}})
	var urls []string
	for i := range 3000 {
		urls = append(urls, pageURL(i%50+10, i))
	}
	unlock, err := w.graph.assigner.Assigning.Lock(ctx)
	require.NoError(t, err)
	defer unlock()
	a := &w.graph.assigner.Allocators
	stopped, stop := context.WithCancelCause(ctx)
	enough := errors.New("enough")
	stop(enough)
	if err := a.Load(stopped, slices.Clone(urls), 0); err == nil {
		t.Fatal("a load in a context that has ended")
	}
	for range 2 {
		found, err := pagerows.FindUIDs(ctx, w.graph.Node, urls)
		require.NoError(t, err)
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
			require.NoError(t, a.Load(ctx, slices.Clone(urls), 0))
		case n != len(urls) || len(seen) != n:
			t.Fatalf("%d pages have %d UIDs", n, len(seen))
		default:
			return
		}
	}
	t.Fatal("no page has a UID")
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
	require.NoError(t, err)
	defer sn.Close()
	b := &build.LoneRows{Snapshot: sn, Workers: 2}
	if b.Keys, err = pagerows.PredicateRange(links.DefaultPredicate); err != nil {
		t.Fatal(err)
	}
	parts, err := b.DivideLinks(ctx)
	require.NoError(t, err)
	if len(parts) < 2 {
		t.Fatalf("%d parts", len(parts))
	}
	at, total := b.Keys.Lo, int64(0)
	for _, p := range parts {
		if !bytes.Equal(p.Lo, at) {
			t.Fatalf("a part begins at %q, not at %q", p.Lo, at)
		}
		at = p.Hi
		rows, err := sn.Rows(ctx, p)
		require.NoError(t, err)
		some := int64(0)
		for rows.Next() {
			some++
		}
		require.NoError(t, errors.Join(rows.Err(), rows.Close()))
		total += some
		if some > n*3/4 {
			t.Errorf("%d of %d links in one part of %d", some, n, len(parts))
		}
	}
	if !bytes.Equal(at, b.Keys.Hi) || total != n {
		t.Errorf("%d of %d links, up to %q", total, n, at)
	}
}
