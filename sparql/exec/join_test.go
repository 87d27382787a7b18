// Tests of the join operators and of counts.

package exec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// members returns people in clubs of one town or more, some of them with long names,
// a part of the triples in named graphs too.
func members(rng *rand.Rand, n int) *memsource.Source {
	var all []triple.Triple
	put := func(s, p, o triple.Term) {
		all = append(all, triple.Triple{Subject: s, Predicate: p, Object: o})
		if rng.IntN(8) == 0 {
			all = append(all, triple.Triple{Subject: s, Predicate: p, Object: o, Graph: sparqltest.IRI(fmt.Sprintf("g%d", rng.IntN(3)))})
		}
	}
	for i := range n {
		s := sparqltest.IRI(fmt.Sprintf("m%04d", i))
		if rng.IntN(3) > 0 {
			put(s, sparqltest.IRI("type"), sparqltest.IRI("Member"))
		}
		for range rng.IntN(3) {
			put(s, sparqltest.IRI("in"), sparqltest.IRI(fmt.Sprintf("club%d", rng.IntN(8))))
		}
		if rng.IntN(2) > 0 {
			put(s, sparqltest.IRI("lives"), sparqltest.IRI(fmt.Sprintf("town%d", rng.IntN(4))))
		}
		name := fmt.Sprintf("name %d", rng.IntN(n))
		if rng.IntN(10) == 0 {
			name = strings.Repeat("long ", 300) + name
		}
		put(s, sparqltest.IRI("name"), triple.NewString(name))
		put(s, sparqltest.IRI("age"), triple.NewTyped(fmt.Sprint(rng.IntN(90)), triple.XSDInteger))
	}
	for i := range 8 {
		put(sparqltest.IRI(fmt.Sprintf("club%d", i)), sparqltest.IRI("seat"), sparqltest.IRI(fmt.Sprintf("town%d", i%5)))
		for k := range 20 {
			put(sparqltest.IRI(fmt.Sprintf("club%d", i)), sparqltest.IRI("year"), triple.NewTyped(fmt.Sprint(k*4+i), triple.XSDInteger))
		}
	}
	return memsource.New(all)
}

// TestJoinOperators: merge joins, leapfrog joins and stars must be chosen, and give the same
// rows as the patterns one after the other. If a filter requires the variable of an OPTIONAL,
// this is such a join one after the other, because it is never planned together.
func TestJoinOperators(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	taken := map[string]bool{}
	for round := range 10 {
		src := members(rng, 60+rng.IntN(300))
		for _, test := range []struct {
			operator string
			patterns []string
			filter   string
		}{
			{"merge join", []string{"?s <x:age> ?a", "?c <x:year> ?a"}, "FILTER(?a IN (3, 30, 31, 77))"},
			{"", []string{"?s <x:age> ?a", "?m <x:age> ?a"}, "FILTER(?a > 30 && ?a < 40 || ?a = 70)"},
			{"", []string{"?s <x:in> <x:club1>", "?s <x:type> <x:Member>"}, `FILTER(STRSTARTS(STR(?s), "x:m001"))`},
			{"", []string{"?s <x:in> <x:club1>", "?s <x:name> ?n", "?s <x:age> ?a"}, "FILTER(?a > 50)"},
			{"merge join", []string{"?s <x:in> <x:club1>", "?s <x:type> <x:Member>"}, ""},
			{"leapfrog join", []string{"?s <x:in> <x:club1>", "?s <x:type> <x:Member>", "?s <x:lives> <x:town2>"}, ""},
			{"leapfrog join", []string{"?s <x:in> <x:club2>", "?s <x:type> <x:Member>", "?s <x:in> <x:club3>"}, ""},
			{"star look-up", []string{"?s <x:in> <x:club1>", "?s <x:name> ?n", "?s <x:age> ?a"}, ""},
			{"star look-up", []string{"?s <x:in> <x:club1>", "?s <x:in> ?c", "?s <x:in> ?d", "?s <x:age> ?a"}, ""},
			{"", []string{"?s <x:lives> ?t", "?c <x:seat> ?t"}, ""},
			{"", []string{ // more than the dynamic programming takes
				"?s <x:in> <x:club1>", "?s <x:name> ?n", "?s <x:age> ?a", "?s <x:type> <x:Member>", "?s <x:lives> ?t", "?c <x:seat> ?t",
				"?s <x:in> ?d", "?d <x:seat> ?u", "?s <x:in> ?e", "?e <x:seat> ?v", "?c <x:seat> ?w", "?d <x:seat> ?x",
			}, ""},
			{"", []string{"?s <x:lives> ?t", "?c <x:seat> ?t", "?s <x:in> ?c"}, ""},
			{"", []string{"?s <x:name> ?n", "?m <x:name> ?n", "?m <x:in> <x:club1>", "?s <x:in> <x:club1>"}, ""},
		} {
			for _, opts := range []sparql.Options{{}, sparqltest.Union()} {
				got, plan := sparqltest.Lines(t, src, "SELECT * { "+strings.Join(test.patterns, " . ")+" "+test.filter+" }", opts)
				apart := "SELECT * { " + test.patterns[0]
				for _, pattern := range test.patterns[1:] {
					apart += " MINUS { <x:no> <x:no> <x:no> } { SELECT * { " + pattern + " } }"
				}
				want, _ := sparqltest.Lines(t, src, apart+" "+test.filter+" }", opts)
				if !slices.Equal(got, want) {
					t.Errorf("seed %d, round %d: %v: %d rows, want %d\n%s", seed, round, test.patterns, len(got), len(want), plan)
				}
				taken[test.operator] = taken[test.operator] || strings.Contains(plan, test.operator)
			}
		}
	}
	for operator, ok := range taken {
		if !ok {
			t.Errorf("seed %d: no %s in any plan", seed, operator)
		}
	}
}

