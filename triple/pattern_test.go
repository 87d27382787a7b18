// Tests of patterns.

package triple

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestPatternScan: in every order, Scan and Filter must select exactly the rows of Match.
func TestPatternScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		triples := genStore().Draw(t, "store")
		for range 10 {
			near := rapid.SampledFrom(triples).Draw(t, "near")
			var p Pattern
			for position, term := range []*Term{&p.Subject, &p.Predicate, &p.Object, &p.Graph} {
				if rapid.Bool().Draw(t, "bound") {
					*term = *near.term(position)
				}
			}
			p.DefaultGraph = rapid.IntRange(0, 3).Draw(t, "default") == 0
			var want []Triple
			for _, tr := range triples {
				if p.Match(tr) {
					want = append(want, tr)
				}
			}
			if best := p.Best(); best == GSPO && p.Graph.IsZero() {
				t.Fatalf("best order of %v is gspo", p)
			}
			for _, o := range Orders {
				scan, err := p.Scan(o)
				if o == GSPO && p.Graph.IsZero() {
					if err == nil {
						t.Fatal("gspo answers a pattern without a graph")
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got := selectRows(t, rowsOf(o, triples), scan.Range, func(terms KeyTerms, _ []byte) bool { return scan.Filter(terms) })
				if !sameTriples(o, got, want) {
					t.Fatalf("%s of %.300v: exact %v\ngot  %.500v\nwant %.500v", o, p, scan.Exact, got, want)
				}
			}
		}
	})
}

// TestPatternBest checks the table of [Pattern.Best]. Its ranges must be exact if the table says
// so.
func TestPatternBest(t *testing.T) {
	s, p, o, g := NewIRI("a:s"), NewIRI("a:p"), NewIRI("a:o"), NewIRI("a:g")
	tests := []struct {
		pattern Pattern
		order   Order
		exact   bool
	}{
		{Pattern{}, SPO, true},
		{Pattern{Subject: s}, SPO, true},
		{Pattern{Predicate: p}, POS, true},
		{Pattern{Object: o}, OSP, true},
		{Pattern{Subject: s, Predicate: p}, SPO, true},
		{Pattern{Predicate: p, Object: o}, POS, true},
		{Pattern{Subject: s, Object: o}, OSP, true},
		{Pattern{Subject: s, Predicate: p, Object: o}, SPO, true},
		{Pattern{Subject: s, Predicate: p, Object: o, DefaultGraph: true}, SPO, true},
		{Pattern{Subject: s, DefaultGraph: true}, SPO, false},
		{Pattern{Graph: g}, GSPO, true},
		{Pattern{Graph: g, Subject: s}, GSPO, true},
		{Pattern{Graph: g, Subject: s, Predicate: p}, GSPO, true},
		{Pattern{Graph: g, Subject: s, Predicate: p, Object: o}, GSPO, true},
		{Pattern{Graph: g, Predicate: p}, GSPO, false},
		{Pattern{Graph: g, Object: o}, OSP, false},
		{Pattern{Graph: g, Subject: s, Object: o}, OSP, false},
		{Pattern{Graph: g, Predicate: p, Object: o}, POS, false},
	}
	for _, test := range tests {
		best := test.pattern.Best()
		scan, err := test.pattern.Scan(best)
		if err != nil || best != test.order || scan.Exact != test.exact {
			t.Errorf("%v: %s, exact %v, %v, want %s, %v", test.pattern, best, scan.Exact, err, test.order, test.exact)
		}
	}
}

