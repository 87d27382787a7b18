// How many rows queries read.

package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// pupils returns n people with an age, a birthday, a name and two courses. A part of it is in a
// named graph.
func pupils(n int) []triple.Triple {
	var all []triple.Triple
	for i := range n {
		s := iri("pupil%d", i)
		all = append(all,
			triple.Triple{Subject: s, Predicate: iri("age"), Object: triple.NewTyped(fmt.Sprint(i%100), triple.XSDInteger)},
			triple.Triple{Subject: s, Predicate: iri("born"), Object: triple.NewTyped(fmt.Sprintf("%04d-01-02", 1000+i), triple.XSDDate)},
			triple.Triple{Subject: s, Predicate: iri("name"), Object: triple.NewString(fmt.Sprintf("pupil %d", i))},
			triple.Triple{Subject: s, Predicate: iri("takes"), Object: iri("course%d", i%37)},
			triple.Triple{Subject: s, Predicate: iri("takes"), Object: iri("course%d", i%41)},
		)
		if i%10 == 0 {
			all = append(all, triple.Triple{Subject: s, Predicate: iri("type"), Object: iri("Guest")})
		}
	}
	return all
}

// TestSourceReads: queries read only the rows that they need, and return the same as over memory.
func TestSourceReads(t *testing.T) {
	if race.Enabled {
		t.Skip("it is of rows that one goroutine reads")
	}
	s := openMem(t, Options{})
	all := pupils(3000)
	for chunk := range slices.Chunk(all, 1000) {
		add(t, s, chunk...)
	}
	sn, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	memory := memsource.New(all)
	for _, test := range []struct {
		query string
		rows  int
		most  int64 // rows read
	}{
		{`SELECT ?x { ?x :age ?a FILTER(?a >= 30 && ?a < 35) }`, 150, 150},
		{`SELECT ?x ?n { ?x :age ?a . ?x :name ?n FILTER(?a >= 30 && ?a < 35) }`, 150, 300},
		{`SELECT ?x { ?x :name ?n FILTER(STRSTARTS(?n, "pupil 77")) }`, 11, 11},
		{`SELECT ?x { ?x :name ?n FILTER(REGEX(?n, "^pupil 77")) }`, 11, 11},
		{`SELECT ?x { ?x :age ?a FILTER(?a IN (3, 5)) }`, 60, 60},
		{`SELECT ?x { ?x :born ?d FILTER(?d >= "2000-01-01"^^xsd:date && ?d < "2010-01-01"^^xsd:date) }`, 10, 12},
		{`SELECT ?x ?d { ?x :born ?d } ORDER BY DESC(?d) LIMIT 10`, 10, 30},
		{`SELECT ?x ?d { ?x :born ?d } ORDER BY ?d LIMIT 10`, 10, 30},
		{`SELECT ?n ?d { ?x :born ?d . ?x :name ?n } ORDER BY DESC(?d) LIMIT 10`, 10, 60},
		{`SELECT (COUNT(*) AS ?n) { ?x :age ?a }`, 1, 0},
		{`SELECT (COUNT(DISTINCT ?c) AS ?n) { ?x :takes ?c }`, 1, 1000},
		{`SELECT DISTINCT ?p { ?s ?p ?o }`, 5, 100},
		{`SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p`, 5, 600},
		{`SELECT ?x ?n { ?x :takes ?c . ?x :name ?n } LIMIT 10`, 10, 60},
		{`SELECT ?x { ?x :type :Guest . ?x :takes :course3 . ?x :takes :course5 }`, -1, 700},
		{`SELECT ?x ?n { ?x :takes :course3 . ?x :name ?n . ?x :age ?a }`, -1, 600},
		{`SELECT ?x { ?x :takes :course3 FILTER NOT EXISTS { ?x :takes :course5 } }`, -1, 400},
		{`SELECT ?x ?y { ?x :takes ?c . ?y :takes ?c . ?x :type :Guest . ?y :age 7 }`, -1, 20000},
		{`SELECT ?x { ?x (:takes|^:takes)+ :course3 } LIMIT 5`, 5, 20000},
	} {
		text := "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> " + test.query
		got, reads := answers(t, sn.Source(), text)
		want, _ := answers(t, memory, text)
		if test.rows >= 0 && len(got) != test.rows || len(got) != len(want) || reads > test.most {
			t.Errorf("%s: %d rows, want %d, in memory %d; %d read, want at most %d", test.query, len(got), test.rows, len(want), reads, test.most)
		}
		if test.rows < 0 && !slices.Equal(got, want) {
			t.Errorf("%s: got %v, in memory %v", test.query, got, want)
		}
	}
}

// answers returns the rows of a query, sorted, and the number of rows read for it.
func answers(t *testing.T, src sparql.Source, text string) ([]string, int64) {
	t.Helper()
	result, err := sparql.Query(ctx, src, text, sparql.Options{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var out []string
	for row, err := range result.Rows() {
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, fmt.Sprint(row))
	}
	slices.Sort(out)
	return out, result.Plan().TotalReads()
}
