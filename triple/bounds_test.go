// Tests of bounds, against the oracle.

package triple

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// row is one row of a store: a triple's row or an annotation on it.
type row struct {
	key, value []byte
	triple     Triple
	annotation bool
}

// rowsOf returns the sorted rows of an order of a store. Every third triple has an annotation.
func rowsOf(o Order, triples []Triple) []row {
	var rows []row
	for i, t := range triples {
		key := mustKey(o, t)
		if key == nil {
			continue
		}
		rows = append(rows, row{key, AppendValue(nil, Stamp{1, uint64(i)}, t), t, false})
		if i%3 == 0 {
			rows = append(rows, row{AppendAnnotationKey(nil, key, "app"), AppendAnnotation(nil, Stamp{1, 2}, []byte("x")), t, true})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return bytes.Compare(a.key, b.key) })
	return slices.CompactFunc(rows, func(a, b row) bool { return bytes.Equal(a.key, b.key) })
}

// selectRows returns the triples in a range that accept selects, in the way of a store.
func selectRows(t rapid.TB, rows []row, r Range, accept func(KeyTerms, []byte) bool) []Triple {
	var got []Triple
	for _, row := range rows {
		if !r.Contains(row.key) {
			continue
		}
		if _, _, ok := CutAnnotation(row.key); ok != row.annotation || ok != IsAnnotation(row.value) {
			t.Fatalf("annotation: %v of %x", ok, row.key)
		} else if ok {
			continue
		}
		_, terms, err := SplitKey(row.key)
		if err != nil {
			t.Fatal(err)
		}
		if accept(terms, row.value) {
			got = append(got, row.triple)
		}
	}
	return got
}

// sameTriples reports whether got and want are equal; want may be in any order.
func sameTriples(o Order, got, want []Triple) bool {
	want = slices.Clone(want)
	slices.SortFunc(want, func(a, b Triple) int { return oracleCompareTriples(o, a, b) })
	return slices.Equal(got, slices.Compact(want))
}

func termsIn(o Order, t Triple) []Term {
	var terms []Term
	for _, position := range o.Positions() {
		if term := *t.term(position); !term.IsZero() {
			terms = append(terms, term)
		}
	}
	return terms
}

// boundsMatch is the definition of [Bounds].
func boundsMatch(b Bounds, t Triple) bool {
	terms := termsIn(b.Order, t)
	if len(terms) < len(b.Prefix) || !slices.Equal(terms[:len(b.Prefix)], b.Prefix) {
		return false
	}
	compareItem := func(item []Term) int {
		return slices.CompareFunc(terms[:min(len(terms), len(item))], item, oracleCompare)
	}
	if len(b.From) > 0 && compareItem(b.From) < 0 || len(b.Until) > 0 && compareItem(b.Until) >= 0 {
		return false
	}
	next := Term{}
	if len(terms) > len(b.Prefix) {
		next = terms[len(b.Prefix)]
	}
	if b.Starts.Kind != None {
		if next.Kind() != b.Starts.Kind || !strings.HasPrefix(next.Value(), b.Starts.Text) {
			return false
		}
		return next.Kind() != Literal || b.Starts.Lang == "" && next.Datatype() == XSDString ||
			b.Starts.Lang != "" && strings.EqualFold(next.LangDir(), b.Starts.Lang)
	}
	return boundHolds(next, b.GE, func(c int) bool { return c >= 0 }) && boundHolds(next, b.GT, func(c int) bool { return c > 0 }) &&
		boundHolds(next, b.LE, func(c int) bool { return c <= 0 }) && boundHolds(next, b.LT, func(c int) bool { return c < 0 })
}

func boundHolds(t, bound Term, accept func(int) bool) bool {
	if bound.IsZero() {
		return true
	}
	if t.IsZero() {
		return false
	}
	class, value := oracleClass(t)
	boundClass, boundValue := oracleClass(bound)
	// In a triple term the innermost object counts by value.
	if class == oracleTriple && boundClass == oracleTriple {
		return accept(compareTriplesByValue(t, bound))
	}
	if class != boundClass || class == oracleOther && t.Datatype() != bound.Datatype() || value.nan || boundValue.nan {
		return false
	}
	if value.rational != nil || value.inf != 0 {
		return accept(value.compare(boundValue))
	}
	return accept(oracleCompareWhole(class, t, bound, value, boundValue))
}

