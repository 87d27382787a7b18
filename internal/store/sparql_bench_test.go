// Benchmarks of SPARQL queries over a store.

package store

import (
	"bytes"
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/explain"
)

// benchQueries are shapes of queries over the LUBM-like data.
var benchQueries = []struct{ name, text string }{
	{"scan", `SELECT ?s ?c { ?s ub:takesCourse ?c }`},
	{"join2", `SELECT ?s ?c ?d { ?s ub:takesCourse ?c . ?s ub:memberOf ?d }`},
	{"join2objects", `SELECT ?s ?t { ?s ub:takesCourse ?c . ?t ub:teacherOf ?c }`},
	{"star3", `SELECT ?s ?n ?e ?t { ?s ub:memberOf ?d . ?s ub:name ?n . ?s ub:emailAddress ?e }`},
	{"star4bound", `SELECT ?s ?n ?e ?t { ?s ub:memberOf <http://www.Department0.University0.edu> . ?s ub:name ?n . ?s ub:emailAddress ?e . ?s ub:telephone ?t }`},
	{"typestar", `SELECT ?s { ?s a ub:GraduateStudent . ?s ub:memberOf <http://www.Department0.University0.edu> . ?s ub:undergraduateDegreeFrom <http://www.University0.edu> }`},
	{"chain", `SELECT ?s ?p ?u { ?s ub:advisor ?p . ?p ub:worksFor ?d . ?d ub:subOrganizationOf ?u }`},
	{"chainbound", `SELECT ?n { <http://www.Department0.University0.edu/GraduateStudent1> ub:advisor ?p . ?p ub:worksFor ?d . ?d ub:name ?n }`},
	{"triangle2", `SELECT ?x ?y ?z { ?x a ub:GraduateStudent . ?y a ub:University . ?z a ub:Department . ?x ub:memberOf ?z . ?z ub:subOrganizationOf ?y . ?x ub:undergraduateDegreeFrom ?y }`},
	{"triangle9", `SELECT ?x ?y ?z { ?x ub:advisor ?y . ?y ub:teacherOf ?z . ?x ub:takesCourse ?z }`},
	{"groupcount", `SELECT ?d (COUNT(*) AS ?n) { ?s ub:memberOf ?d } GROUP BY ?d`},
	{"count", `SELECT (COUNT(*) AS ?n) { ?s ub:takesCourse ?c }`},
	{"countdistinct", `SELECT (COUNT(DISTINCT ?c) AS ?n) { ?s ub:takesCourse ?c }`},
	{"limit10", `SELECT ?s ?n { ?s ub:takesCourse ?c . ?s ub:name ?n } LIMIT 10`},
	{"agerange", `SELECT ?s ?a { ?s ub:age ?a FILTER(?a >= 30 && ?a < 35) }`},
	{"agerangejoin", `SELECT ?s ?a ?n { ?s ub:age ?a . ?s ub:name ?n FILTER(?a >= 30 && ?a < 35) }`},
	{"topk", `SELECT ?s ?b { ?s ub:birthDate ?b } ORDER BY DESC(?b) LIMIT 10`},
	{"topkjoin", `SELECT ?s ?b ?n { ?s ub:birthDate ?b . ?s ub:name ?n } ORDER BY DESC(?b) LIMIT 10`},
	{"notexists", `SELECT ?s { ?s ub:memberOf ?d FILTER NOT EXISTS { ?s ub:advisor ?p } }`},
	{"optional", `SELECT ?s ?p { ?s ub:memberOf ?d OPTIONAL { ?s ub:advisor ?p } }`},
	{"minus", `SELECT ?s { ?s ub:memberOf ?d MINUS { ?s ub:advisor ?p } }`},
	{"pathplus", `SELECT ?x { ?x ub:subOrganizationOf+ <http://www.University0.edu> }`},
	{"pathmany", `SELECT ?s ?o { ?s ub:memberOf ?d . ?d ub:subOrganizationOf* ?o }`},
	{"pathboth", `SELECT ?s { ?s a ub:ResearchGroup . ?s ub:subOrganizationOf+ <http://www.University0.edu> }`},
	{"ten", `SELECT * { ?x a ub:GraduateStudent . ?z a ub:Department . ?x ub:memberOf ?z . ?z ub:subOrganizationOf ?y . ?x ub:undergraduateDegreeFrom ?y . ?x ub:advisor ?p . ?p ub:teacherOf ?c . ?x ub:takesCourse ?c . ?p ub:name ?pn . ?c ub:name ?cn }`},
}

const benchPrefix = "PREFIX ub: <http://trefoil.example/onto/univ-bench.owl#>\n"

