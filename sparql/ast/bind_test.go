// Tests of trees with a variable bound.

package ast_test

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/triple"
)

// x is the value of ?x in tests.
var x = map[string]triple.Term{"x": triple.NewString("v")}

// withValues replaces "$" by the block with the value of ?x.
func withValues(text string) string { return strings.ReplaceAll(text, "$", `VALUES ?x { "v" }`) }

// TestBind binds ?x and compares with a query written by hand.
func TestBind(t *testing.T) {
	for _, test := range []struct{ query, want string }{
		{`SELECT ?s { ?s <p:p> ?x }`, `SELECT ?s { $ ?s <p:p> ?x }`},
		{`ASK { ?s <p:p>/<p:q>* ?x }`, `ASK { $ ?s <p:p>/<p:q>* ?x }`},
		{`SELECT ?s { ?s <p:p> ?o FILTER(?o > ?x) }`, `SELECT ?s { $ ?s <p:p> ?o FILTER(?o > ?x) }`},
		{`SELECT ?s { { ?s <p:p> ?o FILTER(?o > ?x) } UNION { ?s <p:q> ?o } }`,
			`SELECT ?s { $ { $ ?s <p:p> ?o FILTER(?o > ?x) } UNION { ?s <p:q> ?o } }`},
		{`SELECT ?s { ?s <p:p> ?o OPTIONAL { ?s <p:q> ?x } }`, `SELECT ?s { $ ?s <p:p> ?o OPTIONAL { $ ?s <p:q> ?x } }`},
		{`SELECT ?s { ?s <p:p> ?o MINUS { ?s <p:q> ?x } }`, `SELECT ?s { $ ?s <p:p> ?o MINUS { $ ?s <p:q> ?x } }`},
		{`SELECT ?s { GRAPH ?x { ?s <p:p> ?o } }`, `SELECT ?s { $ GRAPH ?x { ?s <p:p> ?o } }`},
		{`SELECT ?s { ?s <p:p> ?o FILTER EXISTS { ?s <p:q> ?x } }`, `SELECT ?s { $ ?s <p:p> ?o FILTER EXISTS { ?s <p:q> ?x } }`},
		{`SELECT (?x AS ?y) { ?s <p:p> ?o }`, `SELECT (?x AS ?y) { $ ?s <p:p> ?o }`},
		{`CONSTRUCT { ?s <p:q> ?x } { ?s <p:p> ?o }`, `CONSTRUCT { ?s <p:q> ?x } { $ ?s <p:p> ?o }`},
		{`DESCRIBE ?x { ?s <p:p> ?o }`, `DESCRIBE ?x { $ ?s <p:p> ?o }`},
		{`SELECT ?s { ?s <p:p> ?o } ORDER BY (?o = ?x)`, `SELECT ?s { $ ?s <p:p> ?o } ORDER BY (?o = ?x)`},
		// A subquery has ?x if it selects it; another one is its own.
		{`SELECT ?s { ?s <p:p> ?o { SELECT ?x { ?y <p:q> ?x } LIMIT 1 } }`,
			`SELECT ?s { $ ?s <p:p> ?o { SELECT ?x { $ ?y <p:q> ?x } LIMIT 1 } }`},
		{`SELECT ?s { ?s <p:p> ?x { SELECT ?y { ?y <p:q> ?x } } }`, `SELECT ?s { $ ?s <p:p> ?x { SELECT ?y { ?y <p:q> ?x } } }`},
		{`SELECT ?s { SELECT * { ?s <p:q> ?x } }`, `SELECT ?s { $ { SELECT * { $ ?s <p:q> ?x } } }`},
	} {
		q, err := parser.ParseQuery(test.query, parser.Options{})
		require.NoError(t, err)
		if err := q.Bind(x); err != nil {
			t.Errorf("%s: %v", test.query, err)
			continue
		}
		want, err := parser.ParseQuery(withValues(test.want), parser.Options{})
		require.NoError(t, err)
		if q.String() != want.String() {
			t.Errorf("%s\nbound:\n%s\nwant:\n%s", test.query, q, want)
		}
	}
}

