// Tests of text:matches in GRAPH, and with FROM.

package server

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// graphPredicates are those of the literals of graphTexts that are indexed; a third one is not.
var graphPredicates = []string{"x:p", "x:q"}

// graphTexts returns random literals of two predicates in the default graph and four named ones. One of them is long.
func graphTexts(r *rand.Rand) (all []triple.Triple) {
	words := strings.Fields("graph store base triple node edge")
	graphs := []triple.Term{{}, triple.NewIRI("x:g0"), triple.NewIRI("x:g1"), triple.NewIRI("x:g2"), triple.NewIRI("x:g" + strings.Repeat("3", 2000))}
	for range 400 {
		text := words[r.IntN(6)] + " " + words[r.IntN(6)]
		if r.IntN(40) == 0 {
			text += strings.Repeat(" pad", 600+r.IntN(2))
		}
		all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:s", r.IntN(90))), Predicate: triple.NewIRI([]string{"x:p", "x:q", "x:r"}[r.IntN(3)]),
			Object: triple.NewString(text), Graph: graphs[r.IntN(len(graphs))]})
	}
	return all
}

// TestTextGraphs compares searches in graphs with filters of the graphs' triples.
func TestTextGraphs(t *testing.T) {
	random := seed.Rand(t)
	texts := graphTexts(random)
	s := serveIndexed(t, texts, graphPredicates, engine.Options{})
	const indexed = ` FILTER(?p IN (<x:p>, <x:q>)) `
	for _, c := range []struct{ search, filter string }{
		{`SELECT ?l { GRAPH <x:g1> { ?l text:matches "graph" } }`, `SELECT DISTINCT ?l { GRAPH <x:g1> { ?s ?p ?l FILTER CONTAINS(?l, "graph")` + indexed + `} }`},
		{`SELECT ?g ?l { GRAPH ?g { ?l text:matches "graph" } }`, `SELECT DISTINCT ?g ?l { GRAPH ?g { ?s ?p ?l FILTER CONTAINS(?l, "graph")` + indexed + `} }`},
		{`SELECT ?g ?l { GRAPH ?g { ?l text:matches "graph" ; text:predicate <x:p> } }`, `SELECT DISTINCT ?g ?l { GRAPH ?g { ?s <x:p> ?l FILTER CONTAINS(?l, "graph") } }`},
		{`SELECT ?g ?l { GRAPH ?g { ?l text:matches "graph pad" } }`, `SELECT DISTINCT ?g ?l { GRAPH ?g { ?s ?p ?l FILTER(CONTAINS(?l, "graph") && CONTAINS(?l, "pad"))` + indexed + `} }`},
		{`SELECT ?g ?s ?l { GRAPH ?g { ?s <x:p> ?l . ?l text:matches "graph" ; text:predicate <x:p> } }`, `SELECT ?g ?s ?l { GRAPH ?g { ?s <x:p> ?l FILTER CONTAINS(?l, "graph") } }`},
		{`SELECT ?g ?l { VALUES ?g { <x:g0> <x:g2> } GRAPH ?g { ?l text:matches "store" } }`, `SELECT DISTINCT ?g ?l { GRAPH ?g { ?s ?p ?l FILTER CONTAINS(?l, "store")` + indexed + `} FILTER(?g IN (<x:g0>, <x:g2>)) }`},
		// The name has no value inside, so the graphs come one after the other.
		{`SELECT ?g ?l { GRAPH ?g { ?l text:matches "store" FILTER(!BOUND(?g)) } }`, `SELECT DISTINCT ?g ?l { GRAPH ?g { ?s ?p ?l FILTER(CONTAINS(?l, "store") && !BOUND(?g))` + indexed + `} }`},
		{`SELECT ?g ?l { GRAPH ?g { ?l text:matches "store" BIND(1 AS ?one) } }`, `SELECT DISTINCT ?g ?l { GRAPH ?g { ?s ?p ?l FILTER CONTAINS(?l, "store")` + indexed + `} }`},
		{`SELECT ?g ?s ?l { GRAPH ?g { BIND(1 AS ?one) ?s <x:r> ?l . ?l text:matches "store" } }`, `SELECT ?g ?s ?l { GRAPH ?g { ?s <x:r> ?l FILTER CONTAINS(?l, "store") FILTER EXISTS { ?other ?p ?l` + indexed + `} } }`},
		{`SELECT ?g ?l { GRAPH ?g { ?s <x:r> ?l OPTIONAL { ?l text:matches "store" ; text:score ?n } FILTER(BOUND(?n)) } }`, `SELECT ?g ?l { GRAPH ?g { ?s <x:r> ?l FILTER CONTAINS(?l, "store") FILTER EXISTS { ?other ?p ?l` + indexed + `} } }`},
		{`SELECT ?l FROM <x:g0> { ?l text:matches "node" }`, `SELECT DISTINCT ?l FROM <x:g0> { ?s ?p ?l FILTER CONTAINS(?l, "node")` + indexed + `}`},
		{`SELECT ?l FROM <x:g0> FROM <x:g1> { ?l text:matches "node" }`, `SELECT DISTINCT ?l FROM <x:g0> FROM <x:g1> { ?s ?p ?l FILTER CONTAINS(?l, "node")` + indexed + `}`},
		{`SELECT ?g ?l FROM NAMED <x:g0> FROM NAMED <x:g1> { GRAPH ?g { ?l text:matches "node" } }`, `SELECT DISTINCT ?g ?l FROM NAMED <x:g0> FROM NAMED <x:g1> { GRAPH ?g { ?s ?p ?l FILTER CONTAINS(?l, "node")` + indexed + `} }`},
		{`SELECT ?l FROM NAMED <x:g0> { ?l text:matches "node" }`, `SELECT ?l { ?s <x:none> ?l }`},
		{`SELECT ?l { GRAPH <x:none> { ?l text:matches "node" } }`, `SELECT ?l { ?s <x:none> ?l }`},
		// Outside of GRAPH the literals of all graphs count.
		{`SELECT ?l { ?l text:matches "edge" }`, `SELECT DISTINCT ?l { { ?s ?p ?l } UNION { GRAPH ?g { ?s ?p ?l } } FILTER CONTAINS(?l, "edge")` + indexed + `}`},
	} {
		got, want := s.rows(t, c.search), s.rows(t, c.filter)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %d rows\n%.300q\nand %s has %d\n%.300q", c.search, len(got), got, c.filter, len(want), want)
		}
	}
	// 2. Literals that are bound have the graphs and the scores that they have among all hits.
	for range 60 {
		var given []string
		for range 1 + random.IntN(60) {
			given = append(given, triple.NewString(texts[random.IntN(len(texts))].Object.Value()+[]string{"", "", "", " none"}[random.IntN(4)]).String())
		}
		words := []string{"graph", "graph OR store", "pad", "no*", "node OR base OR triple OR edge"}[random.IntN(5)]
		from, group := []string{"", "FROM <x:g0>", "FROM <x:g0> FROM <x:g1>", "FROM NAMED <x:g0> FROM NAMED <x:g2>"}[random.IntN(4)], []string{
			"GRAPH <x:g1> { %s }", "GRAPH ?g { %s }", "GRAPH ?g { %s FILTER(!BOUND(?g)) }", "GRAPH ?g { %s BIND(1 AS ?one) }", "%s", "VALUES ?g { <x:g0> <x:g2> } GRAPH ?g { %s }",
		}[random.IntN(6)]
		search := `?l text:matches "` + words + `" ; text:score ?n`
		bound := fmt.Sprintf("SELECT DISTINCT ?g ?l ?n "+from+" { "+group+" }", "VALUES ?l { "+strings.Join(given, " ")+" } "+search)
		all := fmt.Sprintf("SELECT DISTINCT ?g ?l ?n "+from+" { "+group+" FILTER(STR(?l) IN ("+strings.Join(given, ", ")+")) }", search)
		got, want := s.rows(t, bound), s.rows(t, all)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %d rows\n%.300q\nand %s has %d\n%.300q", bound, len(got), got, all, len(want), want)
		}
	}
	// 3. The best come first, and few are read.
	scored := s.rows(t, `SELECT ?g ?l ?n { GRAPH ?g { ?l text:matches "graph" ; text:score ?n } } ORDER BY DESC(?n) LIMIT 5`)
	all := s.rows(t, `SELECT ?g ?l ?n { GRAPH ?g { ?l text:matches "graph" ; text:score ?n } } ORDER BY DESC(?n)`)
	score := func(row string) string { return row[strings.LastIndex(row, ",")+1:] }
	for i := range scored {
		if len(scored) != 5 || score(scored[i]) != score(all[i]) {
			t.Errorf("row %d is %.100s, and of all rows %.100s", i, scored[i], all[i])
		}
	}
	// 4. SERVICE is of another server, also its GRAPH.
	for _, q := range []string{`SELECT * { SERVICE <http://x/> { ?l text:matches "a" } }`, `SELECT * { SERVICE <http://x/> { GRAPH ?g { ?l text:matches "a" } } }`} {
		got := s.do(http.MethodGet, "/sparql?query="+url.QueryEscape("PREFIX text: <urn:trefoil:text:> "+q), "")
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, "expected it outside of SERVICE") {
			t.Errorf("%s: %d %s", q, got.status, got.body)
		}
	}
}
