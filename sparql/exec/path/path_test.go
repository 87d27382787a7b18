// Tests of the reads, the names and the memory of property paths.

package path_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// TestPathOfManyPairs: more pairs than a search from several starts holds come all,
// and too little memory is an error.
func TestPathOfManyPairs(t *testing.T) {
	const nodes = 700
	var ring []triple.Triple
	for i := range nodes {
		ring = append(ring, triple.Triple{Subject: sparqltest.IRI(fmt.Sprintf("n%d", i)), Predicate: sparqltest.IRI("p"), Object: sparqltest.IRI(fmt.Sprintf("n%d", (i+1)%nodes))})
	}
	src := memsource.New(ring)
	for query, want := range map[string]int{
		`SELECT * { ?a <x:p>+ ?b }`:                        nodes * nodes,
		`SELECT * { ?a <x:p> ?b . ?a (<x:p>/^<x:p>)* ?c }`: nodes,
		`SELECT * { ?a <x:p> ?b . ?b <x:p>+ ?a }`:          nodes,
		`SELECT * { ?a <x:p>+ <x:n5> . ?a <x:p> ?b }`:      nodes,
		`SELECT * { ?a <x:p>* ?a }`:                        nodes,
	} {
		n, plan, err := sparqltest.Count(context.Background(), src, query, sparql.Options{})
		if err != nil || n != want {
			t.Errorf("%s: %d rows, want %d, %v\n%s", query, n, want, err, plan.Text(true))
		}
	}
	var small sparql.Options
	small.Memory = 64 << 10
	if n, _, err := sparqltest.Count(context.Background(), src, `SELECT * { ?a <x:p>+ ?b }`, small); !errors.Is(err, sparql.ErrMemory) {
		t.Errorf("with little memory %d rows, %v", n, err)
	}
}

// TestPathReads: a path from both ends reads no more than the smaller side.
func TestPathReads(t *testing.T) {
	var all []triple.Triple
	put := func(s, p, o string) {
		all = append(all, triple.Triple{Subject: sparqltest.IRI(s), Predicate: sparqltest.IRI(p), Object: sparqltest.IRI(o)})
	}
	for i := range 2000 { // everybody is in the world, by way of a town
		put(fmt.Sprintf("person%d", i), "in", fmt.Sprintf("town%d", i%20))
		put(fmt.Sprintf("person%d", i), "age", fmt.Sprintf("age%d", i%500))
	}
	for i := range 20 {
		put(fmt.Sprintf("town%d", i), "in", "world")
		put(fmt.Sprintf("town%d", i), "on", "river")
	}
	src := memsource.New(all)
	for query, most := range map[string]int64{
		`SELECT * { ?x <x:age> <x:age7> . ?x <x:in>+ <x:world> }`: 100,
		`SELECT * { <x:person7> <x:in>+ <x:world> }`:              30,
		`ASK { <x:person7> <x:in>* <x:person8> }`:                 30,
		`SELECT * { ?x <x:in>+ <x:town3> }`:                       110,
		// Both ends are free: 20 towns are in the world.
		`SELECT * { ?x <x:on>+ ?y }`:                60,
		`SELECT * { ?x (<x:on>|^<x:on>)+ ?y }`:      250,
		`SELECT * { ?x (<x:none>/<x:in>)+ ?y }`:     10,
		`SELECT * { ?x (<x:on>*/<x:on>)+ ?y }`:      150,
		`SELECT (COUNT(*) AS ?n) { ?x <x:on>* ?y }`: 4100,
	} {
		_, plan, err := sparqltest.Count(context.Background(), src, query, sparql.Options{})
		if err != nil {
			t.Errorf("%s: %v", query, err)
		} else if reads := plan.TotalReads(); reads > most {
			t.Errorf("%s: %d rows read, want at most %d\n%s", query, reads, most, plan.Text(true))
		}
	}
}

// TestPathColumnNames: a path that reads columns and rows has one name for a node, though a term of more
// than 1 KiB may be whole in keys.
func TestPathColumnNames(t *testing.T) {
	s, p, o := sparqltest.IRI("s"), sparqltest.IRI("p"), sparqltest.IRI("o")
	for n := solution.ShortTerm - 10; n < solution.ShortTerm+10; n++ {
		src := memsource.New([]triple.Triple{{Subject: s, Predicate: p, Object: triple.NewLang(strings.Repeat("a", n), "en")}, {Subject: s, Predicate: p, Object: o}})
		text := "SELECT ?a ?b { ?a (<x:p>|!<x:none>)* ?b }"
		want, _ := sparqltest.Lines(t, src, text, sparql.Options{})
		if got, _ := sparqltest.Lines(t, sparqltest.WithColumns(src), text, sparql.Options{}); !slices.Equal(got, want) {
			t.Errorf("a text of %d bytes: %d rows, want %d", n, len(got), len(want))
		}
	}
}
