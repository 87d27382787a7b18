// Tests of the overlay.

package update

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// pool returns triples with neighbouring keys in every order: terms with others as prefixes,
// long ones, and the same triple in several graphs.
func pool() []triple.Triple {
	long := strings.Repeat("l", 2000)
	nodes := []triple.Term{triple.NewIRI("x:a"), triple.NewIRI("x:ab"), triple.NewBlank("b"), triple.NewIRI("x:" + long)}
	objects := append(slices.Clone(nodes), triple.NewString("a\x00b"), triple.NewString(long+"1"), triple.NewString(long+"2"))
	var all []triple.Triple
	for _, s := range nodes {
		for _, p := range []triple.Term{triple.NewIRI("x:p"), triple.NewIRI("x:pq")} {
			for _, o := range objects {
				for _, g := range poolGraphs {
					all = append(all, triple.Triple{Subject: s, Predicate: p, Object: o, Graph: g})
				}
			}
		}
	}
	return all
}

var poolGraphs = []triple.Term{{}, triple.NewIRI("x:g"), triple.NewIRI("x:gh"), triple.NewBlank("g"), triple.NewIRI("x:g" + strings.Repeat("h", 1500))}

// changed draws a base, changes it, and returns the overlay, a source it must equal, and the
// delta.
func changed(t *rapid.T) (source.Source, *memsource.Source, *delta) {
	all := pool()
	model := map[triple.Triple]bool{}
	for range rapid.IntRange(0, 60).Draw(t, "base") {
		model[rapid.SampledFrom(all).Draw(t, "triple")] = true
	}
	base := sourceOf(model)
	d := newDelta(1 << 30)
	d.begin(true)
	for range rapid.IntRange(0, 60).Draw(t, "changes") {
		d.begin(true)
		tr := rapid.SampledFrom(all).Draw(t, "triple")
		q := quadOf(tr)
		var err error
		switch kind := rapid.IntRange(0, 40).Draw(t, "kind"); {
		case kind == 0:
			d.clearAll()
			clear(model)
		case kind == 1:
			d.clearNamed()
			deleteIf(model, func(g triple.Term) bool { return !g.IsZero() })
		case kind <= 4:
			err = d.clear(tr.Graph)
			deleteIf(model, func(g triple.Term) bool { return g == tr.Graph })
		case kind <= 20:
			err = d.remove(&q)
			delete(model, tr)
		default:
			err = d.add(&q)
			model[tr] = true
		}
		require.NoError(t, err)
	}
	return d.applyTo(base), sourceOf(model), d
}

func deleteIf(model map[triple.Triple]bool, cond func(g triple.Term) bool) {
	for tr := range model {
		if cond(tr.Graph) {
			delete(model, tr)
		}
	}
}

func sourceOf(model map[triple.Triple]bool) *memsource.Source {
	var all []triple.Triple
	for tr := range model {
		all = append(all, tr)
	}
	return memsource.New(all)
}

func drawKey(t *rapid.T) []byte {
	key, _ := triple.AppendKey(nil, rapid.SampledFrom(triple.Orders[:]).Draw(t, "order"), rapid.SampledFrom(pool()).Draw(t, "triple"))
	return key[:rapid.IntRange(0, len(key)).Draw(t, "length")]
}

func drawRange(t *rapid.T) triple.Range {
	switch rapid.IntRange(0, 5).Draw(t, "range") {
	case 0:
		return triple.OrderRange(rapid.SampledFrom(triple.Orders[:]).Draw(t, "order"))
	case 1:
		key, _ := triple.AppendTerm(nil, rapid.SampledFrom(poolGraphs).Draw(t, "graph"))
		return graphRange(key)
	case 2:
		return triple.Range{Lo: drawKey(t)}
	case 3:
		tr := rapid.SampledFrom(pool()).Draw(t, "triple")
		pattern := triple.Pattern{Subject: tr.Subject, Predicate: tr.Predicate}
		if rapid.Bool().Draw(t, "object") {
			pattern.Object = tr.Object
		}
		scan, err := pattern.Scan(triple.SPO)
		require.NoError(t, err)
		return scan.Range
	}
	lo, hi := drawKey(t), drawKey(t)
	if bytes.Compare(lo, hi) > 0 {
		lo, hi = hi, lo
	}
	return triple.Range{Lo: lo, Hi: hi}
}

// TestOverlay: an overlay answers as a source of the changed triples does.
func TestOverlay(t *testing.T) {
	seed.Slow(t)
	for range 5 {
		rapid.Check(t, overlayEquals)
	}
}

