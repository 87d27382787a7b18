// Forming clusters.

package cluster

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// numbered returns a triple for each number from a on and below b.
func numbered(a, b int) (all []triple.Triple) {
	for i := a; i < b; i++ {
		all = append(all, triple.Triple{
			Subject:   triple.NewIRI(fmt.Sprintf("http://e.x/s%d", i%97)),
			Predicate: triple.NewIRI(fmt.Sprintf("http://e.x/p%d", i%7)),
			Object:    triple.NewTyped(fmt.Sprint(i), triple.XSDInteger),
		})
	}
	return all
}

// A machine alone grows to three while it serves what it has.
func TestForm(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		first := w.machines[0]
		first.run()
		if r, err := first.node.Add(t.Context(), numbered(0, 1000)); err != nil || r.Added != 1000 {
			t.Fatalf("alone: %+v, %v", r, err)
		}
		for _, m := range w.machines[1:] {
			m.run(first)
		}
		w.settle()
		for _, m := range w.machines {
			r, err := m.node.Add(t.Context(), numbered(0, 1100))
			t.Logf("%s: %+v %v", m.name, r, err)
		}
		for _, m := range w.machines {
			sn, err := m.node.Reader()
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []string{"spo", "pos", "osp"} {
				order, _ := triple.ParseOrder(o)
				rows := 0
				for _, err := range sn.Range(t.Context(), triple.Bounds{Order: order}, store.ReadOptions{}) {
					if err != nil {
						t.Fatal(err)
					}
					rows++
				}
				if rows != 1100 {
					t.Errorf("%s has %d rows in %s", m.name, rows, o)
				}
			}
			sn.Close()
		}
	})
}
