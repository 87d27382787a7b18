// A cleared cluster forgets UIDs.

package cluster

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// TestLinksCleared deletes all triples, as CLEAR ALL does in a cluster. Later pages may get the
// UIDs of earlier ones; then all machines must agree on whose they are.
func TestLinksCleared(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer func() { web.end() }()
		for range 10 {
			web.change()
		}
		web.check(web.some())
		// 1. Delete all triples.
		var all []triple.Triple
		r, err := w.any().node.Reader()
		require.NoError(t, err)
		for row, err := range r.Match(t.Context(), triple.Pattern{}, store.ReadOptions{}) {
			require.NoError(t, err)
			tr, err := row.Triple()
			require.NoError(t, err)
			all = append(all, tr)
		}
		r.Close()
		if _, err := store.Delete(t.Context(), w.any().node, all); err != nil {
			t.Fatal(err)
		}
		// 2. Another epoch.
		if w.random.IntN(2) == 0 {
			m := w.any()
			web.end(m)
			m.kill()
			w.settle()
			w.add().run(w.up()[0])
			web.open()
			w.settle()
		}
		// 3. Other pages of the same hosts.
		web.links, web.uids, web.urls = map[string]map[string]links.Label{}, map[string]uid.UID{}, map[uid.UID]string{}
		for i := range 6 {
			c := links.Change{Source: fmt.Sprintf("http://www%d.example.org/new", i), Targets: []string{web.url(), fmt.Sprintf("http://www%d.example.org/newer", i)}}
			web.apply(c)
			if _, err := web.some().Update(t.Context(), []links.Change{c}); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range w.up() {
			web.check(web.graphs[m])
		}
		w.settle()
		for _, m := range w.up() {
			web.check(web.graphs[m])
		}
	})
}
