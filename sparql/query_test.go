// Tests of reads, limits and cancellation of whole queries.

package sparql_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// TestReads: if the store's order answers a query, the plan must read only the rows of the
// answer.
func TestReads(t *testing.T) {
	src := sparqltest.People(5000)
	for _, test := range []struct {
		query     string
		rows      int
		atMost    int64
		mustStand string // in the plan
	}{
		{`SELECT ?x { ?x <x:age> ?a FILTER(?a >= 30 && ?a < 35) }`, 250, 251, "in a range"},
		{`SELECT ?x { ?x <x:name> ?a FILTER(STRSTARTS(?a, "name 77")) }`, 11, 11, "in a range"},
		{`SELECT ?x { ?x <x:age> ?a FILTER(?a IN (3, 5)) }`, 100, 100, "in a range"},
		{`SELECT ?x ?d { ?x <x:born> ?d } ORDER BY DESC(?d) LIMIT 10`, 10, 60, "from the end"},
		{`SELECT ?x ?d { ?x <x:born> ?d } ORDER BY ?d LIMIT 10`, 10, 60, "of the store's sequence"},
		{`SELECT ?n ?d { ?x <x:born> ?d . ?x <x:name> ?n } ORDER BY DESC(?d) LIMIT 10`, 10, 120, "from the end"},
		{`SELECT (COUNT(*) AS ?n) { ?x <x:age> ?a }`, 1, 0, "count"},
		{`SELECT ?x { ?x ?p ?o } LIMIT 5`, 5, 16, ""},
		{`SELECT ?n { <x:p00007> <x:knows> ?f . ?f <x:name> ?n }`, 1, 2, ""},
	} {
		src.Reads = 0
		n, plan, err := sparqltest.Count(context.Background(), src, test.query, sparql.Options{})
		if err != nil {
			t.Errorf("%s: %v", test.query, err)
			continue
		}
		text := plan.Text(true)
		if n != test.rows || src.Reads > test.atMost || !strings.Contains(text, test.mustStand) {
			t.Errorf("%s: %d rows, want %d; %d read, want at most %d; plan\n%s", test.query, n, test.rows, src.Reads, test.atMost, text)
		}
	}
}

// TestFirstRows: ASK and LIMIT of joins must read about the rows of the answer, even if each row of
// one pattern has a thousand matches of the next.
func TestFirstRows(t *testing.T) {
	var all []triple.Triple
	for i := range 4000 {
		s := sparqltest.IRI(fmt.Sprintf("s%04d", i))
		all = append(all,
			triple.Triple{Subject: s, Predicate: sparqltest.IRI("in"), Object: sparqltest.IRI(fmt.Sprintf("club%d", i%4))},
			triple.Triple{Subject: s, Predicate: sparqltest.IRI("name"), Object: triple.NewString(fmt.Sprint("name ", i))})
	}
	for i := range 4 {
		all = append(all, triple.Triple{Subject: sparqltest.IRI(fmt.Sprintf("club%d", i)), Predicate: sparqltest.IRI("type"), Object: sparqltest.IRI("Club")})
	}
	src := memsource.New(all)
	for _, test := range []struct {
		query  string
		rows   int
		atMost int64 // reads of the run
	}{
		{`{ ?c <x:type> <x:Club> . ?s <x:in> ?c . ?s <x:name> ?n } LIMIT 1`, 1, 3},
		{`{ ?a <x:in> ?c . ?b <x:in> ?c . ?b <x:name> ?n } LIMIT 1`, 1, 3},
		{`{ ?a <x:in> ?c . ?b <x:in> ?c . ?b <x:name> ?n } LIMIT 3`, 3, 12},
		{`{ ?c <x:type> <x:Club> { ?s <x:in> ?c } UNION { ?s <x:at> ?c } ?s <x:name> ?n } LIMIT 1`, 1, 4},
		{`{ ?c <x:type> <x:Club> . ?s <x:in> ?c FILTER NOT EXISTS { ?s <x:at> ?c } } LIMIT 1`, 1, 4},
		{`{ ?a <x:in> ?c . ?b <x:in> ?c OPTIONAL { ?b <x:name> ?n } } LIMIT 1`, 1, 4},
	} {
		n, plan, err := sparqltest.Count(context.Background(), src, "SELECT * "+test.query, sparql.Options{})
		if err != nil || n != test.rows || plan.TotalReads() > test.atMost {
			t.Errorf("%s: %d rows, %v; at most %d reads; plan\n%s", test.query, n, err, test.atMost, plan.Text(true))
		}
	}
}

