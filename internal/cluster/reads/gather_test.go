// Tests of patterns gathered from other orders.

package reads

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// With one machine dead, patterns of one term are answered, all of them and completely, from
// the other orders and the extra replicas.
func TestGather(t *testing.T) {
	for _, machines := range []int{3, 5, 7} {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			rng := random(t)
			w := newWorld(t, machines, Options{})
			w.fill(rng, 40, drawn(rng, 500))
			truth := w.truth()
			var asked, needed, refused [3]int
			for i, dead := range w.machines {
				w.adopt(w.viewOf(uint64(2+i), dead))
				w.net.Isolate(fmt.Sprintf("10.0.0.%d", i+1))
				sn := w.snapshot(w.living(rng, dead))
				for range fewer(8) {
					some := w.triples[rng.IntN(len(w.triples))]
					for shape, p := range []triple.Pattern{{Subject: some.Subject}, {Predicate: some.Predicate}, {Object: some.Object}} {
						want, _ := got(truth.Match(ctx, p, store.ReadOptions{}))
						have, err := got(sn.Match(ctx, p, store.ReadOptions{}))
						asked[shape]++
						if w.needsGather(sn, p) {
							needed[shape]++
						}
						if isError(err, store.ErrUnavailable) {
							refused[shape]++
							continue
						}
						if err != nil {
							t.Fatal(err)
						}
						same(t, fmt.Sprintf("%+v, %d dead", p, i), have, want)
						if n, err := sn.Count(ctx, p); err != nil || n != int64(len(want)) {
							t.Errorf("count %+v: %d, %v; want %d", p, n, err, len(want))
						}
					}
				}
				w.net.Heal()
			}
			t.Logf("of %d patterns s ? ?, ? p ?, ? ? o each, %d are in no live range, and %d are refused", asked[0], needed, refused)
			if refused != [3]int{} || needed == [3]int{} {
				t.Errorf("%d need gathering, %d are refused", needed, refused)
			}
		})
	}
}

// needsGather reports whether a part of a pattern's answer is in no live range of an order.
func (w *world) needsGather(sn *Snapshot, p triple.Pattern) bool {
	r, f, err := answers(p)
	if err != nil {
		w.Fatal(err)
	}
	v := sn.reads.member.View()
	for _, piece := range pieces(v.Joint(), r) {
		if _, _, ok := (fallback{sn.newAttempt(v)}).otherOrder(f.extend(shared(piece.Range)), piece.Range); !piece.live && !ok {
			return true
		}
	}
	return false
}

// As many machines as there are copies: nothing shorter than the truth is answered.
func TestGatherRefuses(t *testing.T) {
	rng := random(t)
	w := newWorld(t, 5, Options{})
	w.fill(rng, 40, drawn(rng, 300))
	v := w.viewOf(2, w.machines[:3]...)
	if _, ok := spareOrders(v); ok {
		t.Error("three of five are dead, and each triple may have been on these")
	}
	if spare, ok := spareOrders(w.viewOf(2, w.machines[:2]...)); spare != 0 || !ok {
		t.Errorf("two of five are dead: %d, %v", spare, ok)
	}
	if spare, ok := spareOrders(w.viewOf(2, w.machines[0])); spare != 1 || !ok {
		t.Errorf("one of five is dead: %d, %v", spare, ok)
	}
}
