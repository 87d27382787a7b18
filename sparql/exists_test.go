// Tests of the terms that replace variables in an EXISTS.

package sparql_test

import (
	"context"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// TestEmptyGroupInExists: a group without solutions has the terms of the outer row, too.
func TestEmptyGroupInExists(t *testing.T) {
	p, q := sparqltest.IRI("p"), sparqltest.IRI("q")
	s1, s2 := sparqltest.IRI("s1"), sparqltest.IRI("s2")
	rows := memsource.New([]triple.Triple{{Subject: s1, Predicate: p, Object: s2}, {Subject: s2, Predicate: p, Object: s1}, {Subject: s1, Predicate: q, Object: s1}})
	const none = `{ SELECT (COUNT(*) AS ?n) { ?x <x:none> ?y } }`
	for query, want := range map[string]int{
		`SELECT * { ?a <x:p> ?b FILTER EXISTS { ` + none + ` FILTER(?a = <x:s1>) } }`:                      1,
		`SELECT * { ?a <x:p> ?b FILTER EXISTS { ` + none + ` FILTER EXISTS { ?a <x:q> ?z } } }`:            1,
		`SELECT * { ?a <x:p> ?b FILTER EXISTS { ` + none + ` FILTER NOT EXISTS { ?a <x:q> ?z } } }`:        1,
		`SELECT * { ?a <x:p> ?b FILTER NOT EXISTS { ` + none + ` FILTER(BOUND(?a)) } }`:                    0,
		`SELECT * { ?a <x:p> ?b FILTER EXISTS { ` + none + ` FILTER(?n = 0 && ?b IN (<x:s1>, <x:s2>)) } }`: 2,
	} {
		for name, src := range map[string]sparql.Source{"rows": rows, "columns": sparqltest.WithColumns(rows)} {
			if n, plan, err := sparqltest.Count(context.Background(), src, query, sparql.Options{}); err != nil || n != want {
				t.Errorf("%s over %s: %d rows, %v, want %d\n%s", query, name, n, err, want, plan.Text(true))
			}
		}
	}
}
