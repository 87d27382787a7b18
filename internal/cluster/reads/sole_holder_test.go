// Reads on the only machine of two that is left.

package reads

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// One of two machines is dead: the other one answers every read from its own store,
// completely and in order, even if it may hold one row only.
func TestWhole(t *testing.T) {
	seed.Slow(t)
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
				// 1. Matches and counts, against a store with all triples.
				for range fewer(6) {
					for _, p := range patterns(w.triples[rng.IntN(len(w.triples))]) {
						options := store.ReadOptions{Reverse: rng.IntN(2) == 0}
						if rng.IntN(3) == 0 {
							options.Limit = 1 + rng.Int64N(30)
						}
						want, _ := got(truth.Match(ctx, p, options))
						have, err := got(sn.Match(ctx, p, options))
						if err != nil {
							t.Fatalf("%+v, machine %d dead: %v", p, i, err)
						}
						same(t, fmt.Sprintf("%+v %+v, machine %d dead", p, options, i), have, want)
						all, _ := got(truth.Match(ctx, p, store.ReadOptions{}))
						if n, err := sn.Count(ctx, p); err != nil || n != int64(len(all)) {
							t.Errorf("count %+v: %d, %v; want %d", p, n, err, len(all))
						}
					}
				}
				// 2. Look-ups and seeks.
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

// If an operation in a range of the dead machine is undecided, the range is refused. When it is
// committed, its row is returned. Other ranges do not wait.
func TestWholeUndecided(t *testing.T) {
	rng := random(t)
	w := newWorld(t, 2, Options{IdleTimeout: soon})
	w.fill(rng, 40, drawn(rng, fewer(400)))
	owned := 0
	for i, dead := range w.machines {
		w.adopt(w.viewOf(uint64(2+i), dead))
		w.net.Isolate(fmt.Sprintf("10.0.0.%d", i+1))
		for n := range 20 {
			owned += w.undecided(1-i, n)
		}
		w.net.Heal()
	}
	if owned == 0 {
		t.Error("no range was the dead machine's")
	}
}

// undecided delivers an operation to the machine that is left, and reads its row in each order
// while it is settled and while it is not. It returns in how many orders the row was in a
// range of the dead machine.
func (w *world) undecided(machine, n int) (owned int) {
	left := w.machines[machine]
	added := triple.Triple{Subject: iri("new%d", n), Predicate: iri("p1"), Object: iri("o%d", n)}
	key, _ := triple.AppendKey(nil, triple.SPO, added)
	origin := replica.Origin{Sequencer: left.Self(), Incarnation: 1, Batch: uint64(n + 1)}
	var waits []replica.Origin
	var undecided error
	left.settle = func(_ context.Context, batches []replica.Origin) error {
		waits = append(waits, batches...)
		return undecided
	}
	if err := left.store.Deliver(ctx, &replica.Delivery{Origin: origin, Operations: []replica.Operation{
		{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 2, Sequence: uint64(n + 1)}, Key: key},
	}}, left.View().Joint()); err != nil {
		w.Fatal(err)
	}
	for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
		// 1. It is committed: its row is read, for any former owner of the range.
		waits, undecided = nil, nil
		rows, degraded, err := w.countRow(machine, o, added)
		if err != nil || rows != 1 || !slices.Contains(waits, origin) {
			w.Errorf("%s: %d rows, %v, waits for %v", o, rows, err, waits)
		}
		if degraded {
			owned++
		}
		// 2. It is undecided.
		undecided = fmt.Errorf("%w: undecided", store.ErrUnavailable)
		if rows, _, err := w.countRow(machine, o, added); !isError(err, store.ErrUnavailable) {
			w.Errorf("%s, undecided: %d rows, %v; the dead machine owned it: %v", o, rows, err, degraded)
		}
		// 3. Another range of the order.
		waits = nil
		if rows, _, err := w.countRow(machine, o, w.triples[n]); rows != 1 || err != nil || len(waits) > 0 {
			w.Errorf("%s, another range: %d rows, %v, waits for %v", o, rows, err, waits)
		}
	}
	return owned
}

// countRow scans the range of one triple in an order, and returns how many rows it has and
// whether they came from another order.
func (w *world) countRow(machine int, o triple.Order, one triple.Triple) (n int, degraded bool, err error) {
	key, _ := triple.AppendKey(nil, o, one)
	sn := w.snapshot(machine)
	it, err := sn.Source().Scan(ctx, triple.Range{Lo: key, Hi: append(bytes.Clone(key), 0)}, false)
	if err != nil {
		return 0, false, err
	}
	defer it.Close()
	for ok := it.SeekGE(key); ok; ok = it.Next() {
		n++
	}
	return n, sn.Degraded(), it.Err()
}

func keyOf(rows sparql.Rows) []byte {
	key, _ := rows.Row()
	return key
}

// seekBoth seeks the same keys in a range of the cluster and of a store with all triples.
func seekBoth(t *testing.T, w *world, sn *Snapshot, r triple.Range, reverse bool) {
	t.Helper()
	have, err := sn.Source().Scan(ctx, r, reverse)
	require.NoError(t, err)
	defer have.Close()
	want, err := w.truth().Source().Scan(ctx, r, reverse)
	require.NoError(t, err)
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
		if have.SeekGE(key) != ok || ok && !bytes.Equal(keyOf(have), keyOf(want)) {
			t.Fatalf("seek %q: %v, %q", key, have.Err(), keyOf(have))
		}
		if next := want.Next(); have.Next() != next || next && !bytes.Equal(keyOf(have), keyOf(want)) {
			t.Fatalf("behind %q: %v, %q", key, have.Err(), keyOf(have))
		}
	}
}