// TestCounts: counts and distinct terms of one pattern are those of its rows, in
// all kinds of datasets.
func TestCounts(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 2))
	for round := range 4 {
		src := members(rng, 150)
		for _, pattern := range []string{"?s ?p ?o", "?s <x:in> ?o", "?s ?p <x:club1>", "<x:m0003> ?p ?o", "?s <x:name> ?o", "<x:m0003> <x:in> ?o"} {
			for _, dataset := range []string{"", "FROM <x:g1>", "FROM <x:g1> FROM <x:g2>"} {
				for _, shape := range []string{"{ %s }", "{ GRAPH <x:g1> { %s } }"} {
					for _, opts := range []sparql.Options{{}, sparqltest.Union()} {
						where := dataset + " " + fmt.Sprintf(shape, pattern)
						counted(t, src, where, opts, fmt.Sprintf("seed %d, round %d", seed, round))
					}
				}
			}
		}
	}
}

func counted(t *testing.T, src sparql.Source, where string, opts sparql.Options, at string) {
	t.Helper()
	check := func(query string, want []string) {
		t.Helper()
		slices.Sort(want)
		if got, plan := sparqltest.Lines(t, src, query, opts); !slices.Equal(got, want) {
			t.Errorf("%s: %s\ngot  %v\nwant %v\n%s", at, query, got, want, plan)
		}
	}
	number := func(n int) string { return fmt.Sprintf("%q^^<%s>", fmt.Sprint(n), triple.XSDInteger) }
	all, _ := sparqltest.Lines(t, src, "SELECT * "+where, opts)
	check("SELECT (COUNT(*) AS ?n) "+where, []string{"[" + number(len(all)) + "]"})
	for _, v := range []string{"?s", "?p", "?o"} {
		if !strings.Contains(where, v) {
			continue
		}
		each, _ := sparqltest.Lines(t, src, "SELECT "+v+" "+where, opts)
		of := map[string]int{}
		for _, line := range each {
			of[strings.Trim(line, "[]")]++
		}
		var terms, counts []string
		for term, n := range of {
			terms = append(terms, "["+term+"]")
			counts = append(counts, "["+term+" "+number(n)+"]")
		}
		check("SELECT DISTINCT "+v+" "+where, terms)
		check("SELECT (COUNT(DISTINCT "+v+") AS ?n) "+where, []string{"[" + number(len(of)) + "]"})
		check("SELECT "+v+" (COUNT(*) AS ?n) "+where+" GROUP BY "+v, counts)
	}
}

// TestLimitAboveSubselect: if an operator between drops rows, a limit must not apply to an
// ORDER BY below it.
func TestLimitAboveSubselect(t *testing.T) {
	src := sparqltest.People(300)
	for query, want := range map[string]int{
		`SELECT * { { SELECT ?x ?a { ?x <x:age> ?a } ORDER BY ?a } FILTER(?a > 50) } LIMIT 3`:                   3,
		`SELECT * { { SELECT ?x ?a { ?x <x:age> ?a } ORDER BY ?a } ?x <x:knows> <x:p00001> } LIMIT 3`:           1,
		`SELECT * { { SELECT ?x ?a { ?x <x:age> ?a } ORDER BY ?a } MINUS { ?x <x:age> 0 } } LIMIT 3`:            3,
		`SELECT * { { SELECT ?x ?a { ?x <x:age> ?a } ORDER BY ?a } FILTER EXISTS { ?x <x:age> 99 } } LIMIT 2`:   2,
		`SELECT DISTINCT ?a { ?x <x:age> ?a } ORDER BY ?a LIMIT 7`:                                              7,
		`SELECT ?a (COUNT(*) AS ?n) { ?x <x:age> ?a } GROUP BY ?a ORDER BY DESC(?n) ?a LIMIT 4`:                 4,
		`ASK { { SELECT ?x ?a { ?x <x:age> ?a } ORDER BY ?a } FILTER(?a > 98) }`:                                1,
		`SELECT * { { SELECT ?x { ?x <x:age> ?a } ORDER BY ?a LIMIT 5 } ?x <x:age> ?b FILTER(?b > 0) } LIMIT 9`: 2,
	} {
		result, err := sparql.Query(context.Background(), src, query, sparql.Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range result.Rows() {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want {
			t.Errorf("%s: %d rows, want %d\n%s", query, n, want, result.Plan().Text(true))
		}
	}
}