// openLUBM opens the data directory in TREFOIL_BENCH_DATA. If it is not set, it loads a million
// LUBM-like triples.
func openLUBM(t testing.TB) *Snapshot {
	t.Helper()
	var s *Store
	if dir := os.Getenv("TREFOIL_BENCH_DATA"); dir != "" {
		var err error
		if s, err = Open(dir, Options{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
	} else {
		s = openDisk(t, Options{})
		gen, err := dataset.New("lubm", 1, 1_000_000)
		require.NoError(t, err)
		var text bytes.Buffer
		if _, err := gen.Generate(ctx, &text); err != nil {
			t.Fatal(err)
		}
		doc := input.Document("lubm.nt", &text, int64(text.Len()), syntax.NTriples)
		if _, err := rdfload.Load(ctx, s.Sink(), []input.Source{doc}, rdfload.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	sn, err := s.Snapshot()
	require.NoError(t, err)
	t.Cleanup(func() { sn.Close() })
	return sn
}

// BenchmarkQuery runs each query to its end. rows/s are the rows of index scans, look-ups and
// joins.
func BenchmarkQuery(b *testing.B) {
	sn := openLUBM(b)
	for _, q := range benchQueries {
		b.Run(q.name, func(b *testing.B) {
			p, err := sparql.Prepare(benchPrefix+q.text, sparql.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var rows, joined, reads int64
			var plan *explain.Plan
			var planning []time.Duration
			for b.Loop() {
				start := time.Now()
				result, err := p.Run(context.Background(), sn.Source())
				if err != nil {
					b.Fatal(err)
				}
				planning = append(planning, time.Since(start))
				rows = 0
				for _, err := range result.Rows() {
					if err != nil {
						b.Fatal(err)
					}
					rows++
				}
				plan = result.Plan()
				joined, reads = intermediate(plan), plan.TotalReads()
			}
			slices.Sort(planning)
			b.ReportMetric(float64(rows), "solutions")
			b.ReportMetric(float64(reads), "reads")
			b.ReportMetric(float64(joined)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
			b.ReportMetric(float64(planning[len(planning)/2].Microseconds()), "plan-us")
			if os.Getenv("TREFOIL_BENCH_PLANS") != "" {
				b.Log("\n" + plan.Text(true))
			}
		})
	}
}

// intermediate returns the number of rows of a plan's patterns and joins.
func intermediate(p *explain.Plan) int64 {
	n := int64(0)
	switch p.Operator {
	case "project", "slice", "group":
	default:
		n = p.Rows
	}
	for _, in := range p.Inputs {
		n += intermediate(in)
	}
	return n
}

// firstRowQueries are joins whose first row needs few reads.
var firstRowQueries = []struct{ name, text string }{
	{"ask/join", `ASK { ?d a ub:Department . ?s ub:memberOf ?d . ?s ub:name ?n }`},
	{"ask/colleagues", `ASK { ?x a ub:UndergraduateStudent . ?x ub:memberOf ?d . ?y ub:memberOf ?d . ?y ub:name ?n }`},
	{"ask/classmates", `ASK { ?x ub:takesCourse ?c . ?y ub:takesCourse ?c . ?y ub:advisor ?p . ?p ub:teacherOf ?c2 . ?z ub:takesCourse ?c2 }`},
	{"ask/optional", `ASK { ?d a ub:Department . ?s ub:memberOf ?d OPTIONAL { ?t ub:worksFor ?d . ?t ub:teacherOf ?c } }`},
	{"ask/notexists", `ASK { ?x ub:memberOf ?d . ?y ub:memberOf ?d FILTER NOT EXISTS { ?x ub:headOf ?d } }`},
	{"ask/union", `ASK { ?d a ub:Department { ?s ub:memberOf ?d } UNION { ?s ub:worksFor ?d } ?s ub:name ?n }`},
	{"ask/types", `ASK { ?d a ub:Department . ?u a ub:University . ?d ub:subOrganizationOf ?u . ?s ub:memberOf ?d }`},
	{"ask/hub", `ASK { ?x a ?c . ?y a ?c . ?y ub:name ?n }`},
	{"limit/hub", `SELECT ?n { ?x a ?c . ?y a ?c . ?y ub:name ?n } LIMIT 3`},
	{"limit/filter", `SELECT ?n { ?x ub:memberOf ?d . ?y ub:memberOf ?d . ?y ub:name ?n FILTER(?x != ?y) } LIMIT 3`},
	{"limit/distinct", `SELECT DISTINCT ?d { ?x ub:memberOf ?d . ?y ub:memberOf ?d . ?y ub:name ?n } LIMIT 3`},
	{"stream/join", `SELECT ?s ?n { ?d a ub:Department . ?s ub:memberOf ?d . ?s ub:name ?n }`},
	{"stream/colleagues", `SELECT ?n { ?x a ub:UndergraduateStudent . ?x ub:memberOf ?d . ?y ub:memberOf ?d . ?y ub:name ?n }`},
	{"stream/scan", `SELECT ?s ?c { ?s ub:takesCourse ?c }`},
}

// BenchmarkFirstRow runs each query up to its first row. reads are rows of the store.
func BenchmarkFirstRow(b *testing.B) {
	sn := openLUBM(b)
	for _, q := range firstRowQueries {
		b.Run(q.name, func(b *testing.B) {
			p, err := sparql.Prepare(benchPrefix+q.text, sparql.Options{})
			if err != nil {
				b.Fatal(err)
			}
			var reads int64
			var planning time.Duration
			for b.Loop() {
				start := time.Now()
				result, err := p.Run(context.Background(), sn.Source())
				if err != nil {
					b.Fatal(err)
				}
				planning += time.Since(start)
				if result.Form == ast.Ask {
					if found, err := result.Boolean(); !found || err != nil {
						b.Fatal(found, err)
					}
				}
				for row, err := range result.Rows() {
					if row == nil || err != nil {
						b.Fatal(row, err)
					}
					break
				}
				reads = result.Plan().TotalReads()
			}
			b.ReportMetric(float64(reads), "reads")
			b.ReportMetric(float64(planning.Microseconds())/float64(b.N), "plan-µs")
		})
	}
}
