// Links on members with too little memory for them.

package cluster

import (
	"errors"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
)

// TestLinksMemory: a member without memory for any cell answers from those of the others, before and
// after changes.
func TestLinksMemory(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.memoryBytes = map[*machine]int64{w.up()[0]: 64}
		web.open()
		defer func() { web.end() }()
		poor := web.graphs[w.up()[0]]
		for range 5 {
			web.change()
			web.byOtherDoors()
		}
		if err := poor.AwaitCells(t.Context()); !errors.Is(err, links.ErrMemory) || !strings.Contains(err.Error(), "--link-memory") {
			t.Errorf("a member without memory: %v", err)
		}
		if held, missing := poor.Partitions(); held != 0 || missing == 0 {
			t.Errorf("a member without memory holds %d partitions, %d are missing", held, missing)
		}
		for _, m := range w.up() {
			web.check(web.graphs[m])
		}
		c := links.Change{Source: web.url(), Targets: []string{web.url()}}
		if _, err := web.graphs[w.up()[1]].Update(t.Context(), []links.Change{c}); err != nil {
			t.Fatal(err)
		}
		web.apply(c)
		web.check(poor)
	})
}

// TestLinksNoMemory: no member has memory for cells. Reads say why, and triples are served.
func TestLinksNoMemory(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.memoryBytes = map[*machine]int64{}
		for _, m := range w.up() {
			web.memoryBytes[m] = 64
		}
		web.open()
		defer func() { web.end() }()
		web.asTriple(web.url(), web.url())
		_, stats := web.some().Stats(t.Context())
		_, uids := web.some().UIDs(t.Context(), []string{web.url()})
		for _, err := range []error{stats, uids} {
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "--link-memory") {
				t.Errorf("no member has memory: %v", err)
			}
		}
		web.asTriple(web.url(), web.url())
	})
}
