// Golden files of the passes: a query, its tree before a pass and its tree after it.

package optimize

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// people returns columns of 3,000 people with names, ages and friends.
func people(t *testing.T) *columns.View {
	t.Helper()
	iri := func(format string, args ...any) triple.Term {
		return triple.NewIRI("x:" + fmt.Sprintf(format, args...))
	}
	var all []triple.Triple
	for i := range 3000 {
		s := iri("p%04d", i)
		all = append(all,
			triple.Triple{Subject: s, Predicate: iri("name"), Object: triple.NewString(fmt.Sprint("name ", i))},
			triple.Triple{Subject: s, Predicate: iri("age"), Object: triple.NewTyped(fmt.Sprint(i%90), triple.XSDInteger)},
			triple.Triple{Subject: s, Predicate: iri("knows"), Object: iri("p%04d", i*7%3000)})
	}
	set, err := columns.Build(t.Context(), memsource.New(all), 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	return columns.NewView(set, nil)
}

// TestGolden walks through testdata/*.txt. Each file has the name of a pass, and cases parted by a line "====": a
// query, its tree, and its tree after this pass alone, parted by lines "----". Prefix : is declared. A case without
// a tree after the pass is one that the pass must leave as it is.
func TestGolden(t *testing.T) {
	view := people(t)
	named := map[string]pass{}
	for _, one := range inOrder {
		named[one.name] = one
	}
	named["all"] = pass{name: "all"}
	named["unify"] = pass{name: "unify"}
	for name, one := range named {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+".txt")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, text := range strings.Split(string(data), "====\n") {
				query, _, _ := strings.Cut(text, "----\n")
				before, after := trees(t, query, one, view)
				text = query + "----\n" + before
				if after != before {
					text += "----\n" + after
				}
				out = append(out, text)
			}
			got := strings.Join(out, "====\n")
			goldenfile.Check(t, file, got)
		})
	}
}

// trees returns the tree of a query before and after a pass, or all of them.
func trees(t *testing.T, query string, one pass, view *columns.View) (before, after string) {
	t.Helper()
	q, err := parser.ParseQuery(query, parser.Options{Prefixes: []ast.Prefix{{Name: "", IRI: "x:"}}})
	if err != nil {
		t.Fatalf("%v:\n%s", err, query)
	}
	body := algebra.Translate(q).Body.Simplify()
	p := &passes{body: &body, vars: VariablesOf(&body), list: []pass{one}}
	switch one.name {
	case "all":
		p.list = inOrder
	case "unify":
		p.list = []pass{{"unify", unifyFilter}}
	}
	out := p.run(view)
	return body.String(), out.String()
}

// unifyFilter carries out Unify for a filter over patterns that are joined with nothing. The conditions that are left
// stay in the filter, and an Extend binds each variable that was replaced.
func unifyFilter(p *passes, n algebra.Node, at place) algebra.Node {
	f, ok := n.(*algebra.Filter)
	if !ok {
		return n
	}
	bgp, ok := f.Input.(*algebra.BGP)
	if !ok {
		return n
	}
	rows := Bound{Wanted: -1, ExactObjects: func(p algebra.TriplePattern) bool {
		column, ok := at.column(&p)
		return ok && at.columns.Dictionary().Exact(&column.ByObject)
	}}
	patterns, aliases, done := Unify(bgp.Patterns, f.Conds, rows)
	var out algebra.Node = &algebra.BGP{Patterns: patterns}
	for _, a := range aliases {
		var e ast.Expr = &ast.Constant{Term: a.To.Term}
		if a.To.IsVar() {
			e = &ast.Var{Name: p.body.Scope.Name(a.To.Slot), Slot: a.To.Slot}
		}
		out = &algebra.Extend{Input: out, Slot: a.Slot, Expr: e}
	}
	var rest []ast.Expr
	for i, cond := range f.Conds {
		if !done[i] {
			rest = append(rest, cond)
		}
	}
	if len(rest) > 0 {
		out = &algebra.Filter{Input: out, Conds: rest}
	}
	return out
}
