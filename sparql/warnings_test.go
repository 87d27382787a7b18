// Tests of conditions that are errors in every row that they met.

package sparql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// TestWarnings: a plan says which conditions were errors in every row, however they run, and is silent about all others.
func TestWarnings(t *testing.T) {
	var all []triple.Triple
	for i := range 200 { // more than Filter tests before it keeps results
		s := sparqltest.IRI(fmt.Sprintf("s%d", i))
		all = append(all,
			triple.Triple{Subject: s, Predicate: sparqltest.IRI("label"), Object: triple.NewLang(fmt.Sprintf("label %d", i%7), "en")},
			triple.Triple{Subject: s, Predicate: sparqltest.IRI("n"), Object: triple.NewTyped(fmt.Sprint(i), triple.XSDInteger)},
			triple.Triple{Subject: s, Predicate: sparqltest.IRI("next"), Object: sparqltest.IRI(fmt.Sprintf("s%d", i+1))})
	}
	rows := memsource.New(all)
	for _, test := range []struct {
		query string
		want  string // a part of the warning; "" for none
	}{
		{`SELECT * { ?s <x:label> ?l FILTER(?l < "m"@en) }`, `filter ?l < "m"@en: an error for all 200 rows: values that are not comparable`},
		{`SELECT * { ?s <x:label> ?l FILTER(?l + 1 > 2) }`, `filter ?l + 1 > 2: an error for all 200 rows: an operand of the wrong type`},
		{`SELECT * { ?s <x:n> ?n FILTER("a" + 1) }`, `filter "a" + 1: an error for all 200 rows: an operand of the wrong type`},
		{`SELECT * { ?s <x:n> ?n FILTER(?none < 5) }`, `filter ?none < 5: an error for all 200 rows: unbound variable`},
		{`SELECT * { ?s <x:n> ?n FILTER(1 / (?n - ?n) = 1) }`, `division by zero`},
		{`SELECT * { ?s <x:n> ?n ; <x:label> ?l FILTER(?n < 3 && ?l) }`, `filter ?l: an error for all 3 rows: a value without an effective boolean value`},
		{`SELECT * { ?s <x:label> ?l FILTER(RAND() < 2 && ABS(?l) + RAND() > 3) }`, `filter RAND() < 2 && ABS(?l) + RAND() > 3: condition 2 is an error for all 200 rows: an operand of the wrong type`},
		{`SELECT * { <x:s1> <x:label> ?l FILTER(ABS(?l) > 3) }`, `an error for the only row: an operand of the wrong type`},
		{`SELECT * { ?s <x:next> ?o . ?o <x:label> ?l . FILTER(?l - 1 = 2) }`, `filter ?l - 1 = 2: an error for all 200 rows: an operand of the wrong type`},
		{`SELECT * { ?s <x:n> ?n OPTIONAL { ?s <x:label> ?l FILTER(?l * ?n = 0) } }`, `filter ?l * ?n = 0: an error for all 200 rows: an operand of the wrong type`},
		{`SELECT * { ?s <x:n> ?n OPTIONAL { ?s <x:label> ?l FILTER(?l * RAND() = 0) } }`, `left join of each row ?l * RAND() = 0: an error for all 200 rows: an operand of the wrong type`},
		{`SELECT * { ?s <x:n> ?n OPTIONAL { VALUES ?m { 1 2 } FILTER(?m + ?none = 0) } }`, `an error for all `},
		{`SELECT * { ?s <x:n> ?n FILTER EXISTS { ?s <x:label> ?l FILTER(ABS(?l) > 3) } }`, `filter ABS(?l) > 3: an error for all 200 rows: an operand of the wrong type`},
		{`SELECT ?l { ?s <x:label> ?l } GROUP BY ?l HAVING(SUM(?l) > 3)`, `an error for all 7 rows: unbound variable`},
		{`SELECT (COUNT(*) AS ?c) { ?s <x:label> ?l FILTER(?l * 2 > 1) }`, `an operand of the wrong type`},
		{`ASK { ?s <x:label> ?l FILTER(?l * 2 > 1) }`, `filter ?l * 2 > 1: an error for all 200 rows: an operand of the wrong type`},
		// Filters that are false, or an error for some rows only.
		{`SELECT * { ?s <x:n> ?n FILTER(?n < 5) }`, ``},
		{`SELECT * { ?s <x:n> ?n FILTER(?n > 1000) }`, ``},
		{`SELECT * { ?s <x:n> ?n FILTER(?n * 2 < 0) }`, ``},
		{`SELECT * { ?s <x:n> ?n FILTER(6 / ?n > 100) }`, ``},
		{`SELECT * { ?s <x:next> ?o FILTER(?o = <x:none>) }`, ``},
		{`SELECT * { ?s <x:label> ?l FILTER(COALESCE(?l * 2, false)) }`, ``},
		{`SELECT * { ?s <x:none> ?l FILTER(?l * 2 > 1) }`, ``},
	} {
		for name, src := range map[string]sparql.Source{"rows": rows, "columns": sparqltest.WithColumns(rows)} {
			n, plan, err := sparqltest.Count(context.Background(), src, test.query, sparql.Options{Options: exec.Options{Uint64: rand.Uint64}})
			if err != nil {
				t.Errorf("%s over %s: %v", test.query, name, err)
				continue
			}
			if got := plan.Warnings(); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("%s over %s: %d rows, warning %q, want %q\n%s", test.query, name, n, got, test.want, plan.Text(true))
			}
		}
	}
}