func overlayEquals(t *rapid.T) {
	ctx := context.Background()
	got, want, _ := changed(t)
	for range 8 {
		r := drawRange(t)
		compareScans(t, got, want, r)
		wantN, _ := want.Count(ctx, r)
		if n, err := got.Count(ctx, r); err != nil || n != wantN {
			t.Fatalf("Count(%q) = %d, %v, want %d", r, n, err, wantN)
		}
		if n, exact, err := got.Estimate(ctx, r); err != nil || n < 0 || exact && n != wantN {
			t.Fatalf("Estimate(%q) = %d, %v, %v, want %d", r, n, exact, err, wantN)
		} else if found, err := source.Survey(ctx, got, []source.Question{{Range: r}}); err != nil || found[0].Rows != n || found[0].Exact != exact {
			t.Fatalf("Survey(%q) = %v, %v; Estimate %d, %v", r, found, err, n, exact)
		}
	}
	var ranges []triple.Range
	for range rapid.IntRange(0, 10).Draw(t, "ranges") {
		ranges = append(ranges, drawRange(t))
	}
	slices.SortFunc(ranges, func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) })
	for i := range ranges { // they are not to overlap
		if i+1 < len(ranges) && (ranges[i].Hi == nil || bytes.Compare(ranges[i].Hi, ranges[i+1].Lo) > 0) {
			ranges[i].Hi = append([]byte{}, ranges[i+1].Lo...) // not nil, because nil is no bound
		}
	}
	if a, b := lookUp(t, got, ranges), lookUp(t, want, ranges); !slices.Equal(a, b) {
		t.Fatalf("Lookup(%q)\ngot  %q\nwant %q", ranges, a, b)
	}
}

func lookUp(t *rapid.T, src source.Source, ranges []triple.Range) []string {
	var out []string
	err := src.Lookup(context.Background(), ranges, func(i int, key, value []byte) error {
		out = append(out, fmt.Sprintf("%d %s=%s", i, key, value))
		return nil
	})
	require.NoError(t, err)
	return out
}

// compareScans goes through a range in both directions, with seeks in between.
func compareScans(t *rapid.T, got, want source.Source, r triple.Range) {
	for _, reverse := range []bool{false, true} {
		a, err := got.Scan(context.Background(), r, reverse)
		require.NoError(t, err)
		b, err := want.Scan(context.Background(), r, reverse)
		require.NoError(t, err)
		for seeks := 0; ; {
			var okA, okB bool
			move := "Next"
			if seeks < 10 && rapid.IntRange(0, 3).Draw(t, "move") == 0 {
				seeks++
				key := drawKey(t)
				move = fmt.Sprintf("SeekGE(%q)", key)
				okA, okB = a.SeekGE(key), b.SeekGE(key)
			} else {
				okA, okB = a.Next(), b.Next()
			}
			if okA != okB || a.Err() != nil {
				t.Fatalf("%s in %q, reverse %v: %v, %v, want %v", move, r, reverse, okA, a.Err(), okB)
			}
			if !okA {
				break
			}
			keyA, valueA := a.Row()
			keyB, valueB := b.Row()
			if !bytes.Equal(keyA, keyB) || !bytes.Equal(valueA, valueB) {
				t.Fatalf("%s in %q, reverse %v: %q=%q, want %q=%q", move, r, reverse, keyA, valueA, keyB, valueB)
			}
		}
		require.NoError(t, a.Close())
	}
}

// TestDeltaAccount: the bytes of rows must be given back with them, and the count of triples
// must be right.
func TestDeltaAccount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, _, d := changed(t)
		d.begin(false) // the memory lent to the overlay comes back
		var bytes int64
		adds, deletes := 0, 0
		d.rows.Scan(func(key string, r row) bool {
			bytes += sizeOf(key, r)
			return true
		})
		for key, graph := range d.cleared.graphs {
			bytes += int64(len(key)+len(graph.Value())) + rowBytes
		}
		for _, o := range []triple.Order{triple.SPO, triple.GSPO} {
			d.ownRows(triple.OrderRange(o), func(_ string, r row, terms triple.KeyTerms) bool {
				if r.deleted {
					deletes++
				} else {
					adds++
				}
				if r.deleted && d.cleared.hides(terms[triple.Graph]) {
					t.Fatalf("a triple of a cleared graph is deleted")
				}
				return true
			})
		}
		if d.bytes != bytes || d.adds != adds || d.deletes != deletes {
			t.Fatalf("%d bytes, %d adds, %d deletes; want %d, %d, %d", d.bytes, d.adds, d.deletes, bytes, adds, deletes)
		}
	})
}

// TestOverlayStays: an overlay must not have later writes.
func TestOverlayStays(t *testing.T) {
	d := newDelta(1 << 30)
	d.begin(true)
	all := pool()
	for i := range all[:100] {
		q := quadOf(all[i])
		require.NoError(t, d.add(&q))
	}
	src := d.applyTo(memsource.New(nil))
	d.begin(true)
	for i := range all {
		q := quadOf(all[i])
		var err error
		if i < 50 {
			err = d.remove(&q)
		} else {
			err = d.add(&q)
		}
		require.NoError(t, err)
	}
	if n, err := src.Count(context.Background(), triple.OrderRange(triple.POS)); err != nil || n != 100 {
		t.Errorf("%d rows, %v, want the 100 of before", n, err)
	}
	if n, err := d.applyTo(memsource.New(nil)).Count(context.Background(), triple.OrderRange(triple.POS)); err != nil || int(n) != len(all)-50 {
		t.Errorf("%d rows, %v, want %d", n, err, len(all)-50)
	}
}
