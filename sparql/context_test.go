// Tests of the solution with which groups begin: in EXISTS, and behind LATERAL.

package sparql_test

import (
	"context"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// letters is a graph of three triples: a q b, b q c, b q d, c q d.
func letters() *memsource.Source {
	var all []triple.Triple
	for _, pair := range []string{"ab", "bc", "bd", "cd"} {
		all = append(all, triple.Triple{Subject: sparqltest.IRI(pair[:1]), Predicate: sparqltest.IRI("q"), Object: sparqltest.IRI(pair[1:])})
	}
	return memsource.New(all)
}

// checkAnswers runs queries of letters over rows and over columns.
func checkAnswers(t *testing.T, queries map[string][]string) {
	t.Helper()
	for query, want := range queries {
		slices.Sort(want)
		for name, src := range map[string]sparql.Source{"rows": letters(), "columns": sparqltest.WithColumns(letters())} {
			got, plan, err := sparqltest.Answer(context.Background(), src, query, sparql.Options{})
			if slices.Sort(got); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s over %s:\ngot  %v, %v\nwant %v\n%s", query, name, got, err, want, plan.Text(true))
			}
		}
	}
}

// TestContextOfExists: each group in an EXISTS begins with the solution around it, as section 18.3.2 of SPARQL 1.2
// has it. By the substitution of SPARQL 1.1 all of these would have other answers.
func TestContextOfExists(t *testing.T) {
	const abc = `SELECT ?x { VALUES ?x { <x:a> <x:b> <x:c> } FILTER `
	checkAnswers(t, map[string][]string{
		// MINUS shares the variables of the solution.
		abc + `EXISTS { ?x <x:q> ?y MINUS { ?x <x:q> <x:d> } } }`:                              {"[<x:a>]"},
		abc + `NOT EXISTS { ?x <x:q> ?y MINUS { ?x <x:q> <x:b> } } }`:                          {"[<x:a>]"},
		abc + `EXISTS { VALUES ?y { 1 } MINUS { ?x <x:q> <x:d> } } }`:                          {"[<x:a>]"},
		abc + `EXISTS { ?y <x:q> ?z MINUS { <x:a> <x:q> <x:b> } } }`:                           {},
		abc + `EXISTS { ?y <x:q> ?z MINUS { } } }`:                                             {},
		`SELECT (1 AS ?x) { FILTER EXISTS { <x:a> <x:q> <x:b> MINUS { <x:b> <x:q> <x:c> } } }`: {`["1"^^<http://www.w3.org/2001/XMLSchema#integer>]`},
		// Subqueries begin with variables that they do not project.
		abc + `EXISTS { SELECT (COUNT(*) AS ?n) { ?x <x:q> ?y } HAVING(COUNT(*) > 1) } }`:          {"[<x:b>]"},
		`SELECT ?x { VALUES ?x { <x:a> <x:zz> } FILTER EXISTS { SELECT ?y { ?x <x:q> ?y } } }`:     {"[<x:a>]"},
		`SELECT ?x { FILTER EXISTS { SELECT ?y { ?x <x:q> ?y } } VALUES ?x { <x:a> <x:zz> } }`:     {"[<x:a>]"},
		abc + `EXISTS { { SELECT ?y { ?y <x:q> ?z FILTER(?x = <x:a>) } } } }`:                      {"[<x:a>]"},
		abc + `EXISTS { { SELECT ?y { SELECT ?y ?z { ?y <x:q> ?z . ?x <x:q> <x:d> } } } } }`:       {"[<x:b>]", "[<x:c>]"},
		abc + `EXISTS { SELECT (MAX(?y) AS ?m) { BIND(STR(?x) AS ?y) } HAVING(?m > "x:a") } }`:     {"[<x:b>]", "[<x:c>]"},
		abc + `EXISTS { SELECT ?y { ?y <x:q> ?z FILTER EXISTS { SELECT ?w { ?x <x:q> ?z } } } } }`: {"[<x:a>]", "[<x:b>]", "[<x:c>]"},
		abc + `EXISTS { SELECT ?y { VALUES ?y { <x:d> } FILTER NOT EXISTS { ?x <x:q> ?y } } } }`:   {"[<x:a>]"},
		// A group drops the solution, but its keys: HAVING has another ?x, and aggregates must agree with the solution.
		abc + `EXISTS { SELECT (COUNT(*) AS ?n) { ?x <x:q> ?y } HAVING(EXISTS { ?x <x:q> <x:d> }) } }`:                  {"[<x:a>]", "[<x:b>]", "[<x:c>]"},
		`SELECT ?n { VALUES ?n { 1 2 } FILTER EXISTS { SELECT (COUNT(*) AS ?n) { <x:b> <x:q> ?y } } }`:                  {`["2"^^<http://www.w3.org/2001/XMLSchema#integer>]`},
		`SELECT ?n { VALUES ?n { "x:b" "c" } FILTER EXISTS { SELECT ?n { ?s <x:q> <x:c> } GROUP BY (STR(?s) AS ?n) } }`: {`["x:b"]`},
		// A path is no pattern with a term in it: its end must be a node of the graph.
		`SELECT ?x { VALUES ?x { <x:a> <x:zz> } FILTER EXISTS { ?x <x:q>* ?y } }`: {"[<x:a>]"},
	})
}