// compareTriplesByValue compares triple terms by their terms; an object with a value by the value
// alone.
func compareTriplesByValue(a, b Term) int {
	termsA, termsB := oracleInner(a), oracleInner(b)
	if c := cmp.Or(oracleCompareIn(termsA[0], termsB[0]), oracleCompareIn(termsA[1], termsB[1])); c != 0 {
		return c
	}
	classA, valueA := oracleClass(termsA[2])
	classB, valueB := oracleClass(termsB[2])
	switch {
	case classA != classB:
	case classA == oracleTriple:
		return compareTriplesByValue(termsA[2], termsB[2])
	case classA > oracleIRI && classA < oracleString:
		return valueA.compare(valueB)
	}
	return oracleCompareIn(termsA[2], termsB[2])
}

// genStore generates triples that share terms.
func genStore() *rapid.Generator[[]Triple] {
	return rapid.Custom(func(t *rapid.T) []Triple {
		triples := rapid.SliceOfN(genTriple(false), 1, 12).Draw(t, "triples")
		for i := range triples {
			from := triples[rapid.IntRange(0, i).Draw(t, "from")]
			switch rapid.IntRange(0, 5).Draw(t, "share") {
			case 0:
				triples[i].Subject = from.Subject
			case 1, 2:
				triples[i].Predicate = from.Predicate
				triples[i].Object = genTermNear(from.Object, false).Draw(t, "near")
			case 3:
				graph := triples[i].Graph
				triples[i] = from
				triples[i].Graph = graph
			case 4:
				triples[i].Object = from.Object
			}
		}
		return triples
	})
}

// TestBoundsSelect: a KeyRange must select exactly the rows of the bounds.
func TestBoundsSelect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		triples := genStore().Draw(t, "store")
		o := rapid.SampledFrom(Orders[:]).Draw(t, "order")
		rows := rowsOf(o, triples)
		var held []Triple
		for _, tr := range triples {
			if o != GSPO || !tr.Graph.IsZero() {
				held = append(held, tr)
			}
		}
		for range 10 {
			b := genBounds(o, triples).Draw(t, "bounds")
			kr, err := b.KeyRange()
			if err != nil {
				if !errors.Is(err, ErrBadBounds) {
					t.Fatal(err)
				}
				continue
			}
			var want []Triple
			for _, tr := range held {
				if boundsMatch(b, tr) {
					want = append(want, tr)
				}
			}
			got := selectRows(t, rows, kr.Range, func(terms KeyTerms, value []byte) bool {
				ok, err := kr.Accept(terms, value)
				if err != nil {
					t.Fatal(err)
				}
				if kr.Exact() && !ok {
					t.Fatal("an exact range with a row that does not belong to it")
				}
				return ok
			})
			if kr.Range.Empty() && len(got) > 0 || !sameTriples(o, got, want) {
				t.Fatalf("%s %.300v\ngot  %.500v\nwant %.500v", o, b, got, want)
			}
		}
	})
}

// genBounds generates bounds around the terms of some triples.
func genBounds(o Order, triples []Triple) *rapid.Generator[Bounds] {
	return rapid.Custom(func(t *rapid.T) Bounds {
		b := Bounds{Order: o}
		terms := termsIn(o, rapid.SampledFrom(triples).Draw(t, "near"))
		n := rapid.IntRange(0, len(terms)-1).Draw(t, "prefix")
		b.Prefix = terms[:n]
		switch rapid.IntRange(0, 5).Draw(t, "form") {
		case 0:
			n := rapid.IntRange(1, len(terms)).Draw(t, "from")
			b.From = terms[:n]
			if rapid.Bool().Draw(t, "two") {
				until := termsIn(o, rapid.SampledFrom(triples).Draw(t, "until"))
				b.Until = until[:rapid.IntRange(1, len(until)).Draw(t, "n")]
			}
		case 1:
			b.Starts = Starts{Kind: terms[n].Kind(), Text: terms[n].Value()}
			if rapid.Bool().Draw(t, "lang") {
				b.Starts.Lang = strings.ToUpper(terms[n].LangDir())
			}
			b.Starts.Text = b.Starts.Text[:rapid.IntRange(0, len(b.Starts.Text)).Draw(t, "cut")]
		default:
			bounds := []*Term{&b.GE, &b.GT, &b.LE, &b.LT}
			*rapid.SampledFrom(bounds).Draw(t, "which") = genTermNear(terms[n], false).Draw(t, "bound")
			if rapid.Bool().Draw(t, "two") {
				*rapid.SampledFrom(bounds).Draw(t, "other") = genTermNear(terms[n], false).Draw(t, "second")
			}
		}
		return b
	})
}

