// Tests of bulk loads and cleared graphs: which cells stay, and what they have afterwards.

package linkgraph

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

// cells returns the cells of the graph when it has taken in all changes.
func (w *world) cells() (cells []*cell.Cell) {
	w.t.Helper()
	s, err := w.graph.Board.CaughtUp(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, v := range s.Views {
		cells = append(cells, v.Cell())
	}
	return cells
}

// others returns triples that are no links.
func others(n int, graph triple.Term) (triples []triple.Triple) {
	for i := range n {
		t := links.Link("urn:other", pageURL(i, i), pageURL(i+1, i))
		t.Graph = graph
		triples = append(triples, t)
	}
	return triples
}

// TestLoadsKeepCells checks which loads and clears keep the cells. After each the graph must be
// right.
func TestLoadsKeepCells(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	graph := triple.NewIRI("urn:some-graph")
	long := pageURL(1, 1) + strings.Repeat("/long", 300)
	tests := []struct {
		name string
		do   func(w *world)
		kept bool
	}{
		{"no link", func(w *world) { w.load(others(10, triple.Term{})) }, true},
		{"links", func(w *world) {
			loaded := others(10, triple.Term{})
			for _, link := range [][2]string{
				{pageURL(1, 1), pageURL(2, 2)},   // with a label
				{pageURL(1, 1), pageURL(3, 3)},   // new
				{pageURL(77, 7), pageURL(78, 8)}, // of new pages
				{long, pageURL(1, 1)},
				{pageURL(2, 2), long},
			} {
				loaded = append(loaded, links.Link(links.DefaultPredicate, link[0], link[1]))
				label := cell.NoLabel
				if l, ok := w.links[link[0]][link[1]]; ok {
					label = l
				}
				w.set(link[0], link[1], label)
			}
			inGraph := links.Link(links.DefaultPredicate, pageURL(4, 4), pageURL(5, 5)) // with a label
			inGraph.Graph = graph
			noPage := links.Link(links.DefaultPredicate, pageURL(6, 6), pageURL(6, 7))
			noPage.Object = triple.NewString("no page")
			w.load(append(loaded, inGraph, noPage))
		}, true},
		{"very many links", func(w *world) {
			var many []triple.Triple
			for i := range 201 {
				many = append(many, links.Link(links.DefaultPredicate, pageURL(1, 1), pageURL(2, i)))
				if _, ok := w.links[pageURL(1, 1)][pageURL(2, i)]; !ok {
					w.set(pageURL(1, 1), pageURL(2, i), cell.NoLabel)
				}
			}
			w.load(many)
		}, false},
		{"very many predicates", func(w *world) {
			many := others(100, triple.Term{})
			for i := range many {
				many[i].Predicate = triple.NewIRI("urn:other:" + strconv.Itoa(i))
			}
			w.load(many)
		}, false},
		{"a UID", func(w *world) {
			page := pageURL(500, 1)
			w.load([]triple.Triple{links.UIDTriple(page, uid.Make(uid.SlotOf(weburl.HostKey(page)), 1, 5))})
		}, false},
		{"a cleared graph without a link", func(w *world) {
			w.load(others(1000, graph))
			before := w.cells()
			if _, err := store.Apply(ctx, w.store, store.Steps{ClearGraphs: []triple.Term{graph}}); err != nil {
				w.t.Fatal(err)
			}
			if !slices.Equal(w.cells(), before) {
				w.t.Error("the cells were made again")
			}
		}, true},
		{"a cleared graph with a link", func(w *world) {
			w.load(append(others(1000, graph), func() triple.Triple {
				link := links.Link(links.DefaultPredicate, pageURL(90, 1), pageURL(91, 1))
				link.Graph = graph
				return link
			}()))
			if _, err := store.Apply(ctx, w.store, store.Steps{ClearGraphs: []triple.Term{graph}}); err != nil {
				w.t.Fatal(err)
			}
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, machine.Options{CellPages: 100, Limits: machine.Limits{LoadedPages: machine.LoadedPages, HeldBytes: machine.HeldBytes, LoadedLinks: 200}})
			label := []links.Label{{Weight: 2, Anchor: "text"}}
			w.update(
				links.Change{Source: pageURL(1, 1), Targets: []string{pageURL(2, 2)}, Labels: label},
				links.Change{Source: pageURL(4, 4), Targets: []string{pageURL(5, 5)}, Labels: label},
			)
			before := w.cells()
			test.do(w)
			if kept := slices.Equal(w.cells(), before); kept != test.kept {
				t.Errorf("the cells are kept: %t, want %t", kept, test.kept)
			}
			w.compare()
			w.reopen()
			w.compare()
		})
	}
}

