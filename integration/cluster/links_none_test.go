// Members without a graph of links: the others keep it.

package cluster

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// TestLinksOfSomeMembers checks that members without a graph are no holders: the others have all cells,
// assign all UIDs, rank and answer, also if a member gives its graph up or gets one.
func TestLinksOfSomeMembers(t *testing.T) {
	seed.Long(t)
	simulate(t, 4, func(t *testing.T, w *world) {
		web := newWeb(w)
		first := w.machines[w.random.IntN(len(w.machines))]
		first.noLinks = true
		w.form()
		web.open()
		defer web.end()
		work := func() {
			t.Helper()
			for range 6 {
				web.change()
				web.byOtherDoors()
			}
			for m, g := range web.graphs {
				if err := g.AwaitCells(t.Context()); err != nil {
					t.Fatal(m.name, err)
				}
				web.check(g)
			}
			if job, _ := web.pageRank(web.some()); job.State != "done" {
				t.Fatalf("PageRank: %+v", job)
			}
		}
		work()
		// 1. Another one starts without its graph.
		second := w.any()
		for second == first {
			second = w.any()
		}
		web.end(second)
		second.stop()
		second.noLinks = true
		second.run()
		w.settle()
		work()
		// 2. Both get a graph.
		for _, m := range []*machine{first, second} {
			m.stop()
			m.noLinks = false
			m.run()
			w.settle()
		}
		web.open()
		work()
		for _, m := range w.up() {
			if held, missing := web.graphs[m].Partitions(); held == 0 || missing != 0 {
				t.Errorf("%s holds %d partitions and lacks %d", m.name, held, missing)
			}
		}
	})
}
