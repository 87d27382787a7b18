// Wishes of bulk loads at the leader.

package leader

import (
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/view"
)

// wantLoads records the wishes of a load. The load must repeat each until a view fulfils it.
func (w *wishes) wantLoads(wanted view.Wishes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &w.loads
	for _, b := range wanted.Begin {
		l.Begin = append(slices.DeleteFunc(slices.Clone(l.Begin), func(o view.LoadBegin) bool { return o.ID == b.ID }), b)
	}
	for _, p := range wanted.Publish {
		l.Publish = append(slices.DeleteFunc(slices.Clone(l.Publish), func(o view.LoadPublish) bool { return o.ID == p.ID }), p)
	}
	for _, id := range wanted.Drop {
		l.Drop = append(slices.DeleteFunc(slices.Clone(l.Drop), func(o string) bool { return o == id }), id)
	}
	if len(wanted.Splits) > 0 {
		l.Splits = slices.Clone(wanted.Splits)
	}
	l.Rebalance = l.Rebalance || wanted.Rebalance
}

// openLoads removes a wish if v fulfils it or makes it impossible. The lock must be held.
func (w *wishes) openLoads(v *view.View) {
	l := &w.loads
	staged := func(id string) bool { load := v.Load(id); return load != nil && load.Epoch == 0 }
	begun := func(b view.LoadBegin) bool {
		load := v.Load(b.ID)
		return !v.Has(b.Coordinator, b.Incarnation) || load != nil && (load.Epoch != 0 || load.Coordinator == b.Coordinator && load.Incarnation == b.Incarnation)
	}
	l.Begin = slices.DeleteFunc(slices.Clone(l.Begin), begun)
	l.Publish = slices.DeleteFunc(slices.Clone(l.Publish), func(p view.LoadPublish) bool { return p.Epoch != v.Epoch || !staged(p.ID) })
	l.Drop = slices.DeleteFunc(slices.Clone(l.Drop), func(id string) bool { return !staged(id) })
	l.Splits = v.Splittable(l.Splits)
	l.Rebalance = l.Rebalance && (len(l.Splits) > 0 || v.Misplaced() > 0)
}
