// Tests of restrictions: they must lose no term.

package expr

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// holds reports whether a term is among those of a restriction, as a store reads
// them: as the object of a key of SPO.
func (r Restriction) holds(t interface{ Fatalf(string, ...any) }, term triple.Term) bool {
	if slices.Contains(r.Terms, term) {
		return true
	}
	s, p := triple.NewIRI("http://s/"), triple.NewIRI("http://p/")
	x := triple.Triple{Subject: s, Predicate: p, Object: term}
	key, _ := triple.AppendKey(nil, triple.SPO, x)
	for _, r := range r.Ranges {
		kr, err := r.Bounds(triple.SPO, []triple.Term{s, p}).KeyRange()
		if err != nil {
			t.Fatalf("range %+v: %v", r, err)
		}
		if kr.Range.Contains(key) {
			_, terms, _ := triple.SplitKey(key)
			if ok, err := kr.Accept(terms, triple.AppendValue(nil, triple.Stamp{}, x)); err != nil {
				t.Fatalf("accept: %v", err)
			} else if ok {
				return true
			}
		}
	}
	return false
}

var restricted = &ast.Var{Name: "v", Slot: 0}

// genFilter generates filters of ?v, many of them with a restriction.
func genFilter() *rapid.Generator[ast.Expr] {
	values := genValue().Filter(func(v Value) bool { return v.IsBound() && v.kind != Blank })
	constants := rapid.Map(values, func(v Value) ast.Expr { return &ast.Constant{Term: v.Term()} })
	return rapid.Custom(func(t *rapid.T) ast.Expr {
		leaf := func() ast.Expr {
			c := constants.Draw(t, "constant")
			switch rapid.IntRange(0, 6).Draw(t, "form") {
			case 0:
				return &ast.In{Arg: restricted, List: rapid.SliceOfN(constants, 0, 3).Draw(t, "list")}
			case 1:
				return &ast.Call{Func: ast.FuncStrStarts, Args: []ast.Expr{restricted, c}}
			case 2:
				return &ast.Call{Func: ast.FuncSameTerm, Args: []ast.Expr{restricted, c}}
			case 3:
				pattern := rapid.SampledFrom([]string{"^a", "^ab?", "^a|b", "^x+", "a", "^"}).Draw(t, "pattern")
				return &ast.Call{Func: ast.FuncRegex, Args: []ast.Expr{restricted, &ast.Constant{Term: triple.NewString(pattern)}}}
			case 4:
				return &ast.Binary{Op: ast.Op(rapid.IntRange(int(ast.OpEqual), int(ast.OpGreatEq)).Draw(t, "op")), Left: c, Right: restricted}
			}
			return &ast.Binary{Op: ast.Op(rapid.IntRange(int(ast.OpEqual), int(ast.OpGreatEq)).Draw(t, "op")), Left: restricted, Right: c}
		}
		switch rapid.IntRange(0, 3).Draw(t, "join") {
		case 0:
			return &ast.Binary{Op: ast.OpAnd, Left: leaf(), Right: leaf()}
		case 1:
			return &ast.Binary{Op: ast.OpOr, Left: leaf(), Right: leaf()}
		}
		return leaf()
	})
}

// TestRestrictLosesNothing: if a filter is true, the term must be in its restriction. If the
// restriction is exact, the reverse must hold too.
func TestRestrictLosesNothing(t *testing.T) {
	filters, values := genFilter(), genValue()
	rapid.Check(t, func(t *rapid.T) {
		e := filters.Draw(t, "filter")
		r, ok := Restrict(e)
		if !ok {
			return
		}
		x, err := Compile(e, Scope{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range rapid.SliceOfN(values, 1, 20).Draw(t, "values") {
			if !v.IsBound() {
				continue
			}
			term := v.Term()
			passes, in := x.Test(testEnv(), Terms{term}), r.holds(t, term)
			if passes && !in && !(r.NodesOnly && term.Kind() == triple.Literal) {
				t.Fatalf("%s passes, but is not in %+v", term, r)
			}
			if in && !passes && r.Exact {
				t.Fatalf("%s does not pass, but is in the exact %+v", term, r)
			}
		}
	})
}

func TestRestrict(t *testing.T) {
	filter := func(op, c string) ast.Expr {
		return &ast.Binary{Op: operators[op], Left: restricted, Right: &ast.Constant{Term: wantTerm(t, c)}}
	}
	r, ok := Restrict(&ast.Binary{Op: ast.OpAnd, Left: filter(">=", "30"), Right: filter("<", "35")})
	if want := (Range{GE: wantTerm(t, "30"), LT: wantTerm(t, "35")}); !ok || !slices.Equal(r.Ranges, []Range{want}) || r.Exact {
		t.Errorf("30 <= ?v < 35: %+v", r)
	}
	r, ok = Restrict(filter("<=", "0.1"))
	if !ok || r.Ranges[0].LE != triple.NewTyped("1.0E-1", triple.XSDFloat) {
		t.Errorf("?v <= 0.1: %+v; the float 0.1 is above, and equal", r)
	}
	r, ok = Restrict(&ast.In{Arg: restricted, List: []ast.Expr{&ast.Constant{Term: wantTerm(t, "<http://a/>")}, &ast.Constant{Term: wantTerm(t, "<http://b/>")}}})
	if !ok || len(r.Terms) != 2 || len(r.Ranges) != 0 || !r.Exact {
		t.Errorf("IN of IRIs: %+v", r)
	}
	str := &ast.Call{Func: ast.FuncStr, Args: []ast.Expr{restricted}}
	r, ok = Restrict(&ast.Call{Func: ast.FuncStrStarts, Args: []ast.Expr{str, &ast.Constant{Term: triple.NewString("http://a/")}}})
	if !ok || !r.NodesOnly || r.Exact || r.Ranges[0].Starts != (triple.Starts{Kind: triple.IRI, Text: "http://a/"}) {
		t.Errorf("STRSTARTS(STR(?v)): %+v", r)
	}
	r, ok = Restrict(filter(">", "-5")) // folded from a constant
	if !ok || r.Ranges[0].GT != wantTerm(t, "-5") {
		t.Errorf("?v > -5: %+v", r)
	}
	r, ok = Restrict(&ast.Binary{Op: ast.OpAnd, Left: filter(">", "1"), Right: filter("<", `"a"`)})
	if !ok || len(r.Ranges) != 0 || len(r.Terms) != 0 {
		t.Errorf("a number and a string: %+v, want nothing", r)
	}
	for _, e := range []ast.Expr{filter("!=", "1"), &ast.Binary{Op: ast.OpOr, Left: filter("=", "1"), Right: filter("!=", "2")}, restricted, &ast.Binary{Op: ast.OpEqual, Left: restricted, Right: restricted}} {
		if r, ok := Restrict(e); ok {
			t.Errorf("%+v: %+v, want no restriction", e, r)
		}
	}
}