// TestTopAgrees: the store's sequence must give the same as sorting.
func TestTopAgrees(t *testing.T) {
	src := sparqltest.People(300)
	for _, query := range []string{
		`SELECT ?a ?x { ?x <x:age> ?a } ORDER BY DESC(?a) ?x`,
		`SELECT ?d ?x { ?x <x:born> ?d . ?x <x:age> ?a } ORDER BY ?d ?x`,
		`SELECT ?n { ?x <x:name> ?n OPTIONAL { ?x <x:knows> ?f FILTER(?f = <x:p00001>) } } ORDER BY DESC(?n)`,
	} {
		all := texts(t, src, query)
		for _, limit := range []int{1, 2, 7, 50, 299} {
			got := texts(t, src, fmt.Sprintf("%s LIMIT %d", query, limit))
			if want := all[:limit]; strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s LIMIT %d:\ngot  %v\nwant %v", query, limit, got, want)
			}
		}
	}
}

func texts(t *testing.T, src sparql.Source, query string) []string {
	t.Helper()
	result, err := sparql.Query(context.Background(), src, query, sparql.Options{})
	require.NoError(t, err)
	var out []string
	for row, err := range result.Rows() {
		require.NoError(t, err)
		out = append(out, fmt.Sprint(row))
	}
	return out
}

// TestPlans: the plans of a few queries, as EXPLAIN shows them.
func TestPlans(t *testing.T) {
	src := sparqltest.People(100)
	for query, want := range map[string]string{
		`SELECT ?n { ?x <x:age> 7 . ?x <x:name> ?n }`: `
project ?n  (about 2 rows)
  index look-up spo ?x <x:name> ?n  (about 2 rows)
    index scan pos ?x <x:age> 7  (about 1 rows)`,
		`SELECT * { ?x <x:age> ?a FILTER(?a < 3) MINUS { ?x <x:knows> <x:p00008> } }`: `
project ?x ?a  (about 3 rows)
  minus ?x  (about 3 rows)
    filter ?a < 3  (about 3 rows)
      index scan pos ?x <x:age> ?a in a range  (about 3 rows)
    index scan pos ?x <x:knows> <x:p00008>  (about 1 rows)`,
	} {
		p, err := sparql.Prepare(query, sparql.Options{})
		require.NoError(t, err)
		plan, err := p.Explain(context.Background(), src)
		require.NoError(t, err)
		if got := "\n" + strings.TrimSuffix(plan.String(), "\n"); got != want {
			t.Errorf("%s: got%s\nwant%s", query, got, want)
		}
	}
}

// TestPlansOfEmptyGroups: each form has a plan before and after a run, even if its group has no pattern.
func TestPlansOfEmptyGroups(t *testing.T) {
	groups := []string{"{}", "{ {} {} }", "{ {} UNION {} }", "{ OPTIONAL {} }", "{ MINUS {} }", "{ { SELECT * {} } }", "{ GRAPH <x:g> {} }", "{ GRAPH ?g {} }",
		"{ SERVICE SILENT <x:s> {} }", "{ FILTER EXISTS {} }", "{ FILTER(true) }", "{ BIND(1 AS ?x) }", "{ VALUES () { () } }", "{ VALUES ?x {} }"}
	queries := []string{"DESCRIBE <x:p00001>", "CONSTRUCT WHERE {}", "CONSTRUCT WHERE {} LIMIT 0"}
	for _, form := range []string{"ASK", "SELECT *", "SELECT DISTINCT ?x", "SELECT (COUNT(*) AS ?n)", "CONSTRUCT {}", "CONSTRUCT { <x:a> <x:b> 1 }", "DESCRIBE *", "DESCRIBE <x:p00001>"} {
		for _, group := range groups {
			queries = append(queries, form+" "+group, form+" "+group+" LIMIT 1")
		}
	}
	people := sparqltest.People(3)
	for _, src := range []sparql.Source{people, sparqltest.WithColumns(people)} {
		for _, query := range queries {
			p, err := sparql.Prepare(query, sparql.Options{})
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			plan, err := p.Explain(t.Context(), src)
			if err != nil || plan == nil || plan.Operator == "" || !strings.HasPrefix(plan.String(), plan.Operator) {
				t.Errorf("%s: plan %+v, %v", query, plan, err)
				continue
			}
			result, err := p.Run(t.Context(), src)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			switch result.Form {
			case ast.Ask:
				_, err = result.Boolean()
			case ast.Select:
				for _, err = range result.Rows() {
				}
			default:
				for _, err = range result.Triples() {
				}
			}
			if ran := result.Plan(); err != nil || ran.Operator != plan.Operator || !strings.Contains(ran.Text(true), "(rows ") {
				t.Errorf("%s: plan %s, %v", query, ran, err)
			}
			text, err := json.Marshal(result.Plan())
			if err != nil || !strings.HasPrefix(string(text), `{"operator":"`) {
				t.Errorf("%s: %s, %v", query, text, err)
			}
		}
	}
}

