// Changed columns against plain maps.

package columns_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/triple"
)

// changeOf returns a change of a triple.
func changeOf(t require.T, one triple.Triple, deleted bool) columns.Change {
	k, _ := triple.AppendKey(nil, triple.SPO, one)
	_, terms, err := triple.SplitKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return columns.Change{Terms: terms, Deleted: deleted}
}

// pairsOf are the pairs of each predicate in their key form.
type pairsOf map[string]map[[2]string]bool

func (p pairsOf) clone() pairsOf {
	to := pairsOf{}
	for predicate, pairs := range p {
		to[predicate] = map[[2]string]bool{}
		for pair := range pairs {
			to[predicate][pair] = true
		}
	}
	return to
}

// set adds or deletes a triple.
func (p pairsOf) set(one triple.Triple, exists bool) {
	of := p[key(one.Predicate)]
	if of == nil {
		of = map[[2]string]bool{}
		p[key(one.Predicate)] = of
	}
	pair := [2]string{key(one.Subject), key(one.Object)}
	if exists {
		of[pair] = true
	} else {
		delete(of, pair)
	}
}

// checkLists compares lists with the pairs that they must have, in which the key is at a place.
func checkLists(t *rapid.T, d *columns.Dictionary, l *columns.Lists, pairs map[[2]string]bool, at int) {
	// 1. All keys, in the order of numbers, with their values.
	got := map[[2]string]bool{}
	near := 0
	var before uint32
	keys := l.All()
	for n := 0; ; n++ {
		place, ok := l.Next(&keys)
		if !ok {
			if n != l.Keys() {
				t.Fatalf("%d keys, not %d", n, l.Keys())
			}
			break
		}
		number := l.Key(place)
		if found, ok := l.Find(number, near); !ok || found != place || number <= before {
			t.Fatalf("key %d behind %d stands at %d, and is found at %d", number, before, place, found)
		}
		lo, hi := l.Bounds(place)
		for j := lo; j < hi; j++ {
			var pair [2]string
			pair[at], pair[1-at] = string(d.Append(nil, number)), string(d.Append(nil, l.Value(j)))
			got[pair] = true
			if found := l.FindValue(lo, hi, l.Value(j)); found != j {
				t.Fatalf("value %d is found at %d", j, found)
			}
		}
		if rapid.Bool().Draw(t, "near") {
			near = place
		}
		before = number
	}
	if fmt.Sprint(got) != fmt.Sprint(pairs) || l.Values() != len(pairs) {
		t.Fatalf("%v with %d values, not %v", got, l.Values(), pairs)
	}
	// 2. Some of the keys.
	from, to := uint32(rapid.IntRange(0, d.Len()+1).Draw(t, "from")), uint32(rapid.IntRange(0, d.Len()+1).Draw(t, "to"))
	wantKeys, wantValues := 0, 0
	for keys := l.KeysBetween(from, to); ; wantKeys++ {
		place, ok := l.Next(&keys)
		if !ok {
			break
		}
		if number := l.Key(place); number < from || number >= to {
			t.Fatalf("key %d is not between %d and %d", number, from, to)
		}
		lo, hi := l.Bounds(place)
		wantValues += hi - lo
	}
	if keys, values := l.Count(from, max(from, to)); keys != wantKeys || values != wantValues {
		t.Fatalf("between %d and %d are %d keys with %d values, not %d and %d", from, to, keys, values, wantKeys, wantValues)
	}
}

// checkView compares a view with the triples that it must have.
func checkView(t *rapid.T, v *columns.View, want pairsOf) {
	d := v.Dictionary()
	var predicates []string
	rows := 0
	for predicate, pairs := range want {
		c, ok := v.Column(predicate)
		if !ok || c.Rows() != len(pairs) {
			t.Fatalf("the column of %q has %d pairs, not %d", predicate, c.Rows(), len(pairs))
		}
		checkLists(t, d, &c.BySubject, pairs, 0)
		checkLists(t, d, &c.ByObject, pairs, 1)
		if len(pairs) > 0 {
			predicates = append(predicates, predicate)
		}
		rows += len(pairs)
		nodes, strings := 0, 0
		for pair := range pairs {
			switch o, _ := triple.DecodeTerm([]byte(pair[1])); {
			case o.Kind() != triple.Literal:
				nodes++
			case o.Datatype() == triple.XSDString:
				strings++
			}
		}
		if d.Exact(&c.ByObject) && nodes < len(pairs) && strings < len(pairs) {
			t.Fatalf("%d nodes and %d strings of %d are exact", nodes, strings, len(pairs))
		}
	}
	slices.Sort(predicates)
	if got, n, ok := v.All(); !ok || n != rows || !slices.Equal(got, predicates) {
		t.Fatalf("%d triples of %q, not %d of %q", n, got, rows, predicates)
	}
	// Numbers and terms belong together, and ranges have the terms in between.
	lo, hi := key(triple.NewIRI("http://example.org/")), key(triple.NewIRI("http://example.org/path/5"))
	inside := 0
	for n := range uint32(d.Len()) {
		term := d.Append(nil, n+1)
		if d.Number(term) != n+1 {
			t.Fatalf("term %d has number %d", n+1, d.Number(term))
		}
		in := string(term) >= lo && string(term) < hi
		if in {
			inside++
		}
		if n > 0 && int(n) < d.Sorted() && bytes.Compare(d.Append(nil, n), term) >= 0 {
			t.Fatalf("term %d is not behind the one before", n+1)
		}
		if got := slices.ContainsFunc(d.Spans(nil, []byte(lo), []byte(hi)), func(s [2]uint32) bool { return n+1 >= s[0] && n+1 < s[1] }); got != in {
			t.Fatalf("term %q is in a span: %t", term, got)
		}
	}
}

