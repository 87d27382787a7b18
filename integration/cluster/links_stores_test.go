// Stores of links that members relinquish, with reads, changes, growth, losses and damaged files.

package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
)

// relinquishAll relinquishes stores by one member, and waits until no member has them in memory. Work
// in the background may still use them for a moment.
func (w *web) relinquishAll(s links.Stores) {
	w.t.Helper()
	if err := w.some().Relinquish(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	var servers []links.ServerStores
	w.until("no member has relinquished stores in memory", func() bool {
		var err error
		servers, err = w.some().Stores(w.t.Context())
		if err != nil || len(servers) != len(w.up()) {
			w.t.Fatalf("%d of %d members: %v", len(servers), len(w.up()), err)
		}
		return !slices.ContainsFunc(servers, func(one links.ServerStores) bool {
			for of, m := range map[links.Stores]links.StoreMemory{links.URLStore: one.URLs, links.ForwardStore: one.Forward, links.BackwardStore: one.Backward} {
				if s.Has(of) && (m.Bytes != 0 || m.Cells != 0 || !one.Relinquished.Has(of)) {
					return true
				}
			}
			return false
		})
	})
	for _, one := range servers {
		if one.Address == "" || one.Cells == 0 {
			w.t.Errorf("%+v", one)
		}
	}
}

// TestLinksStores relinquishes stores while links change, a member joins and another one is lost.
func TestLinksStores(t *testing.T) {
	seed.Long(t)
	simulate(t, 4, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer func() { web.end() }()
		for range 8 {
			web.change()
			web.byOtherDoors()
		}
		// 1. All members unload, and answer as before.
		web.copied()
		web.relinquishAll(links.AllStores)
		for _, m := range w.up() {
			web.check(web.graphs[m])
		}
		// 2. With changes between.
		for range 4 {
			web.relinquishAll(links.Stores(1 + w.random.IntN(int(links.AllStores))))
			web.change()
			web.byOtherDoors()
			web.check(web.some())
		}
		// 3. A member that joins copies cells that others have in files alone. A lost one leaves its
		// followers without stores in memory.
		web.relinquishAll(links.AllStores)
		w.add().run(w.up()[0])
		web.open()
		w.settle()
		web.copied()
		web.check(web.graphs[w.up()[len(w.up())-1]])
		web.relinquishAll(links.AllStores)
		lost := w.any()
		web.end(lost)
		lost.kill()
		web.checkLists(web.some(), 8*time.Second)
		w.settle()
		web.checkLists(web.some(), 8*time.Second)
		// 4. A request brings all stores back.
		web.copied()
		require.NoError(t, web.some().Request(t.Context(), links.AllStores))
		servers, err := web.some().Stores(t.Context())
		require.NoError(t, err)
		for _, one := range servers {
			if one.Backward.Cells != one.Cells || one.Backward.Bytes != one.Backward.FileBytes || one.URLs.Cells != one.Cells || one.Relinquished != 0 {
				t.Errorf("%+v", one)
			}
		}
		web.check(web.some())
	})
}

// TestLinksStoresLost removes all cells' files of a member while its stores are relinquished. The others
// answer for it, and it gets its cells from them.
func TestLinksStoresLost(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer func() { web.end() }()
		for range 8 {
			web.change()
			web.byOtherDoors()
		}
		web.check(web.some())
		web.copied()
		web.relinquishAll(links.AllStores)
		victim := w.any()
		files, err := filepath.Glob(filepath.Join(web.dir, victim.name, "*.cell"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, path := range files {
			require.NoError(t, os.Remove(path))
		}
		web.check(web.graphs[victim])
		web.copied()
		web.check(web.graphs[victim])
		web.change()
		for _, m := range w.up() {
			web.check(web.graphs[m])
		}
	})
}