// TestLoadsAmidChanges checks that the graph is right if loads, adds and deletes of the same links come
// at the same time, and that the cells that were built before have it all.
func TestLoadsAmidChanges(t *testing.T) {
	rng := seed.Rand(t)
	w := newWorld(t, machine.Options{CellPages: 100})
	page := func(rng *rand.Rand) string { return pageURL(rng.IntN(4), rng.IntN(4)) }
	link := func(rng *rand.Rand) triple.Triple { return links.Link(links.DefaultPredicate, page(rng), page(rng)) }
	// 1. Loads and changes run at the same time.
	done := make(chan struct{})
	other := rand.New(rand.NewPCG(rng.Uint64(), 0))
	go func() {
		defer close(done)
		for range 200 {
			change := store.Steps{Add: slices.Values([]triple.Triple{link(other)}), Delete: slices.Values([]triple.Triple{link(other), link(other)})}
			if _, err := store.Apply(ctx, w.store, change); err != nil {
				t.Error(err)
			}
		}
	}()
	for range 20 {
		var some []triple.Triple
		for range 1 + rng.IntN(20) {
			some = append(some, link(rng))
		}
		w.load(some)
	}
	<-done
	// 2. The links of the store are those of the graph.
	sn, err := w.store.Snapshot()
	require.NoError(t, err)
	defer sn.Close()
	for row, err := range sn.Match(ctx, triple.Pattern{Predicate: triple.NewIRI(links.DefaultPredicate)}, store.ReadOptions{}) {
		require.NoError(t, err)
		tr, err := row.Triple()
		require.NoError(t, err)
		w.set(tr.Subject.Value(), tr.Object.Value(), cell.NoLabel)
	}
	w.compare()
}

// TestLoadOverLoad applies a load whose links a second load has written again: their rows have the stamp
// of the second one. A state with the position of the first one must have its links all the same.
func TestLoadOverLoad(t *testing.T) {
	w := newWorld(t, machine.Options{CellPages: 100})
	w.update(links.Change{Source: pageURL(1, 1), Targets: []string{pageURL(2, 2)}})
	link := links.Link(links.DefaultPredicate, pageURL(3, 3), pageURL(4, 4))
	err := w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error {
		// 1. The keeper has taken the first load from the feed when the second one comes.
		w.load([]triple.Triple{link})
		var first *keep.Taken
		for first == nil || len(first.Loads.Stamps) == 0 {
			var err error
			if first, err = k.In.Take(); err != nil {
				return err
			}
			runtime.Gosched()
		}
		w.load([]triple.Triple{link})
		if err := k.TakeIn(ctx, first); err != nil {
			return err
		}
		w.set(pageURL(3, 3), pageURL(4, 4), cell.NoLabel)
		// 2. Readers see no state of the first load without its link.
		s := k.Board.State.Load()
		if !s.At.Reaches(first.At) {
			return nil
		}
		u, _ := s.LookUp(pageURL(3, 3))
		if u == 0 || s.View(u).Degree(cell.Forward, u) != 1 {
			t.Errorf("the state at %s has no link of the load", s.At)
		}
		return nil
	})
	require.NoError(t, err)
	w.compare()
}
