// Long lists of links replaced by several machines at the same time.

package cluster

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/links"
)

// TestLinksLongReplacedAtOnce replaces the long list of a page by two machines and a short one by a third
// at the same time. All machines have one of these lists then, whole.
func TestLinksLongReplacedAtOnce(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		r := newReplacing(newWeb(w))
		w.form()
		r.open()
		defer r.end()
		page := replacedPage(0)
		var common []string
		for i := range 20_001 { // more than one part
			common = append(common, fmt.Sprintf("http://www%d.example.org/long/%d", i%6, i))
		}
		var lists [][]string
		for i := range w.up() {
			list := []string{fmt.Sprintf("http://www%d.example.org/only", i)}
			if i > 0 {
				list = append(list, common...)
			}
			slices.Sort(list)
			lists = append(lists, list)
		}
		var all sync.WaitGroup
		for i, m := range w.up() {
			g := r.graphs[m]
			all.Go(func() {
				if _, err := g.Update(t.Context(), []links.Change{{Kind: links.ReplaceLinks, Source: page, Targets: lists[i]}}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, m := range w.up() {
			list := r.list(r.graphs[m], page)
			if !slices.ContainsFunc(lists, func(one []string) bool { return slices.Equal(one, list) }) {
				t.Errorf("%s has a list of %d links, which is none that it was replaced by", m.name, len(list))
			}
		}
	})
}
