// Tests of filters.

package feed

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

var terms = []triple.Term{
	triple.NewIRI("http://ex/a"), triple.NewIRI("http://ex/b"), triple.NewBlank("x"),
	triple.NewTyped("7", "http://www.w3.org/2001/XMLSchema#integer"), triple.NewString("text"),
}

func drawChange(t *rapid.T) (Change, triple.Triple) {
	tr := triple.Triple{
		Subject:   terms[rapid.IntRange(0, 2).Draw(t, "s")],
		Predicate: terms[rapid.IntRange(0, 1).Draw(t, "p")],
		Object:    terms[rapid.IntRange(0, 4).Draw(t, "o")],
	}
	if g := rapid.IntRange(0, 2).Draw(t, "g"); g < 2 {
		tr.Graph = terms[g]
	}
	key, _ := triple.AppendKey(nil, triple.SPO, tr)
	return Change{Kind: rapid.SampledFrom([]Kind{Add, Delete}).Draw(t, "kind"), Key: key}, tr
}

// TestFilterPattern compares filters with [triple.Pattern.Match].
func TestFilterPattern(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, tr := drawChange(t)
		var p triple.Pattern
		for i, at := range []*triple.Term{&p.Subject, &p.Predicate, &p.Object, &p.Graph} {
			if n := rapid.IntRange(0, 9).Draw(t, "term"); n < []int{3, 2, 5, 2}[i] {
				*at = terms[n]
			}
		}
		if p.Graph.IsZero() {
			p.DefaultGraph = rapid.Bool().Draw(t, "default graph")
		}
		m, err := NewMatcher(Filter{Pattern: p})
		require.NoError(t, err)
		got, err := m.Match(&c)
		require.NoError(t, err)
		if want := p.Match(tr); got != want {
			t.Fatalf("pattern %v, triple %v: %v, want %v", p, tr, got, want)
		}
		back, err := c.Triple()
		if err != nil || back != tr {
			t.Fatalf("%v became %v: %v", tr, back, err)
		}
	})
}

// TestFilterBounds checks value ranges, kinds and applications.
func TestFilterBounds(t *testing.T) {
	a, b := terms[0], terms[1]
	number := func(text string) Change {
		key, _ := triple.AppendKey(nil, triple.SPO, triple.Triple{Subject: a, Predicate: b, Object: triple.NewTyped(text, "http://www.w3.org/2001/XMLSchema#integer")})
		return Change{Kind: Add, Key: key}
	}
	under := func(order triple.Order, prefix ...triple.Term) Filter {
		return Filter{Bounds: &triple.Bounds{Order: order, Prefix: prefix, LE: triple.NewTyped("10", "http://www.w3.org/2001/XMLSchema#integer")}}
	}
	note := number("1")
	note.Kind, note.Annotation = Annotate, &Annotation{ApplicationID: "app"}
	for name, c := range map[string]struct {
		filter Filter
		change Change
		want   bool
	}{
		"inside":               {under(triple.POS, b), number("10"), true},
		"outside":              {under(triple.POS, b), number("11"), false},
		"other predicate":      {under(triple.POS, a), number("1"), false},
		"order without graph":  {Filter{Bounds: &triple.Bounds{Order: triple.GSPO}}, number("1"), false},
		"kind":                 {Filter{Kinds: []Kind{Delete, Load}}, number("1"), false},
		"application":          {Filter{Application: "app"}, note, true},
		"other application":    {Filter{Application: "other"}, note, false},
		"load in any pattern":  {Filter{Pattern: triple.Pattern{Subject: b}}, Change{Kind: Load, Load: &LoadInfo{}}, true},
		"load, any predicate":  {Filter{Pattern: triple.Pattern{Subject: b}}, Change{Kind: Load, Load: &LoadInfo{Predicates: Predicates{"http://ex/c": 1}}}, true},
		"load, predicate":      {Filter{Pattern: triple.Pattern{Predicate: b}}, Change{Kind: Load, Load: &LoadInfo{Predicates: Predicates{b.Value(): 1}}}, true},
		"load, not predicate":  {Filter{Pattern: triple.Pattern{Predicate: b}}, Change{Kind: Load, Load: &LoadInfo{Predicates: Predicates{"http://ex/c": 1}}}, false},
		"load, unknown":        {Filter{Pattern: triple.Pattern{Predicate: b}}, Change{Kind: Load, Load: &LoadInfo{}}, true},
		"clear, predicate":     {Filter{Pattern: triple.Pattern{Predicate: b}}, Change{Kind: Clear, Clear: &ClearInfo{All: true, Predicates: Predicates{b.Value(): 1}}}, true},
		"clear, not predicate": {Filter{Pattern: triple.Pattern{Predicate: b}}, Change{Kind: Clear, Clear: &ClearInfo{All: true, Predicates: Predicates{"http://ex/c": 1}}}, false},
		"clear of this graph":  {Filter{Pattern: triple.Pattern{Graph: a}}, Change{Kind: Clear, Clear: &ClearInfo{Graphs: []triple.Term{a}}}, true},
		"clear of other graph": {Filter{Pattern: triple.Pattern{Graph: b}}, Change{Kind: Clear, Clear: &ClearInfo{Graphs: []triple.Term{a}, Default: true}}, false},
		"clear of default":     {Filter{Pattern: triple.Pattern{DefaultGraph: true}}, Change{Kind: Clear, Clear: &ClearInfo{Default: true}}, true},
	} {
		m, err := NewMatcher(c.filter)
		if err != nil {
			t.Fatal(name, err)
		}
		if got, err := m.Match(&c.change); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
