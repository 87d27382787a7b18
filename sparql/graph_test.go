// Tests of graphs, and of terms cut in keys.

package sparql_test

import (
	"context"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// TestGraphsAndLongTerms: one triple in several graphs comes once from their
// merge, and terms too long for keys join and come back whole.
func TestGraphsAndLongTerms(t *testing.T) {
	long := triple.NewString(strings.Repeat("long ", 1000))
	longer := triple.NewString(strings.Repeat("long ", 1001))
	src := memsource.New([]triple.Triple{
		{Subject: sparqltest.IRI("a"), Predicate: sparqltest.IRI("p"), Object: long},
		{Subject: sparqltest.IRI("a"), Predicate: sparqltest.IRI("p"), Object: long, Graph: sparqltest.IRI("g")},
		{Subject: sparqltest.IRI("b"), Predicate: sparqltest.IRI("q"), Object: long, Graph: sparqltest.IRI("g")},
		{Subject: sparqltest.IRI("b"), Predicate: sparqltest.IRI("q"), Object: longer, Graph: sparqltest.IRI("h")},
		{Subject: sparqltest.IRI("b"), Predicate: sparqltest.IRI("q"), Object: long, Graph: sparqltest.IRI("h")},
	})
	merged := sparql.Options{Options: exec.Options{UnionDefaultGraph: true}}
	for _, test := range []struct {
		query string
		opts  sparql.Options
		rows  int
	}{
		{`SELECT * { ?a <x:p> ?o }`, sparql.Options{}, 1},
		{`SELECT * { ?b <x:q> ?o }`, sparql.Options{}, 0},
		{`SELECT * { ?b <x:q> ?o }`, merged, 2},
		{`SELECT * { ?a <x:p> ?o . ?b <x:q> ?o }`, merged, 1},
		{`SELECT * { GRAPH ?g { ?b <x:q> ?o } }`, sparql.Options{}, 3},
		{`SELECT * { ?a <x:p> ?o GRAPH ?g { ?b <x:q> ?o } }`, sparql.Options{}, 2},
		{`SELECT * { GRAPH <x:h> { ?b <x:q> ?o } FILTER(?o > "` + long.Value() + `") }`, sparql.Options{}, 1},
		{`SELECT * FROM <x:g> FROM <x:h> { ?b <x:q> ?o }`, sparql.Options{}, 2},
		{`SELECT * FROM <x:g> { ?a <x:p> ?o . ?b <x:q> ?o }`, sparql.Options{}, 1},
		{`SELECT * FROM NAMED <x:g> { GRAPH ?g { ?b <x:q> ?o } }`, sparql.Options{}, 1},
		{`SELECT * FROM NAMED <x:g> { GRAPH <x:h> { ?b <x:q> ?o } }`, sparql.Options{}, 0},
		{`SELECT * { GRAPH ?g {} }`, sparql.Options{}, 2},
		{`SELECT * { GRAPH <x:none> {} }`, sparql.Options{}, 0},
		{`SELECT * { <x:a> <x:p>/^<x:q> ?b }`, merged, 1},
		{`SELECT * { <x:a> (<x:p>|^<x:q>)+ ?b }`, merged, 2},
		{`SELECT * { ?b <x:q> ?o FILTER EXISTS { ?a <x:p> ?o } }`, merged, 1},
		{`SELECT * { ?b <x:q> ?o FILTER NOT EXISTS { ?a <x:p> ?o } }`, merged, 1},
		{`SELECT * { VALUES ?x { <x:nowhere> <x:a> } ?x <x:p>* ?y }`, sparql.Options{}, 2},
	} {
		n, plan, err := sparqltest.Count(context.Background(), src, test.query, test.opts)
		if err != nil || n != test.rows {
			query := strings.ReplaceAll(test.query, long.Value(), "...")
			t.Errorf("%s: %d rows, want %d, %v\n%s", query, n, test.rows, err, plan)
		}
	}
	for row, err := range mustQuery(t, src, `SELECT ?o { GRAPH <x:h> { ?b <x:q> ?o } } ORDER BY DESC(?o)`).Rows() {
		if err != nil || row[0] != longer {
			t.Errorf("%.20s... first, %v", row, err)
		}
		break
	}
}

func mustQuery(t *testing.T, src sparql.Source, text string) *sparql.Result {
	t.Helper()
	result, err := sparql.Query(context.Background(), src, text, sparql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// A join must not use its kept rows of one graph for the next.
func TestJoinInEachGraph(t *testing.T) {
	in := func(g, s, p, o string) triple.Triple {
		return triple.Triple{Subject: sparqltest.IRI(s), Predicate: sparqltest.IRI(p), Object: sparqltest.IRI(o), Graph: sparqltest.IRI(g)}
	}
	src := memsource.New([]triple.Triple{in("g1", "k", "r", "e5"), in("g1", "a", "d", "z"), in("g2", "e0", "r", "e6")})
	got, plan := sparqltest.Lines(t, src, `SELECT ?g { GRAPH ?g { [] <`+sparqltest.IRI("r").Value()+`> [] . { SELECT DISTINCT ?b { ?a <`+sparqltest.IRI("d").Value()+`> ?d2 } } } }`, sparql.Options{})
	if len(got) != 1 || !strings.Contains(got[0], sparqltest.IRI("g1").Value()) {
		t.Errorf("got %q, want g1\n%s", got, plan)
	}
}
