package sparql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// TestMemoryNamed: what does not fit says which operator it is of, and the limit.
func TestMemoryNamed(t *testing.T) {
	var all []triple.Triple
	for i := range 3000 {
		s, g := iri(fmt.Sprint("s", i)), iri(fmt.Sprint("g", i))
		all = append(all,
			triple.Triple{Subject: s, Predicate: iri("p"), Object: triple.NewString(fmt.Sprint("some text ", i))},
			triple.Triple{Subject: s, Predicate: iri("next"), Object: iri(fmt.Sprint("s", i+1))},
			triple.Triple{Subject: s, Predicate: iri("p"), Object: iri("o"), Graph: g})
	}
	src := memsource.New(all)
	var values strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&values, "<x:s%d> ", i)
	}
	for _, test := range []struct {
		query, operator string
		spills          bool // it does with files
	}{
		{`SELECT * { ?s <x:p> ?o } ORDER BY ?o`, "order by", true},
		{`SELECT DISTINCT ?o { ?s <x:p> ?o . ?s <x:next> ?t }`, "distinct", true},
		{`SELECT ?o (COUNT(*) AS ?n) { ?s <x:p> ?o } GROUP BY ?o`, "group by", true},
		{`SELECT (COUNT(DISTINCT ?o) AS ?n) { ?s <x:p> ?o . ?s <x:next> ?t }`, "distinct", true},
		{`SELECT (GROUP_CONCAT(?o; SEPARATOR="; next: ") AS ?n) { ?s <x:p> ?o }`, "group by", false},
		{`SELECT (COUNT(DISTINCT STR(?o)) AS ?n) { ?s <x:p> ?o }`, "group by", false},
		{`SELECT * { ?s <x:next> ?t { SELECT * { ?s <x:p> ?o } } }`, "hash join", true},
		{`SELECT * { ?s <x:next> ?t OPTIONAL { SELECT * { ?s <x:p> ?o } } }`, "hash left join", true},
		{`SELECT * { ?s <x:next> ?t MINUS { ?s <x:p> ?o } }`, "minus", true},
		{`SELECT * { <x:s0> <x:next>* ?t }`, "path", false},
		{`SELECT * { VALUES ?s { ` + values.String() + ` } ?s <x:p> ?o }`, "values", false},
		{`SELECT ?g { GRAPH ?g { { SELECT ?s { ?s ?p ?o } LIMIT 1 } } }`, "each graph", false},
		{`DESCRIBE ?s { ?s <x:p> ?o }`, "describe", false},
	} {
		name := test.query[:min(len(test.query), 60)]
		opts := sparql.Options{Options: exec.Options{Memory: 50 << 10}}
		err := drain(context.Background(), src, test.query, opts)
		want := fmt.Sprintf("%s would take it beyond its limit of %d bytes", test.operator, 50<<10)
		if !errors.Is(err, sparql.ErrMemory) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
		opts.Spill = &files{}
		err = drain(context.Background(), src, test.query, opts)
		if test.spills && err != nil || !test.spills && !errors.Is(err, sparql.ErrMemory) {
			t.Errorf("%s: with files: %v", name, err)
		}
		if err := drain(context.Background(), src, test.query, sparql.Options{}); err != nil {
			t.Errorf("%s: with enough memory: %v", name, err)
		}
	}
}

// TestMemoryFreed: at the end of a run, or after its error, nothing is counted.
func TestMemoryFreed(t *testing.T) {
	src := people(1000)
	for _, test := range spilling {
		for _, memory := range []int64{0, 40 << 10} {
			result, err := sparql.Query(context.Background(), src, test.query, sparql.Options{Options: exec.Options{Memory: memory, Spill: &files{}}})
			if err != nil {
				t.Fatal(err)
			}
			for range result.Rows() {
			}
			if held := result.Held(); held != 0 {
				t.Errorf("%s: %d bytes are held", test.query, held)
			}
		}
	}
}

// TestLargeValues: rows of large terms are in flight a few at a time.
func TestLargeValues(t *testing.T) {
	src := people(100)
	query := `SELECT ?b { { SELECT (GROUP_CONCAT(?n) AS ?all) { ?a <x:name> ?n . ?c <x:age> ?x FILTER(?x < 50) } }
	  ?d <x:age> ?y BIND(CONCAT(?all, ?all, STR(?d)) AS ?b) }`
	result, err := sparql.Query(context.Background(), src, query, sparql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, first := 0, 0
	for row, err := range result.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			first = len(row[0].Value()) * int(extended(result.Plan()))
		}
	}
	if n != 100 || first > 8<<20 {
		t.Errorf("%d rows; %d bytes of them were made for the first", n, first)
	}
}

// extended returns how many rows BIND gave.
func extended(p *exec.Plan) int64 {
	n := int64(0)
	if p.Operator == "extend" && strings.Contains(p.Detail, "CONCAT(?all") {
		n = p.Rows
	}
	for _, in := range p.Inputs {
		n += extended(in)
	}
	return n
}