// TestExactRangeIsOneKey: the range of a whole triple must hold no annotation and no other graph's
// row.
func TestExactRangeIsOneKey(t *testing.T) {
	for _, graph := range []Term{{}, NewIRI("http://ex/g"), NewIRI("http://ex/" + string(make([]byte, 2000)))} {
		tr := Triple{NewIRI("http://ex/s"), NewIRI("http://ex/p"), NewString("o"), graph}
		other := tr
		other.Graph = NewIRI("http://ex/g2")
		for _, o := range Orders {
			key := mustKey(o, tr)
			if key == nil {
				continue
			}
			scan, err := Exact(tr).Scan(o)
			if err != nil || !scan.Exact {
				t.Fatal(scan, err)
			}
			if !scan.Range.Contains(key) {
				t.Errorf("%s: the range does not hold its key", o)
			}
			for _, beside := range [][]byte{AppendAnnotationKey(nil, key, "\x00"), mustKey(o, other), append(mustKey(o, tr), 0, markHash)} {
				if scan.Range.Contains(beside) {
					t.Errorf("%s: the range holds %x", o, beside)
				}
			}
		}
	}
}

func TestRange(t *testing.T) {
	r := func(lo, hi string) Range {
		if hi == "" {
			return Range{Lo: []byte(lo)}
		}
		return Range{[]byte(lo), []byte(hi)}
	}
	if got := r("b", "d").Intersect(r("a", "")); string(got.Lo) != "b" || string(got.Hi) != "d" {
		t.Error(got)
	}
	if got := r("b", "").Intersect(r("c", "")); string(got.Lo) != "c" || got.Hi != nil {
		t.Error(got)
	}
	if got := r("b", "d").Intersect(r("d", "e")); !got.Empty() || got.Contains([]byte("d")) {
		t.Error(got)
	}
	if (Range{}).Empty() || !(Range{}).Contains(nil) {
		t.Error("the whole space")
	}
}

// TestSharedTerms checks that the terms shared by a range are those of its pattern, and that every
// key of any range has them.
func TestSharedTerms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Order(rapid.IntRange(int(SPO), int(GSPO)).Draw(t, "order"))
		pool := []Triple{genTriple(true).Draw(t, "a"), genTriple(true).Draw(t, "b")}
		pool = append(pool, Triple{pool[0].Subject, pool[0].Predicate, pool[1].Object, pool[0].Graph}, Triple{pool[0].Subject, pool[1].Predicate, pool[0].Object, pool[1].Graph})
		var keys [][]byte
		for _, one := range pool {
			if key, _ := AppendKey(nil, o, one); key != nil {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			return
		}
		// 1. The range of a prefix of a key's terms shares them, and no others.
		_, terms, err := SplitKey(rapid.SampledFrom(keys).Draw(t, "key"))
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(0, 4).Draw(t, "terms")
		var want KeyTerms
		positions := o.Positions()
		for _, position := range positions[:n] {
			if want[position] = terms[position]; len(terms[position]) == 0 {
				want[position] = nil // the default graph
			}
		}
		r := TermsRange(o, want)
		if order, got := r.SharedTerms(); order != o || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s %q: %s %q, want %q", o, r, order, got, want)
		}
		// 2. Each key of a range that ends anywhere has the shared terms.
		cut := func(name string) []byte {
			key := bytes.Clone(rapid.SampledFrom(keys).Draw(t, name))
			key = key[:rapid.IntRange(1, len(key)).Draw(t, name+" bytes")]
			return append(key, rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 255}), 0, 2).Draw(t, name+" end")...)
		}
		r = Range{cut("lo"), cut("hi")}
		_, shared := r.SharedTerms()
		for _, key := range keys {
			if !r.Contains(key) {
				continue
			}
			_, terms, _ := SplitKey(key)
			for position, term := range shared {
				if term != nil && !bytes.Equal(term, terms[position]) {
					t.Fatalf("range %q shares %q, key %q has not", r, term, key)
				}
			}
		}
	})
	for _, r := range []Range{{}, {Lo: []byte{byte(SPO)}}, {Lo: []byte{byte(SPO)}, Hi: []byte{byte(OSP)}}} {
		if o, terms := r.SharedTerms(); o != 0 || !reflect.DeepEqual(terms, KeyTerms{}) {
			t.Errorf("%q: %s %q", r, o, terms)
		}
	}
}
