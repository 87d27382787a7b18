// Tests of reads while machines are down.

package reads

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// living returns a machine that is not dead.
func (w *world) living(rng *rand.Rand, dead *machine) int {
	for {
		if i := rng.IntN(len(w.machines)); w.machines[i] != dead {
			return i
		}
	}
}

// With a machine dead every answer is the whole one or store.ErrUnavailable,
// whatever is asked and however it is gone through.
func TestDegraded(t *testing.T) {
	for _, machines := range []int{3, 4, 5} {
		if race.Enabled && machines > 3 {
			continue // the same goroutines
		}
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			rng := random(t)
			w := newWorld(t, machines, Options{Ahead: 64 << 10})
			w.fill(rng, 40, drawn(rng, 700))
			truth := w.truth()
			answered, degraded, refused := 0, 0, 0
			for i, dead := range w.machines {
				w.adopt(w.viewOf(uint64(2+i), dead))
				w.net.Isolate(fmt.Sprintf("10.0.0.%d", i+1))
				sn := w.snapshot(w.living(rng, dead))
				for range fewer(6) {
					for _, p := range patterns(w.triples[rng.IntN(len(w.triples))]) {
						all, _ := got(truth.Match(ctx, p, store.ReadOptions{}))
						o := options(rng, all)
						want, _ := got(truth.Match(ctx, p, o))
						once := *sn
						once.degraded = w.snapshot(0).degraded
						have, err := got(once.Match(ctx, p, o))
						what := fmt.Sprintf("match %+v %+v, %d dead", p, o, i)
						switch {
						case isError(err, store.ErrUnavailable):
							refused++
							prefix(t, have, want)
						case err != nil:
							t.Fatalf("%s: %v", what, err)
						default:
							answered++
							same(t, what, have, want)
						}
						if err == nil && once.Degraded() {
							degraded++
						}
						n, err := sn.Count(ctx, p)
						if err == nil && n != int64(len(all)) || err != nil && !isError(err, store.ErrUnavailable) {
							t.Fatalf("count %+v: %d, %v, want %d", p, n, err, len(all))
						}
						if n, exact, err := sn.Estimate(t.Context(), p); err != nil || exact && n != int64(len(all)) {
							t.Fatalf("estimate %+v: %d, %v, %v, want %d", p, n, exact, err, len(all))
						}
					}
				}
				checkHas(t, w, sn, rng)
				w.net.Heal()
			}
			if answered == 0 || degraded == 0 || machines == 5 && refused == 0 {
				t.Errorf("%d answered, %d of them degraded, %d refused: the test tests nothing", answered, degraded, refused)
			}
		})
	}
}

// checkHas asks for single triples: whichever order or extra replica lives tells.
func checkHas(t *testing.T, w *world, sn *Snapshot, rng *rand.Rand) {
	t.Helper()
	for range 30 {
		some := w.triples[rng.IntN(len(w.triples))]
		if rng.IntN(2) == 0 {
			some = draw(rng)
		}
		want, _ := w.truth().Has(ctx, some)
		have, err := sn.Has(ctx, some)
		if err == nil && have != want || err != nil && !isError(err, store.ErrUnavailable) {
			t.Fatalf("has %s: %v, %v, want %v", some, have, err, want)
		}
	}
}

// dies makes a cluster of three in which a dead machine owns one order, another one all
// other orders, and the third one nothing.
func dies(t *testing.T, o Options, triples []triple.Triple, dead triple.Order) *world {
	t.Helper()
	w := newWorld(t, 3, o)
	w.fill(random(t), 1, triples)
	w.machines[0].fillAll(w)
	l := &w.layout
	for id, o := range []triple.Order{triple.POS, triple.OSP, triple.GSPO} {
		var err error
		if l.Trie, err = l.Trie.Split(l.Trie.Lookup([]byte{byte(o)}).ID, []byte{byte(o)}, uint64(id+2)); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range triple.Orders {
		owner := w.machines[0]
		if o == dead {
			owner = w.machines[1]
		}
		partition := uint32(0)
		for l.Placement.PartitionOwner(partition) != owner.Self() {
			partition++
		}
		var err error
		if l.Trie, err = l.Trie.Assign(l.Trie.Lookup([]byte{byte(o)}).ID, partition); err != nil {
			t.Fatal(err)
		}
	}
	w.adopt(w.viewOf(2, w.machines[1]))
	return w
}

// fillAll puts all versions of all triples into the machine.
func (m *machine) fillAll(w *world) {
	var rows []replica.FillRow
	for i, t := range w.triples {
		value := triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: uint64(i + 1)}, t)
		for _, o := range triple.Orders {
			if key, _ := triple.AppendKey(nil, o, t); len(key) > 0 {
				rows = append(rows, replica.FillRow{Table: store.TableStorage, Key: key, Value: value})
			}
		}
	}
	m.fill(w, rows)
}

