// Tests that the time of a query grows with its length, and not with the square of it.

package sparql_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
)

// repeated returns n copies of a text, with their numbers in place of #.
func repeated(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// TestLengthOfQueries: a text of 16 times the length takes at most 64 times as long, which is the exponent 1.5; the
// square would be 256. A few tries must give it once, because other work of the machine may delay a long run more
// than a short one.
func TestLengthOfQueries(t *testing.T) {
	seed.Slow(t)
	for name, text := range map[string][3]string{
		"ground patterns": {"ASK { ", "<x:a> <x:q> <x:b> . <x:b> <x:q> <x:c> . ", "}"},
		"no match":        {"ASK { ", "<x:a> <x:q> <x:b> . ", "<x:a> <x:q> <x:none> }"},
		"prefixes":        {"", "PREFIX p#: <x:p#> ", "ASK { p1:a ?p ?o }"},
		"alternative":     {"SELECT * { <x:a> (<x:q>", "|<x:q#>", ") ?o }"},
		"negated set":     {"SELECT * { <x:a> !(<x:z>", "|<x:z#>", ") ?o }"},
		"IN":              {"SELECT * { ?s <x:q> ?o FILTER(?o IN (1 ", ", <x:z#>", "))}"},
		"filters":         {"SELECT * { ?s <x:q> ?o ", "FILTER(?o != <x:z#>) ", "}"},
		"union":           {"SELECT * { { <x:a> ?p ?o } ", "UNION { <x:b#> <x:q> ?o } ", "}"},
		"VALUES":          {"SELECT * { VALUES ?s { ", "<x:a#> ", "} ?s <x:q> ?o }"},
		"FROM NAMED":      {"SELECT * ", "FROM NAMED <x:g#> ", "{ GRAPH ?g { ?s <x:q> ?o } }"},
		"sort keys":       {"SELECT * { ?s <x:q> ?o } ORDER BY ", "STR(?s) ", ""},
		"group keys":      {"SELECT (COUNT(*) AS ?n) { ?s <x:q> ?o } GROUP BY ", "(STR(?s) AS ?k#) ", ""},
		"LATERAL":         {"SELECT * { ?s <x:q> ?o ", "LATERAL { ?s <x:q> ?o } ", "}"},
		"MINUS":           {"SELECT * { ?s <x:q> ?o ", "MINUS { ?s <x:p#> ?o } ", "}"},
		"OPTIONAL":        {"SELECT * { ?s <x:q> ?o ", "OPTIONAL { ?s <x:p#> ?o } ", "}"},
		"CONCAT":          {"SELECT (CONCAT('a' ", ", '#' ", ") AS ?x) {}"},
	} {
		checkLength(t, name, text, 250, 64, runQuery)
	}
}

// TestLengthOfUpdates: triples of DATA, and operations of a request, take as long each if they are many.
func TestLengthOfUpdates(t *testing.T) {
	for name, text := range map[string][3]string{
		"INSERT DATA": {"INSERT DATA { ", "<x:s#> <x:p> # . GRAPH <x:g#> { <x:s> <x:p> # } ", "}"},
		"DELETE DATA": {"DELETE DATA { ", "<x:s#> <x:p> # . ", "}"},
		"operations":  {"", "DELETE DATA { <x:a> <x:q> # } ; INSERT { ?s <x:p> # } WHERE { ?s <x:q> <x:b> } ; ", ""},
	} {
		checkLength(t, name, text, 250, 64, func(src sparql.Source, text string) error {
			p, err := sparql.PrepareUpdate(text, sparql.Options{})
			if err == nil {
				_, err = p.Run(context.Background(), src)
			}
			return err
		})
	}
}

// TestLengthOfLinkedJoins: joins that equalities and triple terms link are searched by other rules. Their time must grow
// by less than the square of the length, which would be 256.
func TestLengthOfLinkedJoins(t *testing.T) {
	for _, c := range []struct {
		name string
		text [3]string
		most float64
	}{
		{"equalities", [3]string{"SELECT * { ", "?s# <x:none> ?a# . FILTER(?a# = ?a1) ", "}"}, 200},
		{"triple terms", [3]string{"SELECT * { ", "?s# <x:none> <<( ?x <x:p> ?y# )>> . ", "}"}, 200},
	} {
		checkLength(t, c.name, c.text, 64, c.most, runQuery)
	}
}

// TestManySiblings: parts of one group that follow one another are taken up to the limit of the text. Their plan can
// be read as JSON. More are an error, because they would need a deep stack.
func TestManySiblings(t *testing.T) {
	seed.Slow(t)
	for _, part := range []string{
		"LATERAL { ?s <x:q> ?o } ", "MINUS { ?s <x:p> ?o } ", "OPTIONAL { ?s <x:q> ?o } ", "OPTIONAL { ?s <x:p> ?n } BIND(1 AS ?b#) ",
	} {
		n := 6000
		if strings.Contains(part, "#") {
			n = 3000 // rows are as wide as the query is long
		}
		for kind, src := range map[string]sparql.Source{"rows": letters(), "columns": sparqltest.WithColumns(letters())} {
			rows, plan, err := sparqltest.Count(context.Background(), src, "SELECT * { ?s <x:q> ?o "+repeated(n, part)+"}", sparql.Options{})
			if err != nil || rows != 4 {
				t.Errorf("%d %sover %s: %d rows, %v", n, part, kind, rows, err)
				continue
			}
			data, err := json.Marshal(plan)
			if err == nil {
				err = json.Unmarshal(data, new(any))
			}
			if err != nil {
				t.Errorf("%d %sover %s: plan as JSON: %v", n, part, kind, err)
			}
		}
	}
	opts := sparql.Options{Parser: parser.Options{MaxNodes: 1 << 20}}
	_, err := sparql.Query(context.Background(), letters(), "ASK { ?s ?p ?o "+repeated(50_001, "MINUS { ?s ?p ?o } ")+"}", opts)
	if !errors.Is(err, sparql.ErrTooDeep) || !strings.Contains(err.Error(), "more than 50000 groups, and OPTIONAL, MINUS or LATERAL behind one another") {
		t.Errorf("50,001 MINUS: %v", err)
	}
}

// runQuery runs a query to its end.
func runQuery(src sparql.Source, text string) error {
	return drain(context.Background(), src, text, sparql.Options{})
}

// checkLength fails if a text with 16 times as many parts as a short one takes more than most times as long.
func checkLength(t *testing.T, name string, text [3]string, short int, most float64, do func(src sparql.Source, text string) error) {
	t.Helper()
	for kind, src := range map[string]sparql.Source{"rows": letters(), "columns": sparqltest.WithColumns(letters())} {
		took := func(n int) time.Duration {
			query := text[0] + repeated(n, text[1]) + text[2]
			best := time.Hour
			for range 3 {
				begin := time.Now()
				if err := do(src, query); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				best = min(best, time.Since(begin))
			}
			return best
		}
		least := math.Inf(1)
		for try := 0; try < 6 && least > most; try++ {
			least = min(least, float64(took(16*short))/float64(took(short)))
		}
		if least > most {
			t.Errorf("%s over %s: 16 times the length takes %.1f times as long", name, kind, least)
		}
	}
}
