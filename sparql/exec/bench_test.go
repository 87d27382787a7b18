// Benchmark of aggregates whose states are written.

package exec_test

import (
	"context"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
)

// BenchmarkState: the operators that hold rows, over 40,000 triples in memory.
func BenchmarkState(b *testing.B) {
	src := sparqltest.People(10_000)
	for _, bench := range []struct{ name, query string }{
		{"join", `SELECT * { ?a <x:age> ?x . { SELECT ?a ?n { ?a <x:name> ?n } } }`},
		{"optional", `SELECT * { ?a <x:age> ?x OPTIONAL { SELECT ?a ?n { ?a <x:name> ?n } } }`},
		{"minus", `SELECT * { ?a <x:age> ?x MINUS { ?a <x:knows> ?n } }`},
		{"sort", `SELECT * { ?a <x:name> ?x } ORDER BY DESC(?x)`},
		{"group", `SELECT ?x (COUNT(*) AS ?n) { ?a <x:age> ?x . ?a <x:name> ?y } GROUP BY ?x`},
		{"groups", `SELECT ?a (MAX(?x) AS ?n) { ?a <x:name> ?x } GROUP BY ?a`},
		{"countdistinct", `SELECT (COUNT(DISTINCT ?n) AS ?c) { ?a <x:name> ?n . ?a <x:age> ?x }`},
		{"countseveral", `SELECT (COUNT(DISTINCT ?n) AS ?c) (COUNT(DISTINCT ?a) AS ?d) (COUNT(*) AS ?e) { ?a <x:name> ?n . ?a <x:age> ?x }`},
		{"distinct", `SELECT DISTINCT ?k { ?a <x:knows> ?k }`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := sparqltest.Count(context.Background(), src, bench.query, sparql.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