// TestLateral: the group starts from each solution before it (SEP-0006).
func TestLateral(t *testing.T) {
	checkAnswers(t, map[string][]string{
		`SELECT ?s ?o { VALUES ?s { <x:a> <x:b> } LATERAL { SELECT ?s ?o { ?s <x:q> ?o } ORDER BY ?o LIMIT 1 } }`:   {"[<x:a> <x:b>]", "[<x:b> <x:c>]"},
		`SELECT ?s ?o { VALUES ?s { <x:a> <x:b> } LATERAL { SELECT * { ?s <x:q> ?o } ORDER BY DESC(?o) LIMIT 1 } }`: {"[<x:a> <x:b>]", "[<x:b> <x:d>]"},
		// A variable that the subquery does not project is another one.
		`SELECT ?s ?o { VALUES ?s { <x:a> <x:b> } LATERAL { SELECT ?o { ?s <x:q> ?o } ORDER BY DESC(?o) LIMIT 1 } }`: {"[<x:a> <x:d>]", "[<x:b> <x:d>]"},
		`SELECT ?s ?n { VALUES ?s { <x:a> <x:b> <x:z> } LATERAL { SELECT ?s (COUNT(*) AS ?n) { ?s <x:q> ?o } GROUP BY ?s } }`: {
			`[<x:a> "1"^^<http://www.w3.org/2001/XMLSchema#integer>]`, `[<x:b> "2"^^<http://www.w3.org/2001/XMLSchema#integer>]`},
		`SELECT ?s ?o { VALUES ?s { <x:a> <x:b> <x:z> } LATERAL { OPTIONAL { SELECT * { ?s <x:q> ?o } ORDER BY ?o LIMIT 1 } } }`: {"[<x:a> <x:b>]", "[<x:b> <x:c>]", "[<x:z> ]"},
		// Plain patterns are a join; filters and BIND see the solution.
		`SELECT ?s ?o { VALUES ?s { <x:a> <x:b> } LATERAL { ?s <x:q> ?o } }`:                                 {"[<x:a> <x:b>]", "[<x:b> <x:c>]", "[<x:b> <x:d>]"},
		`SELECT ?s ?o { VALUES ?s { <x:a> <x:b> } LATERAL { { ?o <x:q> <x:d> FILTER(?o != ?s) } } }`:         {"[<x:a> <x:b>]", "[<x:a> <x:c>]", "[<x:b> <x:c>]"},
		`SELECT ?s ?o { VALUES ?s { <x:a> <x:b> } LATERAL { BIND(STR(?s) AS ?o) } }`:                         {`[<x:a> "x:a"]`, `[<x:b> "x:b"]`},
		`SELECT ?s ?o { VALUES ?s { <x:a> <x:b> } LATERAL { ?s <x:q> ?o MINUS { ?s <x:q> <x:d> } } }`:        {"[<x:a> <x:b>]"},
		`SELECT ?s ?o { VALUES ?s { <x:a> <x:b> } LATERAL { { BIND(?s AS ?o) } UNION { <x:c> <x:q> ?o } } }`: {"[<x:a> <x:a>]", "[<x:a> <x:d>]", "[<x:b> <x:b>]", "[<x:b> <x:d>]"},
		// It starts from all before it, stands in other patterns, and what follows is joined.
		`SELECT ?s ?o { ?s <x:q> <x:d> LATERAL { SELECT ?s ?o { ?s <x:q> ?o } ORDER BY ?o LIMIT 1 } ?z <x:q> ?s }`:                               {"[<x:b> <x:c>]", "[<x:c> <x:d>]"},
		`SELECT ?s { VALUES ?s { <x:a> <x:b> } FILTER EXISTS { ?s <x:q> ?y LATERAL { SELECT ?y { ?y <x:q> ?z FILTER(?s = <x:b>) } LIMIT 1 } } }`: {"[<x:b>]"},
		`SELECT ?s ?o ?z { VALUES ?s { <x:a> <x:b> } OPTIONAL { ?s <x:q> ?o LATERAL { SELECT ?o ?z { ?o <x:q> ?z } ORDER BY ?z LIMIT 1 } } }`:    {"[<x:a> <x:b> <x:c>]", "[<x:b> <x:c> <x:d>]"},
		`SELECT ?x { LATERAL { <x:a> <x:q> ?x } }`: {"[<x:b>]"},
	})
}

// TestLateralKeepsScope: LATERAL must not assign what is bound before it.
func TestLateralKeepsScope(t *testing.T) {
	for query, want := range map[string]bool{
		`SELECT * { ?s ?p ?o LATERAL { BIND(1 AS ?o) } }`:                              false,
		`SELECT * { ?s ?p ?o LATERAL { VALUES ?o { 1 } } }`:                            false,
		`SELECT * { ?s ?p ?o LATERAL { SELECT (1 AS ?o) { } } }`:                       false,
		`SELECT * { ?s ?p ?o LATERAL { { { BIND(1 AS ?o) } } UNION { } } }`:            false,
		`SELECT * { ?s ?p ?o LATERAL { SELECT ?o { BIND(1 AS ?o) } } }`:                false,
		`SELECT * { ?s ?p ?o LATERAL { SELECT ?n { BIND(1 AS ?o) BIND(?o AS ?n) } } }`: true,
		`SELECT * { ?s ?p ?o LATERAL { BIND(?o AS ?n) } }`:                             true,
		`SELECT * { LATERAL { BIND(1 AS ?o) } ?s ?p ?o }`:                              true,
	} {
		_, _, err := sparqltest.Count(context.Background(), letters(), query, sparql.Options{})
		if (err == nil) != want {
			t.Errorf("%s: %v", query, err)
		}
	}
}
