// Bulk loads beside the graph of links.

package cluster

import (
	"testing"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// TestLinksLoaded checks that no machine drops its cells when triples are loaded, with few links and
// without any, and that all machines have the loaded links.
func TestLinksLoaded(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		for range 5 {
			web.change()
		}
		for _, m := range w.up() {
			if err := web.graphs[m].AwaitCells(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.net.Delay(time.Millisecond, 20*time.Millisecond)
		for _, predicate := range []string{"urn:other", links.DefaultPredicate, links.DefaultPredicate} {
			// 1. Watch the cells of all machines. With delays a build takes time.
			stop := make(chan struct{})
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for !closed(stop) {
					for m, g := range web.graphs {
						if held, _ := g.Partitions(); held == 0 {
							t.Errorf("%s has dropped its cells", m.name)
						}
					}
					time.Sleep(time.Millisecond) // of virtual time
				}
			}()
			var loaded []triple.Triple
			for range 30 {
				src, dst := web.url(), web.url()+"/loaded"
				loaded = append(loaded, links.Link(predicate, src, dst))
				if predicate == links.DefaultPredicate {
					web.apply(links.Change{Source: src, Targets: []string{dst}})
				}
			}
			if _, err := w.any().load(t.Context(), document(t, "links.nq", loaded, 0), false); err != nil {
				t.Fatal(err)
			}
			// 2. All machines have the links.
			for _, m := range w.up() {
				web.check(web.graphs[m])
			}
			close(stop)
			<-ended
		}
	})
}
