// Benchmarks of the parser.

package parser

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql/algebra"
)

const typicalQuery = `PREFIX ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
SELECT DISTINCT ?student ?course (COUNT(?other) AS ?n) WHERE {
  ?student rdf:type ub:GraduateStudent ; ub:takesCourse ?course ; ub:memberOf ?department .
  ?department ub:subOrganizationOf <http://www.University0.edu> ; ub:name ?name .
  OPTIONAL { ?student ub:advisor ?advisor . ?advisor ub:teacherOf ?other }
  FILTER(?age >= 30 && ?age < 35 || regex(?name, "^Department", "i"))
}
GROUP BY ?student ?course HAVING (COUNT(?other) > 2) ORDER BY DESC(?n) ?student LIMIT 10`

func BenchmarkParseQuery(b *testing.B) {
	b.SetBytes(int64(len(typicalQuery)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseQuery(typicalQuery, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTranslate(b *testing.B) {
	q, err := ParseQuery(typicalQuery, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		algebra.Translate(q).Body.Simplify()
	}
}

func BenchmarkParseInsertData(b *testing.B) {
	text := "PREFIX e: <http://e.example/> INSERT DATA {" + strings.Repeat("e:subject e:predicate <http://e.example/object>, 42, \"text\"@en .\n", 10_000) + "}"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseUpdate(text, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