// TestBombs: if a query needs too much, it must end in an error for the exceeded limit.
func TestBombs(t *testing.T) {
	src := sparqltest.People(2000)
	small := sparql.Options{Options: exec.Options{Memory: 1 << 20}}
	for _, test := range []struct {
		name, query string
		operator    string
	}{
		{"sorted product", `SELECT * { ?a <x:age> ?x . ?b <x:age> ?y . ?c <x:age> ?z } ORDER BY ?x`, "order by"},
		{"distinct product", `SELECT DISTINCT * { ?a <x:age> ?x . ?b <x:age> ?y }`, "distinct"},
		{"groups", `SELECT ?a ?b (COUNT(*) AS ?n) { ?a <x:age> ?x . ?b <x:age> ?y } GROUP BY ?a ?b`, "group by"},
		{"hash join", `SELECT * { ?a <x:age> ?x . { SELECT * { ?b <x:age> ?y . ?c <x:age> ?z } } }`, "hash join"},
		{"path", `SELECT * { ?a (<x:knows>|^<x:knows>|<x:age>)* ?b } ORDER BY ?a`, ""},
		{"concat", `SELECT (GROUP_CONCAT(?n) AS ?all) { ?a <x:age> ?x . ?b <x:name> ?n }`, "group by"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := sparqltest.Count(context.Background(), src, test.query, small)
			if !errors.Is(err, sparql.ErrMemory) || !strings.Contains(err.Error(), test.operator) {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("unions", func(t *testing.T) {
		query := "SELECT * { {} " + strings.Repeat("UNION { <x:p00001> <x:age> ?a } ", 10_000) + "}"
		if n, _, err := sparqltest.Count(context.Background(), src, query, sparql.Options{}); n != 10_001 || err != nil {
			t.Errorf("%d rows, %v", n, err)
		}
	})
	t.Run("depth", func(t *testing.T) {
		query := "SELECT * { ?x <x:age> 1 " + strings.Repeat("OPTIONAL { ?x <x:age> ?y ", 400) + strings.Repeat("}", 400) + "}"
		if n, _, err := sparqltest.Count(context.Background(), src, query, sparql.Options{}); n != 20 || err != nil {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}

// cancelling ends its context after some reads.
type cancelling struct {
	*memsource.Source
	after  int64
	cancel context.CancelFunc
}

func (c *cancelling) Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	if c.Reads > c.after {
		c.cancel()
	}
	return c.Source.Lookup(ctx, ranges, each)
}

func (c *cancelling) Scan(ctx context.Context, r triple.Range, reverse bool) (sparql.Rows, error) {
	if c.Reads > c.after {
		c.cancel()
	}
	return c.Source.Scan(ctx, r, reverse)
}

// TestCancellation: a cancelled query ends at the next batch, wherever it is.
func TestCancellation(t *testing.T) {
	for _, query := range []string{
		`SELECT * { ?a <x:age> ?x . ?b <x:age> ?y . ?c <x:age> ?z . ?a <x:knows> ?k }`,
		`SELECT (COUNT(*) AS ?n) { ?a <x:knows>* ?b . ?c <x:knows>* ?d }`,
		`SELECT * { ?a <x:age> ?x . ?b <x:age> ?y FILTER EXISTS { ?a <x:knows> ?b } }`,
	} {
		ctx, cancel := context.WithCancel(context.Background())
		src := &cancelling{sparqltest.People(1000), 3000, cancel}
		_, _, err := sparqltest.Count(ctx, src, query, sparql.Options{})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", query, err)
		}
		if src.Reads > 50_000 {
			t.Errorf("%s: %d reads", query, src.Reads)
		}
		cancel()
	}
}

// TestTagsInAnyCase: a literal of a pattern finds its triples however the letters of the language tag are
// written, long ones too, and reads only these.
func TestTagsInAnyCase(t *testing.T) {
	long := strings.Repeat("lang ", 1000)
	var all []triple.Triple
	for i, o := range []triple.Term{
		triple.NewLang("x", "en"), triple.NewLang("x", "EN"), triple.NewLang("x", "de"), triple.NewString("x"), triple.NewLang("xx", "en"),
		triple.NewLang(long, "En"), triple.NewLang(long, "en"), triple.NewLang(long+"!", "en"), triple.NewLang("x", "en-GB"),
	} {
		all = append(all, triple.Triple{Subject: sparqltest.IRI(fmt.Sprintf("s%d", i)), Predicate: sparqltest.IRI("p"), Object: o})
	}
	src := memsource.New(all)
	for text, want := range map[string]int{
		`SELECT * { ?s ?p "x"@eN }`:                                   2,
		`SELECT * { ?s ?p "x"@en . ?s ?q ?o }`:                        2,
		`SELECT * { ?s ?p "` + long + `"@en }`:                        2,
		`SELECT * { ?s <x:p> "x"@fr }`:                                0,
		`SELECT * { <x:s0> <x:p> "x"@EN }`:                            1,
		`SELECT * { ?s ?p "x" }`:                                      1,
		`SELECT * { ?a ?p ?o OPTIONAL { ?s ?q "x"@EN-gb } }`:          9,
		`SELECT * { ?s ?p ?o FILTER EXISTS { ?s ?p "x"@En } }`:        2,
		`SELECT * { ?s ?p ?o MINUS { ?s ?p "x"@En } }`:                7,
		`SELECT * { ?s <x:p>/^<x:p> ?t . ?t <x:p> "x"@en }`:           4,
		`SELECT * { { ?s ?p "x"@EN } UNION { ?s ?p "x"@DE } }`:        3,
		`SELECT * { GRAPH <x:g> { ?s ?p "x"@EN } }`:                   0,
		`SELECT ?s { ?s <x:p> "x"@en } GROUP BY ?s`:                   2,
		`SELECT (COUNT(*) AS ?n) { ?s <x:p> "x"@en } HAVING (?n = 2)`: 1,
	} {
		got, plan := sparqltest.Lines(t, src, text, sparql.Options{})
		if len(got) != want {
			t.Errorf("%.80s: %d rows, want %d: %q\n%s", text, len(got), want, got, plan)
		}
	}
	src.Reads = 0
	sparqltest.Lines(t, src, `SELECT * { ?s <x:p> "x"@en }`, sparql.Options{})
	if src.Reads > 2 {
		t.Errorf("%d rows were read", src.Reads)
	}
}

// TestComputedDecimals: a decimal that is computed has one form, whatever computes it, so DISTINCT, GROUP BY
// and joins have it once. A decimal of the data keeps its form.
func TestComputedDecimals(t *testing.T) {
	var all []triple.Triple
	for i, lexical := range []string{"3.0", "3.00", "2.5", "3.4"} {
		all = append(all, triple.Triple{Subject: sparqltest.IRI(fmt.Sprint("s", i)), Predicate: sparqltest.IRI("p"), Object: triple.NewTyped(lexical, triple.XSDDecimal)})
	}
	const values = `{ BIND(ROUND(2.9) AS ?d) } UNION { BIND(CEIL(2.1) AS ?d) } UNION { BIND(FLOOR(3.9) AS ?d) } UNION { BIND(1.5 + 1.5 AS ?d) } UNION
		{ BIND(4.5 - 1.5 AS ?d) } UNION { BIND(1.5 * 2 AS ?d) } UNION { BIND(6 / 2 AS ?d) } UNION { BIND(ABS(-3.0) AS ?d) } UNION { BIND(-(-3.00) AS ?d) } UNION
		{ BIND(+ 3.0 AS ?d) } UNION { BIND(<` + triple.XSDDecimal + `>("3.000") AS ?d) } UNION { BIND(<` + triple.XSDDecimal + `>(3) AS ?d) } UNION
		{ BIND(<` + triple.XSDDecimal + `>(3e0) AS ?d) } UNION { BIND(SECONDS("2020-01-01T00:00:03.0"^^<` + triple.XSDDateTime + `>) AS ?d) } UNION
		{ SELECT (SUM(?o) / 3 - 1 AS ?d) { VALUES ?o { 3.5 8.5 } } } UNION { SELECT (AVG(?o) AS ?d) { VALUES ?o { 2 4 } } } UNION
		{ SELECT (SUM(?o) AS ?d) { <x:s0> <x:p> ?o } } UNION { SELECT (AVG(?o) AS ?d) { <x:s0> <x:p> ?o } }`
	row := func(lexical, datatype string) string {
		return "[" + triple.NewTyped(lexical, datatype).String() + "]"
	}
	three := row("3", triple.XSDDecimal)
	for query, want := range map[string]string{
		`SELECT DISTINCT ?d { ` + values + ` }`:                                         three,
		`SELECT ?d { ` + values + ` } GROUP BY ?d`:                                      three,
		`SELECT DISTINCT (ROUND(?o) AS ?d) { ?s <x:p> ?o }`:                             three,
		`SELECT DISTINCT ?d { ?s <x:p> ?o BIND(?o + 0 AS ?d) FILTER(?o = 3) }`:          three,
		`SELECT DISTINCT ?d { BIND(6 / 2 AS ?d) { SELECT (ROUND(2.9) AS ?d) {} } }`:     three,
		`SELECT (MAX(?o) AS ?d) { <x:s1> <x:p> ?o }`:                                    row("3.00", triple.XSDDecimal),
		`SELECT (COUNT(*) AS ?d) { SELECT DISTINCT ?o { ?s <x:p> ?o FILTER(?o = 3) } }`: row("2", triple.XSDInteger),
	} {
		for _, src := range []sparql.Source{memsource.New(all), sparqltest.WithColumns(memsource.New(all))} {
			if got, plan := sparqltest.Lines(t, src, query, sparql.Options{}); len(got) != 1 || got[0] != want {
				t.Errorf("%.200s: %q, want %s\n%s", query, got, want, plan)
			}
		}
	}
}

// TestShadowedNames: behind GROUP BY, AS may take the name of a variable that is no key. The pattern and the
// aggregates keep theirs.
func TestShadowedNames(t *testing.T) {
	var all []triple.Triple
	for i := range 6 {
		all = append(all, triple.Triple{Subject: sparqltest.IRI(fmt.Sprint("s", i%2)), Predicate: sparqltest.IRI("p"), Object: triple.NewTyped(fmt.Sprint(i), triple.XSDInteger)})
	}
	src := memsource.New(all)
	for query, want := range map[string]string{
		`SELECT ?s (SUM(?z) AS ?z) { ?s <x:p> ?z } GROUP BY ?s ORDER BY ?z`:                                          "[[<x:s0> 6] [<x:s1> 9]]",
		`SELECT ?s (123 AS ?z) (COUNT(?z) AS ?n) { ?s <x:p> ?z FILTER(?z > 0) } GROUP BY ?s ORDER BY ?n`:             "[[<x:s0> 123 2] [<x:s1> 123 3]]",
		`SELECT (MAX(?z) AS ?z) (?z + 1 AS ?y) { ?s <x:p> ?z } GROUP BY ?s HAVING(?z > 4)`:                           "[[5 6]]",
		`SELECT (MAX(?z) AS ?z) { ?s <x:p> ?z } GROUP BY ?s HAVING(MIN(?z) = 0)`:                                     "[[4]]",
		`SELECT ?z ?y { { SELECT ?s (MAX(?z) AS ?z) { ?s <x:p> ?z } GROUP BY ?s } ?s <x:p> ?y FILTER(?y + 1 = ?z) }`: "[]",
		`SELECT ?z ?y { { SELECT ?s (MAX(?z) AS ?z) { ?s <x:p> ?z } GROUP BY ?s } ?s <x:p> ?y FILTER(?y + 4 = ?z) }`: "[[4 0] [5 1]]",
	} {
		for _, src := range []sparql.Source{src, sparqltest.WithColumns(src)} {
			result, err := sparql.Query(context.Background(), src, query, sparql.Options{})
			if err != nil {
				t.Errorf("%s: %v", query, err)
				continue
			}
			rows := [][]string{}
			for row, err := range result.Rows() {
				require.NoError(t, err)
				var cells []string
				for _, term := range row {
					if cells = append(cells, term.Value()); term.Kind() == triple.IRI {
						cells[len(cells)-1] = term.String()
					}
				}
				rows = append(rows, cells)
			}
			slices.SortFunc(rows, slices.Compare)
			if got := fmt.Sprint(rows); got != want {
				t.Errorf("%s: got %s, want %s\n%s", query, got, want, result.Plan())
			}
		}
	}
}
