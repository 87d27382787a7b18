// Offsets: owners skip rows.

package reads

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// Owners skip what an offset leaves out, in both directions: few messages, and no row of it.
func TestOffset(t *testing.T) {
	const rows, offset = 6000, 5000
	rng := random(t)
	w := newWorld(t, 3, Options{})
	w.fill(rng, 10, students(rows))
	for w.away(triple.POS, 0) < rows/2 {
		w.adopt(w.moved(rng, 1))
	}
	sn := w.snapshot(0)
	for _, reverse := range []bool{false, true} {
		before := w.machines[0].sent()
		o := store.ReadOptions{Reverse: reverse, Offset: offset, Limit: 10}
		have, err := got(sn.Range(ctx, triple.Bounds{Order: triple.POS}, o))
		require.NoError(t, err)
		same(t, "behind an offset", have, w.all(reverse)[offset:offset+10])
		after := w.machines[0].sent()
		if n := after[MethodScan] - before[MethodScan]; n > 0 {
			t.Errorf("%d streams of rows for 10 rows", n)
		}
		if n := after[MethodSkip] - before[MethodSkip]; n == 0 || n > 20 {
			t.Errorf("%d requests to skip", n)
		}
	}
}

// Skipping goes on in a new view where rows have other owners. If a load is published meanwhile, it
// begins again. If one is published between the skipped rows and the others, the read ends.
func TestOffsetViews(t *testing.T) {
	rng := random(t)
	w := newWorld(t, 3, Options{})
	const rows, offset = 3000, 2900
	w.fill(rng, 30, students(rows))
	for w.away(triple.POS, 0) < rows/3 {
		w.adopt(w.moved(rng, 1))
	}
	sn, want := w.snapshot(0), w.all(false)[offset:]
	for i, next := range []func(){
		func() { w.adopt(w.moved(rng, w.machines[0].View().Epoch+1)) },
		func() { w.adopt(w.loading(w.machines[0].View().Epoch+1, 1, false)) },
	} {
		served := false
		once := func() {
			if !served {
				served = true
				next()
			}
		}
		for _, m := range w.machines[1:] {
			m.served.Store(&once)
		}
		have, err := got(sn.Range(ctx, triple.Bounds{Order: triple.POS}, store.ReadOptions{Offset: offset}))
		if err != nil || !served {
			t.Fatalf("view change %d: %v, served %t", i, err, served)
		}
		same(t, "behind an offset", have, want)
	}
	s, err := sn.scanBehind(ctx, triple.OrderRange(triple.POS), false, nil, offset, 0)
	require.NoError(t, err)
	defer s.Close()
	w.adopt(w.loading(w.machines[0].View().Epoch+1, 2, false))
	if s.Next() || !isError(s.Err(), errPublished) {
		t.Errorf("a load behind the skipped rows: %v", s.Err())
	}
}
