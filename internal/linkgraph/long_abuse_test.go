// Deletions of links between pages with very long IRIs: the feed has only their beginnings.

package linkgraph

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/triple"
)

// TestAbuseLongDeleted deletes half of the links between pages whose long IRIs begin alike. The
// time for each must not grow with their number. If each needed a search through all pages, it
// would take minutes.
func TestAbuseLongDeleted(t *testing.T) {
	n, bound := 300, time.Minute
	if fullAbuse() {
		n = 8000
	}
	w := newWorld(t, machine.Options{})
	var all []triple.Triple
	for i := range n {
		src := fmt.Sprint("http://www.x.org/", strings.Repeat("long/", 260), i)
		all = append(all, links.Link(links.DefaultPredicate, src, "http://www.x.org/"))
		w.set(src, "http://www.x.org/", cell.NoLabel)
	}
	if _, err := store.Add(ctx, w.store, all); err != nil {
		t.Fatal(err)
	}
	w.compare()
	begun := time.Now()
	for gone := all[:n/2]; len(gone) > 0; gone = gone[min(100, len(gone)):] {
		some := gone[:min(100, len(gone))]
		if _, err := store.Delete(ctx, w.store, some); err != nil {
			t.Fatal(err)
		}
		for _, link := range some {
			w.unset(link.Subject.Value(), link.Object.Value())
		}
	}
	if _, err := w.graph.Board.CaughtUp(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > bound {
		t.Errorf("%d links are gone after %s", n/2, took)
	}
	w.compare()
	// A link goes in one change with the UIDs of its pages.
	last := all[n-1]
	uids, err := w.graph.UIDs(ctx, []string{last.Subject.Value()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Delete(ctx, w.store, []triple.Triple{last, links.UIDTriple(last.Subject.Value(), uids[0])}); err != nil {
		t.Fatal(err)
	}
	w.unset(last.Subject.Value(), last.Object.Value())
	delete(w.uids, last.Subject.Value())
	w.compare()
}
