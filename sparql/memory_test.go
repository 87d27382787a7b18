// Tests of the counted, reserved and freed memory of queries.

package sparql_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// TestDistinctMemory: DISTINCT and COUNT(DISTINCT) must hold a few bytes for each value, however long
// the values are.
func TestDistinctMemory(t *testing.T) {
	var all []triple.Triple
	for i := range 5000 {
		name := strings.Repeat("n", 900) + fmt.Sprint(i/2)
		all = append(all, triple.Triple{Subject: sparqltest.IRI(fmt.Sprint("s", i)), Predicate: sparqltest.IRI("name"), Object: triple.NewString(name)})
	}
	src := memsource.New(all)
	opts := sparql.Options{}
	opts.Memory = 2 << 20
	for query, want := range map[string]string{
		`SELECT (COUNT(DISTINCT CONCAT(?n, "x")) AS ?c) (COUNT(DISTINCT ?s) AS ?d) { ?s <x:name> ?n }`: "2500 5000",
		`SELECT (COUNT(*) AS ?c) ("" AS ?d) { SELECT DISTINCT ?n { ?s <x:name> ?n . ?s ?p ?n } }`:      "2500 ",
	} {
		result, err := sparql.Query(context.Background(), src, query, opts)
		require.NoError(t, err)
		for row, err := range result.Rows() {
			if err != nil || row[0].Value()+" "+row[1].Value() != want {
				t.Errorf("%s: %v, %v; want %s", query, row, err, want)
			}
		}
	}
}

