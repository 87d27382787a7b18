// Tests of prepared queries that run at the same time.

package plan_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/plan/order"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
)

// TestPreparedIsShared runs each prepared query of testdata, and some with functions, in several goroutines.
// Under the race detector this fails if a run changes the query.
func TestPreparedIsShared(t *testing.T) {
	// 1. The queries.
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{
		`SELECT ?x (REPLACE(STR(?x), "[0-9]+", ?n) AS ?y) { ?x <x:name> ?n FILTER(REGEX(?n, "^TEACHER", "i") && ?n IN ("teacher0.0", "teacher1.1")) }`,
		`SELECT ?d (GROUP_CONCAT(DISTINCT ?n; separator=" ") AS ?all) (AVG(?a) + 1 AS ?mean) { ?x <x:memberOf> ?d ; <x:name> ?n ; <x:age> ?a } GROUP BY ?d HAVING(COUNT(*) > 1) ORDER BY ?d`,
		`SELECT * { VALUES (?x ?y) { (<x:teacher0.0> UNDEF) (<x:teacher0.1> 1) } ?x <x:teaches> ?c BIND(IF(BOUND(?y), ?y, NOW()) AS ?z) }`,
		`SELECT ?s { ?s (^<x:memberOf>/<x:memberOf>)*|!<x:age> <x:department1> . FILTER NOT EXISTS { ?s <x:teaches> ?c . ?t <x:takes> ?c FILTER(?t != ?s) } }`,
		`SELECT * { GRAPH ?g { ?s ?p ?o } } LIMIT 3`,
		`CONSTRUCT { ?s <x:of> [ <x:is> ?d ] } { ?s <x:memberOf> ?d } LIMIT 20`,
		`DESCRIBE ?d { ?d <x:type> <x:Department> } LIMIT 2`,
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		query, _, _ := strings.Cut(string(text), "----\n")
		texts = append(texts, query)
	}
	// 2. Each in several goroutines, over rows and over columns. A source counts its reads, so each
	// goroutine needs its own.
	var sources, withColumns [3]sparql.Source
	for i := range sources {
		src := university(4)
		sources[i], withColumns[i] = src, sparqltest.WithColumns(src)
	}
	for _, text := range texts {
		p, err := sparql.Prepare(text, sparql.Options{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var keeper atomic.Pointer[order.Kept]
		var rows, columns [3]string
		var group sync.WaitGroup
		for i := range rows {
			group.Go(func() {
				rows[i] = outcome(t.Context(), p, withWeb(nil), sources[i])
				columns[i] = outcome(t.Context(), p, withWeb(&keeper), withColumns[i])
				columns[i] = outcome(t.Context(), p, withWeb(&keeper), withColumns[i])
			})
		}
		group.Wait()
		if rows != [3]string{rows[0], rows[0], rows[0]} || columns != [3]string{columns[0], columns[0], columns[0]} {
			t.Errorf("%s: the runs differ: over rows %v, over columns %v", text, rows, columns)
		}
	}
}

// outcome runs a query with options and returns its plan, with the number of rows that each operator gave.
func outcome(ctx context.Context, p *sparql.Prepared, options sparql.Options, src sparql.Source) string {
	p, err := p.With(options)
	if err != nil {
		return err.Error()
	}
	result, err := p.Run(ctx, src)
	if err != nil {
		return err.Error()
	}
	defer result.Close()
	n := 0
	switch result.Form.String() {
	case "SELECT":
		for _, e := range result.Rows() {
			n, err = n+1, e
		}
	case "ASK":
		_, err = result.Boolean()
	default:
		for _, e := range result.Triples() {
			n, err = n+1, e
		}
	}
	return fmt.Sprint(n, err, result.Plan())
}
