package reads

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// One of two machines is dead: the other one answers every read from its own store,
// completely and in order, with hardly any memory too.
func TestWhole(t *testing.T) {
	for _, memory := range []int64{0, 1, 4 << 10} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			rng := random(t)
			w := newWorld(t, 2, Options{DegradedMemory: memory})
			w.fill(rng, 40, drawn(rng, fewer(400)))
			truth := w.truth()
			for i, dead := range w.machines {
				w.adopt(w.viewOf(uint64(2+i), dead))
				w.net.Isolate(fmt.Sprintf("10.0.0.%d", i+1))
				sn := w.snapshot(1 - i)
				for range fewer(6) {
					for _, p := range patterns(w.triples[rng.IntN(len(w.triples))]) {
						options := node.ReadOptions{Reverse: rng.IntN(2) == 0}
						if rng.IntN(3) == 0 {
							options.Limit = 1 + rng.Int64N(30)
						}
						want, _ := got(truth.Match(ctx, p, options))
						have, err := got(sn.Match(ctx, p, options))
						if err != nil {
							t.Fatalf("%+v, machine %d dead: %v", p, i, err)
						}
						same(t, fmt.Sprintf("%+v %+v, machine %d dead", p, options, i), have, want)
						all, _ := got(truth.Match(ctx, p, node.ReadOptions{}))
						if n, err := sn.Count(ctx, p); err != nil || n != int64(len(all)) {
							t.Errorf("count %+v: %d, %v; want %d", p, n, err, len(all))
						}
					}
				}
				checkLookup(t, w, sn, rng)
				for _, o := range triple.Orders {
					for _, reverse := range []bool{false, true} {
						seekBoth(t, w, sn, triple.OrderRange(o), reverse)
					}
				}
				if !sn.Degraded() {
					t.Error("it does not say so")
				}
				w.net.Heal()
			}
		})
	}
}

// seekBoth seeks keys of the triples in a range of the cluster and of the truth.
func seekBoth(t *testing.T, w *world, sn *Snapshot, r triple.Range, reverse bool) {
	t.Helper()
	have, err := sn.Source().Scan(ctx, r, reverse)
	if err != nil {
		t.Fatal(err)
	}
	defer have.Close()
	want, err := w.truth().Source().Scan(ctx, r, reverse)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	for i, some := range w.triples[:10] {
		key, _ := triple.AppendKey(nil, triple.Order(r.Lo[0]), some)
		if len(key) == 0 {
			continue
		}
		if i%3 > 0 {
			key = key[:len(key)-1]
		}
		ok := want.SeekGE(key)
		if have.SeekGE(key) != ok || ok && !bytes.Equal(have.Key(), want.Key()) {
			t.Fatalf("seek %q: %v, %q", key, have.Err(), have.Key())
		}
		if next := want.Next(); have.Next() != next || next && !bytes.Equal(have.Key(), want.Key()) {
			t.Fatalf("behind %q: %v, %q", key, have.Err(), have.Key())
		}
	}
}
