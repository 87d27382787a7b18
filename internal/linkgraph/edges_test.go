// Tests of edges: when the cells are the triples of a reader, and when they are not.

package linkgraph

import (
	"context"
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// edges returns the error of Edges for a reader that is opened now.
func (w *world) edges() error {
	w.t.Helper()
	r, err := w.store.Reader()
	require.NoError(w.t, err)
	defer r.Close()
	_, err = w.graph.Edges(ctx, r)
	return err
}

// wantEdges checks whether the cells are the triples of a reader. A busy machine may take some time.
func (w *world) wantEdges(when string, want error) {
	w.t.Helper()
	err := w.edges()
	for errors.Is(err, context.DeadlineExceeded) {
		err = w.edges()
	}
	if !errors.Is(err, want) {
		w.t.Fatalf("%s: %v, want %v", when, err, want)
	}
}

// TestEdgesMixed: the cells are not the triples of the predicate while one of these is in a named graph, or has
// an end that is no IRI; by any way, and after a restart.
func TestEdgesMixed(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	link := links.Link(links.DefaultPredicate, pageURL(1, 1), pageURL(2, 1))
	named, text, blank, from := link, link, link, link
	named.Graph = triple.NewIRI("http://example.org/graph")
	text.Object = triple.NewString("no page")
	blank.Object = triple.NewBlank("b")
	from.Subject = triple.NewBlank("b")
	for name, mixed := range map[string]triple.Triple{"a named graph": named, "a literal": text, "a blank node": blank, "a blank subject": from} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, machine.Options{})
			add := func(some ...triple.Triple) {
				t.Helper()
				if _, err := store.Add(ctx, w.store, some); err != nil {
					t.Fatal(err)
				}
			}
			// 1. The feed brings the triple.
			w.wantEdges("without links", nil)
			add(link, links.Link("http://example.org/other", pageURL(1, 1), pageURL(1, 2)))
			w.wantEdges("with a link", nil)
			add(mixed)
			w.wantEdges("with the triple", state.ErrMixed)
			require.NoError(t, w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error { return k.Save() }))
			w.reopen()
			w.wantEdges("with the triple, after a restart", state.ErrMixed)
			// 2. Nobody knows whether it was the last one, until cells are built.
			if _, err := store.Delete(ctx, w.store, []triple.Triple{mixed}); err != nil {
				t.Fatal(err)
			}
			w.wantEdges("after the delete", state.ErrMixed)
			clear := func() {
				t.Helper()
				if _, err := store.Apply(ctx, w.store, store.Steps{ClearAll: true}); err != nil {
					t.Fatal(err)
				}
				w.built()
				w.wantEdges("after a clear", nil)
			}
			clear()
			w.reopen()
			w.wantEdges("after a clear and a restart", nil)
			// 3. A load brings it, which is taken in.
			other := links.Link(links.DefaultPredicate, pageURL(3, 1), pageURL(3, 2))
			w.load([]triple.Triple{other})
			w.wantEdges("after a load of a link", nil)
			w.load([]triple.Triple{mixed, link})
			w.wantEdges("after a load of it", state.ErrMixed)
			// 4. A build finds it.
			w = newWorld(t, machine.Options{Limits: machine.Limits{LoadedPages: machine.LoadedPages, HeldBytes: machine.HeldBytes, LoadedLinks: 1}})
			w.load([]triple.Triple{mixed, other, link})
			w.built()
			w.wantEdges("after a load that is not taken in", state.ErrMixed)
		})
	}
}

// built waits for the cells after a load.
func (w *world) built() {
	w.t.Helper()
	require.NoError(w.t, w.graph.AwaitCells(ctx))
	if _, err := w.graph.Board.CaughtUp(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// TestEdgesMoment: the links are those of the moment of a reader, or there is an error.
func TestEdgesMoment(t *testing.T) {
	w := newWorld(t, machine.Options{})
	a, b, c := pageURL(1, 1), pageURL(1, 2), pageURL(2, 1)
	w.update(links.Change{Source: a, Targets: []string{b}})
	reader := func() store.Reader {
		r, err := w.store.Reader()
		require.NoError(t, err)
		t.Cleanup(func() { r.Close() })
		return r
	}
	edges := func(r store.Reader) (links.Graph, error) {
		g, err := w.graph.Edges(ctx, r)
		for errors.Is(err, context.DeadlineExceeded) {
			g, err = w.graph.Edges(ctx, r)
		}
		return g, err
	}
	degree := func(g links.Graph) int {
		uids, err := g.UIDs(ctx, []string{a})
		require.NoError(t, err)
		l, err := g.Links(ctx, links.Forward, uids)
		require.NoError(t, err)
		return len(l.At(0))
	}
	// 1. Other triples may come after the moment.
	first := reader()
	if _, err := store.Add(ctx, w.store, []triple.Triple{links.Link("http://example.org/other", a, c)}); err != nil {
		t.Fatal(err)
	}
	before, err := edges(first)
	if err != nil || degree(before) != 1 {
		t.Fatalf("%v, want one link", err)
	}
	// 2. A link may not; but what was opened before stays as it was.
	w.update(links.Change{Source: a, Targets: []string{c}})
	w.built()
	if _, err := edges(first); !errors.Is(err, state.ErrMixed) {
		t.Errorf("after another link: %v", err)
	}
	if n := degree(before); n != 1 {
		t.Errorf("the page has %d links, and had 1", n)
	}
	after, err := edges(reader())
	if err != nil || degree(after) != 2 {
		t.Errorf("%v, want two links", err)
	}
	// 3. A delete of a link looks into rows of a later moment, where the link is again.
	w.update(links.Change{Kind: links.DeleteLinks, Source: a, Targets: []string{c}})
	gone := reader()
	w.update(links.Change{Source: a, Targets: []string{c}})
	if _, err := edges(gone); !errors.Is(err, state.ErrMixed) {
		t.Errorf("after the link is back: %v", err)
	}
}

// moving is a reader whose rows are not of one moment.
type moving struct{ store.Reader }

func (moving) Position() (feed.Position, bool, error) { return feed.Position{}, false, nil }

// TestEdgesOfMember: a member's reader on a lone node, or a lone node's on a member, gets no edges.
func TestEdgesOfMember(t *testing.T) {
	w := newWorld(t, machine.Options{})
	if _, err := w.graph.Edges(ctx, moving{}); !errors.Is(err, state.ErrMixed) {
		t.Error(err)
	}
}