// TestMemoryNamed: if memory does not suffice, the error must name the operator and the limit.
func TestMemoryNamed(t *testing.T) {
	var all []triple.Triple
	for i := range 3000 {
		s, g := sparqltest.IRI(fmt.Sprint("s", i)), sparqltest.IRI(fmt.Sprint("g", i))
		all = append(all,
			triple.Triple{Subject: s, Predicate: sparqltest.IRI("p"), Object: triple.NewString(fmt.Sprint("some text ", i))},
			triple.Triple{Subject: s, Predicate: sparqltest.IRI("next"), Object: sparqltest.IRI(fmt.Sprint("s", i+1))},
			triple.Triple{Subject: s, Predicate: sparqltest.IRI("p"), Object: sparqltest.IRI("o"), Graph: g})
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
		opts.Spill = &sparqltest.Files{}
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
	src := sparqltest.People(1000)
	for _, test := range sparqltest.Spilling {
		for _, memory := range []int64{0, 40 << 10} {
			result, err := sparql.Query(context.Background(), src, test.Query, sparql.Options{Options: exec.Options{Memory: memory, Spill: &sparqltest.Files{}}})
			require.NoError(t, err)
			for range result.Rows() {
			}
			if held := result.Held(); held != 0 {
				t.Errorf("%s: %d bytes are held", test.Query, held)
			}
		}
	}
}

// TestLargeValues: rows of large terms are in flight a few at a time.
func TestLargeValues(t *testing.T) {
	src := sparqltest.People(100)
	query := `SELECT ?b { { SELECT (GROUP_CONCAT(?n) AS ?all) { ?a <x:name> ?n . ?c <x:age> ?x FILTER(?x < 50) } }
	  ?d <x:age> ?y BIND(CONCAT(?all, ?all, STR(?d)) AS ?b) }`
	result, err := sparql.Query(context.Background(), src, query, sparql.Options{})
	require.NoError(t, err)
	n, first := 0, 0
	for row, err := range result.Rows() {
		require.NoError(t, err)
		if n++; n == 1 {
			first = len(row[0].Value()) * int(extended(result.Plan()))
		}
	}
	if n != 100 || first > 8<<20 {
		t.Errorf("%d rows; %d bytes of them were made for the first", n, first)
	}
}

// extended returns how many rows BIND gave.
func extended(p *explain.Plan) int64 {
	n := int64(0)
	if p.Operator == "extend" && strings.Contains(p.Detail(), "CONCAT(?all") {
		n = p.Rows
	}
	for _, in := range p.Inputs {
		n += extended(in)
	}
	return n
}

// TestMemoryReserved: a running query must hold at most twice its reservation, because a server
// relies on it to run many of them.
func TestMemoryReserved(t *testing.T) {
	const queries, subjects = 8, 20_000
	var all []triple.Triple
	for i := range subjects {
		s := sparqltest.IRI(fmt.Sprint("s", i))
		all = append(all,
			triple.Triple{Subject: s, Predicate: sparqltest.IRI("p"), Object: triple.NewString(fmt.Sprint("value ", i))},
			triple.Triple{Subject: s, Predicate: sparqltest.IRI("next"), Object: sparqltest.IRI(fmt.Sprint("s", (7*i+1)%subjects))})
	}
	src := memsource.New(all)
	// 1. Queries whose memory is in operators, batches, values and a sort.
	chain, doubles := "", `BIND("xxxxxxxx" AS ?v0) `
	for i := range 60 {
		chain += fmt.Sprintf("?s%d ?p%d ?s%d . ", i, i, i+1)
	}
	for i := range 15 {
		doubles += fmt.Sprintf("BIND(CONCAT(?v%d,?v%[1]d) AS ?v%d) ", i, i+1)
	}
	for name, text := range map[string]string{
		"joins":  "SELECT * { " + chain + "}",
		"unions": "SELECT * { {}" + strings.Repeat(" UNION { ?s ?p ?o }", 2000) + " }",
		"values": "SELECT * { ?s ?p ?o " + doubles + "}",
		"sorted": "SELECT * { ?a <x:next> ?b . ?b <x:p> ?c } ORDER BY ?c",
	} {
		var reserved int64
		opts := sparql.Options{Options: exec.Options{Memory: 32 << 20, Spill: &sparqltest.Files{}, Reserve: func(bytes int64) error {
			reserved += bytes
			return nil
		}}}
		// 2. Run several up to their first row, and compare.
		before := heap()
		var stops []func()
		for range queries {
			result, err := sparql.Query(t.Context(), src, text, opts)
			if err != nil {
				t.Fatal(name, err)
			}
			next, stop := iter.Pull2(result.Rows())
			if _, err, ok := next(); !ok || err != nil {
				t.Fatal(name, ok, err)
			}
			stops = append(stops, func() { stop(); result.Close() })
		}
		held := heap() - before
		if least := queries * 128 << 10; held > 2*reserved+int64(least) {
			t.Errorf("%s: %d queries hold %d KiB and reserved %d KiB", name, queries, held>>10, reserved>>10)
		}
		for _, stop := range stops {
			stop()
		}
		if reserved != 0 {
			t.Errorf("%s: %d bytes are reserved after the end", name, reserved)
		}
	}
}

// TestWideRowsReserved: thousands of operators with one wide row each must reserve their batches one by
// one, because a row of each may take more memory than a server has.
func TestWideRowsReserved(t *testing.T) {
	const operators, limit = 3000, 64 << 20
	src := memsource.New(nil)
	for name, pattern := range map[string]string{
		"values":   "VALUES ?o%[1]d { %[1]d } ",
		"laterals": "LATERAL { VALUES ?o%[1]d { %[1]d } } ",
		"cross":    "{ VALUES ?o%[1]d { 1 2 } } ",
	} {
		text := ""
		for i := range operators {
			text += fmt.Sprintf(pattern, i)
		}
		// A row has 3000 bindings, so a row of each operator has more than 170 MiB.
		var reserved, most int64
		opts := sparql.Options{Options: exec.Options{Reserve: func(bytes int64) error {
			if most = max(most, bytes); reserved+bytes > limit {
				return sparql.ErrMemory
			}
			reserved += bytes
			return nil
		}}}
		result, err := sparql.Query(t.Context(), src, "SELECT (COUNT(*) AS ?n) { { SELECT * { "+text+"} LIMIT 1 } }", opts)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, err = range result.Rows() {
		}
		result.Close()
		if !errors.Is(err, sparql.ErrMemory) || most > limit || reserved != 0 {
			t.Errorf("%s: %v, with %d MiB in one reservation, and %d bytes after the end", name, err, most>>20, reserved)
		}
	}
}

// TestSmallBatches: an answer is complete even if each batch has room for one row only.
func TestSmallBatches(t *testing.T) {
	const branches = 300
	text := "SELECT * { {}" + strings.Repeat(" UNION { ?a <x:name> ?n . ?a <x:age> ?x }", branches) + " }"
	lines, _, err := sparqltest.Answer(t.Context(), sparqltest.People(10), text, sparql.Options{Options: exec.Options{Memory: 20 << 10}})
	if err != nil || len(lines) != 1+10*branches {
		t.Errorf("%d rows, want %d: %v", len(lines), 1+10*branches, err)
	}
}

// heap returns the used bytes of Go's heap.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the memory of finalizers and pools
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestPathsCount: lists of connected nodes must be counted while they are made.
func TestPathsCount(t *testing.T) {
	var all []triple.Triple
	for i := range 10_000 {
		all = append(all, triple.Triple{Subject: sparqltest.IRI(fmt.Sprint("s", i)), Predicate: sparqltest.IRI("type"), Object: sparqltest.IRI("Thing")})
	}
	src := memsource.New(all)
	for _, path := range []string{"(<x:type>/^<x:type>)+", "(<x:next>|(<x:type>/^<x:type>))+"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := drain(t.Context(), src, "SELECT * { <x:s0> "+path+" ?y }", sparql.Options{Options: exec.Options{Memory: 32 << 20}})
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, sparql.ErrMemory) || made > 200<<20 {
			t.Errorf("%s: %d MiB were allocated, %v", path, made>>20, err)
		}
	}
}