// TestBoundsExamples has the examples of the endpoint's description.
func TestBoundsExamples(t *testing.T) {
	size := NewIRI("http://ex/size")
	var triples []Triple
	for _, o := range []string{"99", "100", "100.0", "1e2", "150", "199.9", "200", "1", "1.0", "01", "1.5", `"1.0"^^xsd:double`, `"NaN"^^xsd:double`, `"INF"^^xsd:float`, `"-INF"^^xsd:double`,
		`"abc"^^xsd:integer`, "true", `"100"`, `"Müller"`, `"Mü"@de`, `"Münze"@DE`, `"Mut"@de`, `"Müll"@de-AT`, "<http://ex/a>", "<http://ex>", "_:b1", "_:b2"} {
		term, err := ParseTerm(o)
		if err != nil {
			t.Fatal(err)
		}
		triples = append(triples, Triple{Subject: NewIRI("http://ex/s"), Predicate: size, Object: term})
	}
	term := func(text string) Term {
		if text == "" {
			return Term{}
		}
		term, err := ParseTerm(text)
		if err != nil {
			t.Fatal(err)
		}
		return term
	}
	tests := []struct{ ge, gt, le, lt, starts, want string }{
		{ge: "100", lt: "200", want: `"100.0"^^xsd:decimal "1e2"^^xsd:double 100 150 199.9`},
		{gt: "1", lt: "99", want: "1.5"},
		{ge: "1", le: "1", want: `"1.0"^^xsd:decimal "1.0"^^xsd:double "01"^^xsd:integer 1`},
		{ge: `"INF"^^xsd:double`, want: `"INF"^^xsd:float`},
		{le: `"-INF"^^xsd:double`, want: `"-INF"^^xsd:double`},
		{ge: `"NaN"^^xsd:double`, want: ""},
		{le: `"NaN"^^xsd:double`, want: ""},
		{gt: `"a"^^xsd:integer`, want: `"abc"^^xsd:integer`},
		{ge: `"100"`, want: `"100" "Müller"`},
		{lt: `"Müller"`, want: `"100"`},
		{starts: `"M`, want: `"Müller"`},
		{starts: `"Mü"@de`, want: `"Mü"@de "Münze"@DE`},
		{starts: `"Mü"@de-at`, want: `"Müll"@de-AT`},
		{starts: "<http://ex/", want: "<http://ex/a>"},
		{starts: "_:", want: "_:b1 _:b2"},
		{gt: "<http://ex>", want: "<http://ex/a>"},
		{ge: "false", want: "true"},
	}
	rows := rowsOf(POS, triples)
	for _, test := range tests {
		b := Bounds{Order: POS, Prefix: []Term{size}, GE: term(test.ge), GT: term(test.gt), LE: term(test.le), LT: term(test.lt)}
		if test.starts != "" {
			var err error
			if b.Starts, err = ParseStarts(test.starts); err != nil {
				t.Fatal(err)
			}
		}
		kr, err := b.KeyRange()
		if err != nil {
			t.Fatal(err)
		}
		want, err := ParseTerms(test.want)
		if err != nil {
			t.Fatal(err)
		}
		var got []Term
		for _, row := range rows {
			if kr.Range.Contains(row.key) && !row.annotation {
				_, terms, _ := SplitKey(row.key)
				if ok, err := kr.Accept(terms, row.value); err != nil {
					t.Fatal(err)
				} else if ok {
					got = append(got, row.triple.Object)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v:\ngot  %v\nwant %v", test, got, want)
		}
	}
}

func TestBoundsErrors(t *testing.T) {
	a, one := NewIRI("http://ex/a"), NewTyped("1", XSDInteger)
	tests := []struct {
		name   string
		bounds Bounds
		want   string
	}{
		{"no order", Bounds{}, "no order"},
		{"bad order", Bounds{Order: 9}, "no order"},
		{"ge and gt", Bounds{Order: POS, GE: one, GT: one}, "both ge and gt"},
		{"le and lt", Bounds{Order: POS, LE: one, LT: one}, "both le and lt"},
		{"two classes", Bounds{Order: POS, GE: one, LT: NewString("2")}, "different classes"},
		{"two datatypes", Bounds{Order: POS, GE: NewTyped("a", "a:b"), LT: NewTyped("a", "a:c")}, "different classes"},
		{"starts and ge", Bounds{Order: POS, GE: one, Starts: Starts{Kind: IRI}}, "starts excludes"},
		{"five terms", Bounds{Order: POS, From: []Term{a, a, a, a, a}}, "at most four"},
		{"nothing left", Bounds{Order: SPO, Prefix: []Term{a, a, a, a}, GE: a}, "fixes all four"},
		{"hole", Bounds{Order: SPO, Prefix: []Term{{}, a}}, "empty term"},
		{"hole in from", Bounds{Order: SPO, From: []Term{a, {}}}, "empty term"},
		{"starts of nothing", Bounds{Order: SPO, Starts: Starts{Kind: 9}}, "starts of a"},
	}
	for _, test := range tests {
		if _, err := test.bounds.KeyRange(); !errors.Is(err, ErrBadBounds) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestBoundsOfLongTerms: keys have only prefix and hash of long terms. Bounds among terms of the
// same beginning must therefore be tested on the whole terms.
func TestBoundsOfLongTerms(t *testing.T) {
	seed.Slow(t)
	race.Skip(t)
	pad := func(n int) string { return strings.Repeat("x", n) }
	digits := func(n int) string { return "1." + strings.Repeat("7", n) }
	groups := [][]Term{
		{NewString(pad(255)), NewString(pad(256)), NewString(pad(257)), NewString(pad(256) + "a"), NewString(pad(256) + "z"), NewString(pad(1024)), NewString(pad(1025)),
			NewString(pad(1025) + "a"), NewString(pad(1024) + "z"), NewString(pad(256) + "a" + pad(1000)), NewString(pad(256) + "z" + pad(1000)), NewString(pad(300) + "é" + pad(900)), NewString(pad(2000))},
		{NewIRI("a:" + pad(254)), NewIRI("a:" + pad(1022)), NewIRI("a:" + pad(1023)), NewIRI("a:" + pad(254) + "é" + pad(1000)), NewIRI("a:" + pad(500) + "y")},
		{NewLang(pad(250), "en"), NewLang(pad(256), "en"), NewLang(pad(1017), "en"), NewLang(pad(1018), "en"), NewLang(pad(1019), "en"), NewLang(pad(1019), "EN"), NewLang(pad(256)+"a"+pad(1000), "de")},
		{NewTyped(digits(400), XSDDecimal), NewTyped(digits(500), XSDDecimal), NewTyped(digits(500)+"8", XSDDecimal), NewTyped(digits(700), XSDDecimal), NewTyped(digits(700)+"6", XSDDecimal),
			NewTyped(digits(1500), XSDDecimal), NewTyped(digits(1500)+"0", XSDDecimal), NewTyped(digits(1500)+"1", XSDDecimal), NewTyped("-"+digits(700), XSDDecimal), NewTyped("-"+digits(1500), XSDDecimal),
			NewTyped("-"+digits(1500)+"9", XSDDecimal), NewTyped(strings.Repeat("0", 300)+"1", XSDInteger), NewTyped("1", XSD+"byte"), NewTyped("1.", XSDDecimal), NewTyped(strings.Repeat("0", 1100)+"1", XSDInteger), NewTyped("2", XSDInteger)},
		{NewTyped("2000-01-01T00:00:00."+strings.Repeat("3", 600), XSDDateTime), NewTyped("2000-01-01T00:00:00."+strings.Repeat("3", 1600), XSDDateTime),
			NewTyped("2000-01-01T00:00:00."+strings.Repeat("3", 1600)+"Z", XSDDateTime), NewTyped("2000-01-01T00:00:00."+strings.Repeat("3", 1600)+"1", XSDDateTime)},
		{NewTyped("v", "a:"+pad(253)), NewTyped("v", "a:"+pad(254)), NewTyped("v", "a:"+pad(255)), NewTyped(pad(900), "a:"+pad(254)), NewTyped(pad(900), "a:"+pad(255)), NewTyped(pad(900), "a:"+pad(254)+"y"),
			NewTyped("w", "a:"+pad(1100)), NewTyped("v", "a:"+pad(1100)), NewTyped("v", "a:"+pad(1100)+"y")},
	}
	subject, predicate := NewIRI("http://ex/s"), NewIRI("http://ex/p")
	for _, terms := range groups {
		var triples []Triple
		for _, object := range terms {
			triples = append(triples, Triple{Subject: subject, Predicate: predicate, Object: object})
		}
		for _, o := range []Order{SPO, POS, OSP} {
			rows := rowsOf(o, triples)
			prefix := map[Order][]Term{SPO: {subject, predicate}, POS: {predicate}}[o]
			try := func(b Bounds) {
				t.Helper()
				b.Order, b.Prefix = o, prefix
				kr, err := b.KeyRange()
				if errors.Is(err, ErrBadBounds) {
					return
				} else if err != nil {
					t.Fatal(err)
				}
				for _, row := range rows {
					_, terms, _ := SplitKey(row.key)
					got := !row.annotation && kr.Range.Contains(row.key)
					if got {
						if got, err = kr.Accept(terms, row.value); err != nil {
							t.Fatal(err)
						}
					}
					if want := !row.annotation && boundsMatch(b, row.triple); got != want {
						t.Errorf("%s: %.40s (%d bytes) in %v: %v, want %v", o, row.triple.Object, len(row.triple.Object.Value()), boundNames(b), got, want)
					}
				}
			}
			for _, x := range terms {
				for _, b := range []Bounds{{GE: x}, {GT: x}, {LE: x}, {LT: x}} {
					try(b)
				}
				for _, y := range terms {
					for _, b := range []Bounds{{GE: x, LE: y}, {GT: x, LT: y}} {
						try(b)
					}
				}
				if x.Datatype() == XSDString || x.Lang() != "" || x.Kind() == IRI {
					for _, n := range []int{255, 256, 257, 300, len(x.Value())} {
						try(Bounds{Starts: Starts{Kind: x.Kind(), Text: x.Value()[:min(n, len(x.Value()))], Lang: x.Lang()}})
					}
				}
			}
		}
	}
}

// boundNames shows bounds of long terms by their lengths.
func boundNames(b Bounds) map[string]int {
	names := map[string]int{"starts": len(b.Starts.Text)}
	for name, term := range map[string]Term{"ge": b.GE, "gt": b.GT, "le": b.LE, "lt": b.LT} {
		if !term.IsZero() {
			names[name] = len(term.Value())
		}
	}
	return names
}

// TestStartsInsideNumber: a beginning that ends inside the lexical form of a number selects the number, also
// where the part of the form that is left has another value.
func TestStartsInsideNumber(t *testing.T) {
	a := NewIRI("http://ex/a")
	for _, lexical := range []string{"01", "10", strings.Repeat("0", 300) + "1"} {
		inner := NewTripleTerm(a, a, NewTyped(lexical, XSD+"byte"))
		b := Bounds{Order: OSP, Starts: Starts{Kind: TripleTerm, Text: inner.Value()[:len(inner.Value())-len(lexical)+1]}}
		kr, err := b.KeyRange()
		if err != nil {
			t.Fatal(err)
		}
		stored := Triple{Subject: a, Predicate: a, Object: inner}
		got := selectRows(t, rowsOf(OSP, []Triple{stored}), kr.Range, func(terms KeyTerms, value []byte) bool {
			ok, err := kr.Accept(terms, value)
			if err != nil {
				t.Fatal(err)
			}
			return ok
		})
		if len(got) != 1 {
			t.Errorf("%.20s: %d rows of 1", lexical, len(got))
		}
	}
}