// Each view behind changes has the triples of its state, whatever is made of the views before it.
func TestChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := pairsOf{}
		var all []triple.Triple
		for _, one := range drawTriples(t) {
			if one.Graph.IsZero() {
				all = append(all, one)
				want.set(one, true)
			}
		}
		views := []*columns.View{columns.NewView(build(t, all), nil)}
		wants := []pairsOf{want}
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			// Mostly the newest view changes, and sometimes an earlier one once more.
			from := len(views) - 1
			if rapid.IntRange(0, 3).Draw(t, "old") == 0 {
				from = rapid.IntRange(0, from).Draw(t, "from")
			}
			want := wants[from].clone()
			var changes []columns.Change
			for _, one := range drawTriples(t) {
				if !one.Graph.IsZero() {
					continue
				}
				if rapid.IntRange(0, 3).Draw(t, "new") == 0 {
					one.Object = triple.NewIRI(fmt.Sprintf("http://example.org/new%d", rapid.IntRange(0, 9).Draw(t, "o")))
				}
				deleted := rapid.Bool().Draw(t, "deleted")
				changes = append(changes, changeOf(t, one, deleted))
				want.set(one, !deleted)
			}
			views, wants = append(views, views[from].Changed(changes)), append(wants, want)
		}
		for i, v := range views {
			checkView(t, v, wants[i])
		}
	})
}

// A predicate with too many changes has no column any more, the others do.
func TestChangedTooMuch(t *testing.T) {
	p, q, s := triple.NewIRI("x:p"), triple.NewIRI("x:q"), triple.NewIRI("x:s")
	v := columns.NewView(build(t, []triple.Triple{{Subject: s, Predicate: p, Object: s}, {Subject: s, Predicate: q, Object: s}}), nil)
	for i := 0; v.Stale() == 0; i++ {
		if i > math.MaxUint16 {
			t.Fatalf("%d changed subjects", i)
		}
		var changes []columns.Change
		for j := range 256 {
			changes = append(changes, changeOf(t, triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:", i, "/", j)), Predicate: p, Object: s}, false))
		}
		v = v.Changed(changes)
	}
	if _, ok := v.Column(key(p)); ok {
		t.Error("a predicate with too many changes has a column")
	}
	if c, ok := v.Column(key(q)); !ok || c.Rows() != 1 {
		t.Error("another predicate has none")
	}
	one := changeOf(t, triple.Triple{Subject: s, Predicate: q, Object: p}, false)
	if c, ok := v.Changed([]columns.Change{one}).Column(key(q)); !ok || c.Rows() != 2 {
		t.Error("another predicate does not change")
	}
}

// A long list may change all the time: values of no list do not count.
func TestChangedLongList(t *testing.T) {
	seed.Slow(t)
	const n = 750_000
	p, o := triple.NewIRI("x:p"), triple.NewIRI("x:o")
	all := make([]triple.Triple, n)
	for i := range all {
		all[i] = triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:", i)), Predicate: p, Object: o}
	}
	v := columns.NewView(build(t, all), nil)
	for i := range 8 {
		v = v.Changed([]columns.Change{changeOf(t, all[i], true), changeOf(t, triple.Triple{Subject: o, Predicate: p, Object: all[i].Subject}, false)})
		c, ok := v.Column(key(p))
		if !ok || c.Rows() != n {
			t.Fatalf("no column behind change %d", i)
		}
		for j := range 8 {
			place, some := c.ByObject.Find(v.Dictionary().Number([]byte(key(all[j].Subject))), 0)
			if some != (j <= i) || some && c.ByObject.Value(first(c.ByObject.Bounds(place))) != v.Dictionary().Number([]byte(key(o))) {
				t.Fatalf("behind change %d subject %d is an object: %t", i, j, some)
			}
		}
	}
	if _, changes := v.Bytes(); changes > 32<<20 {
		t.Errorf("the changes take %d bytes", changes)
	}
}

func first(lo, _ int) int { return lo }

// Many new predicates are listed at once, and count with their memory.
func TestChangedPredicates(t *testing.T) {
	o := triple.NewIRI("x:o")
	v := columns.NewView(build(t, []triple.Triple{{Subject: o, Predicate: o, Object: o}}), nil)
	const batches, each = 4, 5000
	for i := range batches {
		var changes []columns.Change
		for j := range each {
			changes = append(changes, changeOf(t, triple.Triple{Subject: o, Predicate: triple.NewIRI(fmt.Sprint("x:", j, "/", i)), Object: o}, false))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v = v.Changed(changes)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<20 {
			t.Errorf("%d predicates behind %d allocate %d bytes", each, i*each, allocated)
		}
	}
	predicates, rows, ok := v.All()
	if !ok || rows != batches*each+1 || len(predicates) != rows || !slices.IsSorted(predicates) {
		t.Errorf("%d predicates with %d triples", len(predicates), rows)
	}
	if _, changes := v.Bytes(); changes < batches*each*400 {
		t.Errorf("%d new predicates take %d bytes", batches*each, changes)
	}
}
