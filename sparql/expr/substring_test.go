// Tests of the texts that a filter needs.

package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/parser"
)

// TestContains lists filters with the texts that a string must contain to pass.
func TestContains(t *testing.T) {
	for _, test := range []struct{ filter, want string }{
		{`CONTAINS(?x, "word")`, `x [["word"]] false`},
		{`CONTAINS(LCASE(?x), LCASE("WORD"))`, `x [["word"]] false`},
		{`CONTAINS(LCASE(STR(?x)), "word")`, `x [["word"]] true`},
		{`STRSTARTS(?x, "word"@en)`, `x [["word"]] false`},
		{`STRENDS(UCASE(?x), "WORD")`, `x [["WORD"]] false`},
		{`CONTAINS(?x, "one") && CONTAINS(STR(?x), "two")`, `x [["one"] ["two"]] false`},
		{`CONTAINS(?x, "one") && ?y = 1`, `x [["one"]] false`},
		{`CONTAINS(?x, "one") || CONTAINS(STR(?x), "two")`, `x [["one" "two"]] true`},
		{`(CONTAINS(?x, "one") && CONTAINS(?x, "longer")) || CONTAINS(?x, "two")`, `x [["longer" "two"]] false`},
		{`CONTAINS(?x, "` + strings.Repeat("é", 300) + `")`, `x [["` + strings.Repeat("é", 256) + `"]] false`},
		{strings.Repeat(`CONTAINS(?x, "one") && `, 20) + `?y = 1`, `x [` + strings.Repeat(`["one"] `, 15) + `["one"]] false`},
		{strings.Repeat(`CONTAINS(?x, "one") || `, 64) + `CONTAINS(?x, "two")`, ``},
		{`CONTAINS(?x, "one") || CONTAINS(?y, "two")`, ``},
		{`CONTAINS(?x, "one") || ?x = "two"`, ``},
		{`!CONTAINS(?x, "one")`, ``},
		{`CONTAINS(?x, "")`, ``},
		{`CONTAINS(?x, ?y)`, ``},
		{`CONTAINS(?x, 5)`, ``},
		{`CONTAINS(CONCAT(?x, "a"), "word")`, ``},
		{`REGEX(?x, "^gr.*(ph|af)s+$")`, `x [["gr"] ["ph" "af"] ["s"]] false`},
		{`REGEX(?x, "foo|bar", "i")`, `x [["FOO" "BAR"]] false`},
		{`REGEX(?x, "(foo)?bar{2,3}c*d[xy]e")`, `x [["ba"] ["r"] ["d"] ["e"]] false`},
		{`REGEX(?x, "a.c", "q")`, `x [["a.c"]] false`},
		{`REGEX(?x, "foo|b*")`, ``},
		{`REGEX(?x, "foo|[ab]c*")`, ``},
		{`REGEX(?x, "(foo")`, ``},
		{`REGEX(?x, "foo", "z")`, ``},
		{`REGEX(?x, ?y)`, ``},
		{`REGEX(?x, ".*")`, ``},
	} {
		q, err := parser.ParseQuery("SELECT * { ?s ?p ?x FILTER("+test.filter+") }", parser.Options{})
		if err != nil {
			t.Fatalf("%s: %v", test.filter, err)
		}
		got := ""
		if s, ok := expr.Contains(filterOf(algebra.Translate(q).Body.Root)); ok {
			got = fmt.Sprintf("%s %q %t", s.Var.Name, s.Texts, s.Any)
		}
		if got != test.want {
			t.Errorf("%s needs %s, want %s", test.filter, got, test.want)
		}
	}
}

// filterOf returns the only condition of the first filter below a node.
func filterOf(n algebra.Node) ast.Expr {
	if f, ok := n.(*algebra.Filter); ok {
		return f.Conds[0]
	}
	for _, in := range algebra.Inputs(n) {
		if e := filterOf(in); e != nil {
			return e
		}
	}
	return nil
}
