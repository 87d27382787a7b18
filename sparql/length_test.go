// A test that the time of a query grows with its length, and not with the square of it.

package sparql_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/sparql"
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
		"CONCAT":          {"SELECT (CONCAT('a' ", ", '#' ", ") AS ?x) {}"},
	} {
		checkLength(t, name, text, 250, 64)
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
		checkLength(t, c.name, c.text, 64, c.most)
	}
}

// checkLength fails if a text with 16 times as many parts as a short one takes more than most times as long.
func checkLength(t *testing.T, name string, text [3]string, short int, most float64) {
	t.Helper()
	for kind, src := range map[string]sparql.Source{"rows": letters(), "columns": sparqltest.WithColumns(letters())} {
		took := func(n int) time.Duration {
			query := text[0] + repeated(n, text[1]) + text[2]
			best := time.Hour
			for range 3 {
				begin := time.Now()
				if err := drain(context.Background(), src, query, sparql.Options{}); err != nil {
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
