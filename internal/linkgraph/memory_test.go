// The bound of the graph's memory.

package linkgraph

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/triple"
)

// boundLinks returns links of about a kilobyte each in the cells.
func boundLinks(from, to int) (triples []triple.Triple) {
	for i := from; i < to; i++ {
		triples = append(triples, links.Link(links.DefaultPredicate, pageURL(i, 1), fmt.Sprintf("%s?%x%s", pageURL(i, 2), i*i*i*i, strings.Repeat(fmt.Sprint(i), 200))))
	}
	return triples
}

// TestMemoryBound: updates are refused when little is left, and triples are not. If these make the graph
// too large, its cells are dropped, all reads say why, and triples are served. With more memory the graph
// is there again; with less, neither files nor a build bring it back.
func TestMemoryBound(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	w := newWorld(t, machine.Options{})
	u := links.Change{Source: pageURL(1, 1), Targets: []string{pageURL(2, 1)}}
	w.update(u)
	base := w.graph.Board.Memory()
	bound := machine.Options{MemoryBytes: base + 100_000}
	w.o = bound
	w.reopen()
	w.compare()

	// 1. Updates are refused before triples are.
	if _, err := store.Add(ctx, w.store, boundLinks(0, 153)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.graph.Stats(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := w.graph.Board.Current(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d bytes", w.graph.Board.Memory(), bound.MemoryBytes)
	if _, err := w.graph.Update(ctx, []links.Change{{Source: pageURL(1, 1), Targets: []string{pageURL(3, 1)}}}); !errors.Is(err, links.ErrMemory) {
		t.Errorf("an update with little memory: %v", err)
	}
	if _, err := w.graph.Update(ctx, []links.Change{{Kind: links.DeleteLinks, Source: pageURL(1, 1), Targets: []string{pageURL(3, 1)}}}); err != nil {
		t.Errorf("a delete with little memory: %v", err)
	}
	if _, err := w.graph.Degrees(ctx, links.Forward, nil); err != nil {
		t.Errorf("a read with little memory: %v", err)
	}

	// 2. Too many triples.
	more := boundLinks(200, 400)
	if _, err := store.Add(ctx, w.store, more); err != nil {
		t.Fatal(err)
	}
	refused := func() {
		t.Helper()
		err := w.graph.AwaitCells(ctx)
		_, read := w.graph.UIDs(ctx, []string{pageURL(1, 1)})
		_, update := w.graph.Update(ctx, []links.Change{u})
		for _, err := range []error{err, read, update} {
			if !errors.Is(err, links.ErrMemory) || !strings.Contains(err.Error(), "--link-memory") {
				t.Errorf("a graph that is too large: %v", err)
			}
		}
		if n := w.graph.Board.Memory(); n > bound.MemoryBytes {
			t.Errorf("%d bytes in use, of %d", n, bound.MemoryBytes)
		}
		stats, err := w.graph.Stats(ctx)
		if err != nil || !stats.Loading || !strings.Contains(stats.Progress, "--link-memory") {
			t.Errorf("%+v, %v", stats, err)
		}
	}
	if _, err := w.graph.Board.Current(ctx); err != nil {
		t.Fatal(err)
	}
	refused()

	// 3. Triples are served.
	sn, err := w.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	n, err := sn.Count(ctx, triple.Pattern{Predicate: triple.NewIRI(links.DefaultPredicate)})
	sn.Close()
	if err != nil || n != 354 {
		t.Errorf("%d links as triples, %v", n, err)
	}
	// 4. A restart does not bring it back, more memory does.
	w.reopen()
	refused()
	w.o = machine.Options{}
	w.reopen()
	for _, l := range append(boundLinks(0, 153), more...) {
		w.set(l.Subject.Value(), l.Object.Value(), cell.NoLabel)
	}
	w.compare()
	// 5. Its files are too large for less.
	w.o = bound
	w.reopen()
	refused()
}
