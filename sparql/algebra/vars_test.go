// Tests of the variables of nodes.

package algebra_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/parser"
)

func translate(t *testing.T, text string) *algebra.Query {
	t.Helper()
	q, err := parser.ParseQuery(text, parser.Options{Prefixes: testPrefixes})
	if err != nil {
		t.Fatal(err)
	}
	return algebra.Translate(q)
}

// names returns the variables of a set, sorted.
func names(q *algebra.Query, set algebra.Set) string {
	var list []string
	for slot := range set.All {
		list = append(list, q.Scope.Name(slot))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestVars(t *testing.T) {
	for _, test := range []struct{ text, certain, possible string }{
		{"ASK { }", "", ""},
		{"ASK { ?s ?p _:b . :a :p* ?x }", "_:b p s x", "_:b p s x"},
		{"ASK { ?s :p ?o OPTIONAL { ?o :q ?x FILTER(?y) } }", "o s", "o s x"},
		{"ASK { { ?s :p ?o } UNION { ?s :q ?x } }", "s", "o s x"},
		{"ASK { ?s :p ?o MINUS { ?s :q ?x } FILTER(?z) }", "o s", "o s"},
		{"ASK { ?s :p ?o BIND(?o AS ?a) BIND(?o + 1 AS ?b) BIND(1 AS ?c) }", "a c o s", "a b c o s"},
		{"ASK { VALUES (?a ?b ?c) { (1 UNDEF UNDEF) (2 3 UNDEF) } }", "a", "a b"},
		{"ASK { GRAPH ?g { ?s :p ?o } }", "g o s", "g o s"},
		{"ASK { SERVICE ?e { ?s :p ?o } }", "", "e o s"},
		{"SELECT ?s { ?s :p ?o }", "s", "s"},
		{"SELECT ?s ?k (COUNT(*) AS ?n) (SUM(?o) AS ?m) { ?s :p ?o } GROUP BY ?s (?o + 1 AS ?k) LIMIT 1", "n s", "k m n s"},
		{"SELECT DISTINCT * { ?s :p ?o } ORDER BY ?o", "o s", "o s"},
	} {
		q := translate(t, test.text)
		certain, possible := algebra.Vars(q.Root)
		if got := names(q, certain); got != test.certain {
			t.Errorf("%s: certain %q, want %q", test.text, got, test.certain)
		}
		if got := names(q, possible); got != test.possible {
			t.Errorf("%s: possible %q, want %q", test.text, got, test.possible)
		}
	}
}

func TestUses(t *testing.T) {
	q := translate(t, "ASK { ?s :p ?o FILTER(?a > 1 && EXISTS { ?s :q ?x FILTER(?x > ?b) FILTER NOT EXISTS { ?x :r ?y } }) }")
	cond := q.Root.(*algebra.Filter).Conds[0]
	if got := names(q, q.Uses(cond)); got != "a b s x y" {
		t.Errorf("uses %q", got)
	}
}

// The result's columns have the first slots and their own names; whatever else
// has the same name has another one.
func TestColumns(t *testing.T) {
	q := translate(t, "SELECT ?b ?a ?b { { SELECT (1 AS ?b) { ?a :p ?c } } ?a :q ?c }")
	want := []algebra.Column{{Name: "b", Slot: 0}, {Name: "a", Slot: 1}}
	if !slices.Equal(q.Columns, want) {
		t.Errorf("columns %v", q.Columns)
	}
	seen := map[string]bool{}
	for slot := range q.Scope.Len() {
		if name := q.Scope.Name(slot); seen[name] {
			t.Errorf("two slots have the name %q", name)
		} else {
			seen[name] = true
		}
	}
	if !seen["a.1"] || !seen["c.1"] {
		t.Errorf("names %v", seen)
	}
}

func TestTemplates(t *testing.T) {
	q := translate(t, "CONSTRUCT { ?s :q _:b . _:b :r ?none } { ?s :p _:c }")
	blank, again := q.Template[0].Object, q.Template[1].Subject
	if blank.IsVar() || blank != again || blank.Term.Value() != "b" || q.Template[0].Graph.IsVar() {
		t.Errorf("template %+v", q.Template)
	}
	if _, possible := algebra.Vars(q.Root); !possible.Has(q.Template[0].Subject.Slot) || possible.Has(q.Template[1].Object.Slot) {
		t.Errorf("variables %v of template %+v", possible, q.Template)
	}
	q = translate(t, "DESCRIBE :x ?s :y { ?s :p 1 }")
	if len(q.Describe) != 2 || len(q.Columns) != 1 || q.Form != ast.Describe {
		t.Errorf("describe %+v, columns %v", q.Describe, q.Columns)
	}
}

// Translating leaves the query as it was, and simplifying the tree.
func TestUnchanged(t *testing.T) {
	const text = "SELECT ?s (COUNT(?o) AS ?n) { { ?s :p ?o } { ?s :q ?o FILTER(?o > 1 && ?o < 2) } FILTER EXISTS { ?s :r _:a } } GROUP BY ?s"
	opts := parser.Options{Prefixes: testPrefixes}
	q, err := parser.ParseQuery(text, opts)
	if err != nil {
		t.Fatal(err)
	}
	before := q.String()
	body := algebra.Translate(q).Body
	tree := body.String()
	body.Simplify()
	other, _ := parser.ParseQuery(text, opts)
	if q.String() != before || !ast.Equal(q, other) {
		t.Errorf("the query has become\n%s", q)
	}
	if body.String() != tree {
		t.Errorf("the tree has become\n%s", body.String())
	}
}

// Long queries must be translated, simplified and printed in about linear time, and without an
// overflow of the stack.
func TestLong(t *testing.T) {
	const n = 10_000
	for _, text := range []string{
		"ASK {" + strings.Repeat("{ ?s :p ?o }", n) + "}",
		"ASK {" + strings.Repeat("OPTIONAL { }", n) + "}",
		"ASK {{}" + strings.Repeat("UNION { ?s :p ?o }", n) + "}",
		"ASK { FILTER(?x" + strings.Repeat(" && ?x", n) + ") FILTER(1" + strings.Repeat("+ 1", n) + ")}",
		"ASK {" + strings.Repeat("FILTER(?x) ?s :p ?o .", n) + "}",
		"ASK { ?s :p" + strings.Repeat("/:p", n) + "|:p" + strings.Repeat("|:p", n) + " ?o }",
		"SELECT (SUM(?x)" + strings.Repeat("+ SUM(?x)", n) + "AS ?y) { }",
	} {
		body := translate(t, text).Body.Simplify()
		if body.String() == "" {
			t.Error("nothing")
		}
	}
}

func TestSet(t *testing.T) {
	var a, b algebra.Set
	for _, slot := range []int{0, 63, 64, 200} {
		a.Add(slot)
	}
	b.Add(64)
	b.Add(1)
	if a.Len() != 4 || !a.Has(200) || a.Has(199) || a.Has(1000) || a.ContainsAll(b) {
		t.Errorf("%v", a)
	}
	both := a.Intersect(b)
	if !slices.Equal(both.Slots(), []int{64}) || !a.ContainsAll(both) || !b.ContainsAll(both) || !both.ContainsAll(algebra.Set{}) {
		t.Errorf("%v", both)
	}
	b.AddAll(a)
	if !slices.Equal(b.Slots(), []int{0, 1, 63, 64, 200}) || a.ContainsAll(b) {
		t.Errorf("%v", b.Slots())
	}
}