// The shapes of patterns with an answer, by the dead order.
func TestDegradedShapes(t *testing.T) {
	some := drawn(rand.New(rand.NewPCG(1, 1)), 300)
	named := some[slices.IndexFunc(some, func(t triple.Triple) bool { return !t.Graph.IsZero() })]
	for _, dead := range triple.Orders {
		w := dies(t, Options{}, some, dead)
		sn, truth := w.snapshot(0), w.truth()
		for _, p := range patterns(named) {
			want, _ := got(truth.Match(ctx, p, store.ReadOptions{}))
			have, err := got(sn.Match(ctx, p, store.ReadOptions{}))
			able := p.Best() != dead || filterOf(p).binds() // one live machine has all
			if able != (err == nil) || err != nil && !isError(err, store.ErrUnavailable) {
				t.Fatalf("%s dead, %+v: %v", dead, p, err)
			}
			if able {
				same(t, fmt.Sprintf("%s dead, %+v", dead, p), have, want)
			}
		}
	}
}

// Look-ups and seeks of SPARQL are answered from other orders too.
func TestDegradedSource(t *testing.T) {
	rng := random(t)
	w := dies(t, Options{}, drawn(rng, 600), triple.SPO)
	sn := w.snapshot(0)
	checkLookup(t, w, sn, rng)
	if !sn.Degraded() {
		t.Error("it does not say so")
	}
	for _, r := range subjects(w, rng, 20) {
		for _, reverse := range []bool{false, true} {
			have, err := sn.Source().Scan(ctx, r, reverse)
			require.NoError(t, err)
			want, err := w.truth().Source().Scan(ctx, r, reverse)
			require.NoError(t, err)
			for range 30 {
				key, _ := triple.AppendKey(nil, triple.SPO, draw(rng))
				if rng.IntN(2) == 0 {
					key = bytes.Clone(r.Lo)
				}
				ok := want.SeekGE(key)
				if have.SeekGE(key) != ok || ok && !bytes.Equal(keyOf(have), keyOf(want)) {
					t.Fatalf("seek %q: %v, %q", key, have.Err(), keyOf(have))
				}
			}
			have.Close()
			want.Close()
		}
	}
}

// What is collected is bounded; a count needs no memory.
func TestDegradedMemory(t *testing.T) {
	triples := students(2000)
	w := dies(t, Options{DegradedMemory: 10 << 10}, triples, triple.SPO)
	sn := w.snapshot(0)
	p := triple.Pattern{Subject: triples[0].Subject, Predicate: triples[0].Predicate}
	if have, err := got(sn.Match(ctx, p, store.ReadOptions{})); err != nil || len(have) != 1 {
		t.Errorf("%d rows, %v", len(have), err)
	}
	var more []triple.Triple
	for i := range 500 {
		more = append(more, triple.Triple{Subject: iri("one%d", i), Predicate: iri("p"), Object: iri("o")})
	}
	w = dies(t, Options{DegradedMemory: 10 << 10}, more, triple.POS)
	sn = w.snapshot(0)
	p = triple.Pattern{Predicate: iri("p"), Object: iri("o")}
	if _, err := got(sn.Match(ctx, p, store.ReadOptions{})); !isError(err, store.ErrUnavailable) {
		t.Error(err)
	}
	if n, err := sn.Count(ctx, p); err != nil || n != 500 {
		t.Errorf("%d, %v", n, err)
	}
}

// An order of which rows may be gone does not answer for another one.
func TestDegradedLost(t *testing.T) {
	w := dies(t, Options{}, students(100), triple.SPO)
	p := triple.Pattern{Subject: w.triples[0].Subject, Predicate: w.triples[0].Predicate}
	v := w.viewOf(3, w.machines[1])
	all := triple.OrderRange(triple.POS)
	v.Lost = []view.Lost{{Lo: all.Lo, Hi: all.Hi, Epoch: 3}}
	w.adopt(w.made(v))
	sn := w.snapshot(0)
	if _, err := got(sn.Match(ctx, p, store.ReadOptions{})); !isError(err, store.ErrUnavailable) {
		t.Error(err)
	}
	if have, err := got(sn.IncludeLost().Match(ctx, p, store.ReadOptions{})); err != nil || len(have) != 1 {
		t.Errorf("%d rows, %v", len(have), err)
	}
}
