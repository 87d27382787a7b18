// Tests of the terms that replace variables in an EXISTS.

package sparql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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

// TestExistsOfFewRows compares an EXISTS that goes first with one that is tested for each row, because it is a part of an OR.
func TestExistsOfFewRows(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	node := func() triple.Term { return sparqltest.IRI(fmt.Sprintf("n%d", random.IntN(150))) }
	value := func() triple.Term {
		return triple.NewString(strings.Repeat("v", 1+random.IntN(2)*300) + fmt.Sprint(random.IntN(40)))
	}
	add := func(all *[]triple.Triple, s triple.Term, p string, o triple.Term) {
		*all = append(*all, triple.Triple{Subject: s, Predicate: sparqltest.IRI(p), Object: o})
	}
	const reified = `?r <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ?a <x:p> ?b )>> . ?r <x:rare> ?w`
	first := 0
	for range 5 {
		// 1. Many triples of p and q, few of rare ones; some triples have several reifiers, or are not asserted.
		var all []triple.Triple
		for range 600 {
			add(&all, node(), "p", node())
			add(&all, node(), "q", value())
		}
		for i := range 30 {
			one := all[2*random.IntN(600)]
			if random.IntN(4) == 0 {
				one.Object = node()
			}
			r := sparqltest.IRI(fmt.Sprintf("r%d", i))
			all = append(all, triple.Triple{Subject: r, Predicate: triple.NewIRI(triple.RDFReifies), Object: triple.NewTripleTerm(one.Subject, one.Predicate, one.Object)})
			add(&all, r, "rare", triple.NewString(fmt.Sprint(random.IntN(3))))
			add(&all, node(), "rare", triple.NewString(fmt.Sprint(random.IntN(3))))
		}
		rows := memsource.New(all)
		// 2. Each query with both conditions.
		for _, text := range []string{
			`SELECT * { ?a <x:p> ?b FILTER(%s) }|` + reified,
			`SELECT ?a { ?a <x:p> ?b FILTER(%s) }|` + reified,
			`SELECT ?b (COUNT(?a) AS ?n) { ?a <x:p> ?b FILTER(%s) } GROUP BY ?b|` + reified,
			`SELECT ?a ?v { ?a <x:p> ?b ; <x:q> ?v FILTER(%s) FILTER(?v > "v1") }|?a <x:rare> ?w . ?x <x:p> ?a`,
			`SELECT * { ?a <x:p> ?b . ?b <x:q> ?v FILTER(%s) FILTER EXISTS { ?a <x:rare> ?z . ?y <x:p> ?a } }|?b <x:rare> ?w . ?b <x:q> ?v`,
			`SELECT * { ?a <x:p> ?b FILTER(%s) OPTIONAL { ?a <x:q> ?v } }|?a <x:rare> ?w . ?a <x:q> ?v`,
			`SELECT * { ?x <x:p> ?c OPTIONAL { ?c <x:p> ?a . ?a <x:q> ?b FILTER(%s) } }|?a <x:rare> ?w . ?a <x:p> ?c`,
			`SELECT * { ?a <x:p> ?b FILTER(%s) } ORDER BY ?a ?b LIMIT 5|?a <x:rare> ?w . ?a <x:q> ?v`,
			`SELECT * { ?a <x:p> ?b FILTER(%s) }|?x <x:rare> ?w . ?x <x:q> ?v`,
		} {
			query, pattern, _ := strings.Cut(text, "|")
			exists := "EXISTS { " + pattern + " }"
			for name, src := range map[string]sparql.Source{"rows": rows, "columns": sparqltest.WithColumns(rows)} {
				want, _ := sparqltest.Lines(t, src, fmt.Sprintf(query, exists+" || 1 = 2"), sparql.Options{})
				got, plan := sparqltest.Lines(t, src, fmt.Sprintf(query, exists), sparql.Options{})
				if !slices.Equal(got, want) {
					t.Fatalf("%s over %s: %d rows, want %d\n%s", fmt.Sprintf(query, exists), name, len(got), len(want), plan)
				}
				if strings.Contains(plan, "distinct") && len(got) > 0 {
					first++
				}
			}
		}
	}
	if first < 15 {
		t.Errorf("an EXISTS went first %d times only", first)
	}
}

// TestExistsOfWholeRows: MINUS in EXISTS and in LATERAL shares the variables of the outer solution, so a count of rows keeps those that
// nothing else names, over columns too.
func TestExistsOfWholeRows(t *testing.T) {
	iri := sparqltest.IRI
	all := []triple.Triple{
		{Subject: iri("n1"), Predicate: iri("p"), Object: iri("n1")}, {Subject: iri("n1"), Predicate: iri("p"), Object: iri("n2")},
		{Subject: iri("n2"), Predicate: iri("p"), Object: iri("n2")},
	}
	const minus = "EXISTS { ?b <x:p> ?b . MINUS { ?c <x:p> <x:n2> } }"
	for kind, src := range map[string]sparql.Source{"rows": memsource.New(all), "columns": sparqltest.WithColumns(memsource.New(all))} {
		for condition, want := range map[string]string{
			"FILTER " + minus:     "0",
			"FILTER NOT " + minus: "3",
			"FILTER EXISTS { ?x <x:p> ?x FILTER " + minus + " }":   "0",
			"FILTER EXISTS { ?b <x:p> ?b }":                        "3",
			"LATERAL { ?b <x:p> ?b MINUS { ?c <x:p> <x:n2> } }":    "0",
			"LATERAL { ?b <x:p> ?b MINUS { ?c <x:none> <x:n2> } }": "6",
			"LATERAL { ?b <x:p> ?b FILTER NOT " + minus + " }":     "6",
			"{ ?b <x:p> ?b MINUS { ?c <x:p> <x:n2> } }":            "6",
		} {
			query := "SELECT (COUNT(*) AS ?n) { ?a <x:p> ?d " + condition + " }"
			got, _, err := sparqltest.Answer(t.Context(), src, query, sparql.Options{})
			if err != nil || len(got) != 1 || !strings.Contains(got[0], `"`+want+`"`) {
				t.Errorf("%s over %s: got %v, want %s, %v", condition, kind, got, want, err)
			}
		}
	}
}