// TestBranchesForget: finished branches of a union must hold nothing large.
func TestBranchesForget(t *testing.T) {
	doubles := `BIND("xxxxxxxx" AS ?v0) `
	for i := range 14 {
		doubles += fmt.Sprintf("BIND(CONCAT(?v%d,?v%[1]d) AS ?v%d) ", i, i+1)
	}
	text := "SELECT ?v0 { {}" + strings.Repeat(" UNION { "+doubles+" FILTER(STRLEN(?v14) > 5) }", 200) + " }"
	result, err := sparql.Query(t.Context(), sparqltest.People(1), text, sparql.Options{})
	require.NoError(t, err)
	defer result.Close()
	next, stop := iter.Pull2(result.Rows())
	defer stop()
	before := heap()
	for range 200 {
		if _, err, ok := next(); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if held := heap() - before; held > 20<<20 {
		t.Errorf("200 branches hold %d MiB", held>>20)
	}
}

// TestOptionalProduct: an OPTIONAL linked by an equality only does not hold the product of its patterns.
func TestOptionalProduct(t *testing.T) {
	all := []triple.Triple{{Subject: sparqltest.IRI("s"), Predicate: sparqltest.IRI("p"), Object: triple.NewTyped("7", triple.XSDInteger)}}
	const n = 300
	for i := range n {
		number := triple.NewTyped(fmt.Sprint(i), triple.XSDInteger)
		s := sparqltest.IRI(fmt.Sprint("n", i))
		all = append(all, triple.Triple{Subject: s, Predicate: sparqltest.IRI("q"), Object: number}, triple.Triple{Subject: s, Predicate: sparqltest.IRI("r"), Object: number})
	}
	src := memsource.New(all)
	for _, src := range []sparql.Source{src, sparqltest.WithColumns(src)} {
		text := "SELECT * { <x:s> <x:p> ?a OPTIONAL { ?x <x:q> ?b . ?y <x:r> ?c FILTER(?a = ?b) } }"
		rows, plan, err := sparqltest.Count(context.Background(), src, text, sparql.Options{Options: exec.Options{Memory: 1 << 20}})
		if err != nil || rows != n {
			t.Errorf("%d rows, want %d, %v\n%s", rows, n, err, plan.Text(true))
		}
	}
}