func TestBindUpdate(t *testing.T) {
	u, err := parser.ParseUpdate(`DELETE WHERE { ?s <p:p> ?x } ; INSERT { ?s <p:p> ?x } WHERE { ?s <p:q> 1 } ; CLEAR DEFAULT ;
		DELETE { ?s <p:r> 1 } WHERE { ?s <p:q> 1 }`, parser.Options{})
	require.NoError(t, err)
	require.NoError(t, u.Bind(x))
	want, err := parser.ParseUpdate(withValues(`DELETE { ?s <p:p> ?x } WHERE { $ ?s <p:p> ?x } ; INSERT { ?s <p:p> ?x } WHERE { $ ?s <p:q> 1 } ; CLEAR DEFAULT ;
		DELETE { ?s <p:r> 1 } WHERE { ?s <p:q> 1 }`), parser.Options{})
	require.NoError(t, err)
	if u.String() != want.String() {
		t.Errorf("bound:\n%s\nwant:\n%s", u, want)
	}
}

func TestBindRefuses(t *testing.T) {
	const query = `SELECT ?s { ?s <p:p> ?x }`
	const search = `SELECT ?l { ?l <urn:trefoil:text:matches> ?x }`
	one := func(t triple.Term) map[string]triple.Term { return map[string]triple.Term{"x": t} }
	for _, test := range []struct {
		query  string
		values map[string]triple.Term
		words  string
	}{
		{`SELECT ?s { ?s <p:p> ?o }`, x, "no variable ?x"},
		{`SELECT ?s { ?s <p:p> ?o { SELECT ?s { ?s <p:q> ?x } } }`, x, "no variable ?x"},
		{`SELECT ?s { ?s <p:p> ?o BIND(1 AS ?x) }`, x, "from AS"},
		{`SELECT (1 AS ?x) { ?s <p:p> ?o }`, x, "from AS"},
		{query, one(triple.NewBlank("b")), "no IRI or literal"},
		{query, one(triple.Term{}), "no IRI or literal"},
		{query, one(triple.NewIRI("http://e/> . ?a ?b ?c . <http://e/")), "value of ?x"},
		{query, one(triple.NewLang("v", "en } DROP ALL")), "value of ?x"},
		{query, one(triple.NewTyped("v", "http://e/>")), "value of ?x"},
		{query, one(triple.NewString("\xff")), "value of ?x"},
		{search, one(triple.NewIRI("http://e/a/word")), "it must be a string such as"},
		{search, one(triple.NewLang("word", "en")), "without a language; it is \"word\"@en"},
		{search, one(triple.NewTyped("7", triple.XSDInteger)), "it must be a string such as"},
		{search, one(triple.NewString("")), "it is empty; expected words"},
		{`SELECT ?l ?x { { SELECT ?l ?x { ?l <urn:trefoil:text:matches> ?x } } }`, one(triple.NewString("")), "it is empty; expected words"},
	} {
		q, err := parser.ParseQuery(test.query, parser.Options{})
		require.NoError(t, err)
		before := q.String()
		if err := q.Bind(test.values); err == nil || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v; want ...%s...", test.query, err, test.words)
		}
		if q.String() != before {
			t.Errorf("%s: changed to %s", test.query, q)
		}
	}
}

// FuzzBind: for any text of a literal, the sent query must have one value with this text and be
// otherwise the same.
func FuzzBind(f *testing.F) {
	for _, seed := range []string{"", `"`, `\`, `" } DROP ALL #`, "\n", "\x00", `'''`, `\u0022`, "\u2028", "?x", "\U0001F600"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value := triple.NewString(text)
		if value.Check() != nil {
			return
		}
		q, err := parser.ParseQuery(`SELECT ?s { ?s <p:p> ?x }`, parser.Options{})
		require.NoError(t, err)
		require.NoError(t, q.Bind(map[string]triple.Term{"x": value}))
		again, err := parser.ParseQuery(q.String(), parser.Options{})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if len(again.Where.Elements) != 2 {
			t.Fatalf("%q: %s", text, again)
		}
		if got := again.Where.Elements[0].(*ast.Values).Rows[0][0]; got != value {
			t.Errorf("%q came back as %q", text, got.Value())
		}
	})
}
