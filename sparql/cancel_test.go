// A query must end soon if its context is cancelled, at whichever read.

package sparql_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
)

// countdown is a context that ends after a number of looks at it.
type countdown struct {
	context.Context
	left, after int
}

func (c *countdown) Err() error {
	if c.left == 0 {
		c.after++
		return context.Canceled
	}
	c.left--
	return nil
}

// drain reads a result of any form to its end.
func drain(ctx context.Context, src sparql.Source, text string, opts sparql.Options) error {
	result, err := sparql.Query(ctx, src, text, opts)
	if err != nil {
		return err
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
	return err
}

// TestCancelledAnywhere: a query whose context ends ends with it, whatever it was
// about, having looked at it a few times more at most, and leaves no file.
func TestCancelledAnywhere(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 2))
	crowd := sparqltest.Crowd(random.IntN, 300)
	queries := []string{
		`SELECT * { ?a <x:knows>+ ?b } LIMIT 100000`,
		`SELECT ?a (COUNT(*) AS ?n) { ?a (<x:knows>|^<x:knows>)* ?b } GROUP BY ?a LIMIT 3`,
		`SELECT * { ?a <x:age> ?x . ?b <x:age> ?y FILTER(?x + ?y = 98) }`,
		`SELECT * { ?a <x:name> ?n FILTER(REGEX(?n, "(long )*1")) }`,
		`CONSTRUCT { ?a <x:older> ?b } { ?a <x:age> ?x . ?b <x:age> ?y FILTER(?x = 49 && ?y = 1) }`,
		`DESCRIBE ?a { ?a <x:age> ?x }`,
		`SELECT * { ?a <x:age> ?x LATERAL { SELECT ?x ?b { ?b <x:age> ?x } ORDER BY ?b LIMIT 2 } }`,
		`SELECT * { ?a <x:age> ?x LATERAL { ?b <x:age> ?x } }`,
		`SELECT * { ?a <x:age> ?x FILTER EXISTS { SELECT (COUNT(*) AS ?n) { ?b <x:age> ?x } HAVING(COUNT(*) > 2) } }`,
		`ASK { ?a <x:age> ?x . ?b <x:age> ?y FILTER(?x + ?y = 980) }`,
		`SELECT (COUNT(*) AS ?n) { VALUES ?a { 1 2 3 } VALUES ?b { 1 2 3 } ?c <x:age> ?x . ?d <x:age> 1 }`,
		`SELECT * { ?a <x:name> ?n MINUS { ?b <x:age> ?x . ?a <x:age> ?x FILTER(?x < 20) } }`,
		`SELECT * { ?a <x:age> ?x OPTIONAL { ?b <x:age> ?x . ?b <x:knows> ?k FILTER(?k = ?a) } }`,
		`SELECT (COUNT(*) AS ?n) { { ?a <x:age> ?x . ?b <x:age> ?x } UNION { ?a <x:knows> ?c . ?c <x:knows> ?b } }`,
	}
	for _, test := range sparqltest.Spilling {
		queries = append(queries, test.Query)
	}
	for _, query := range queries {
		for _, kind := range []struct {
			name   string
			src    sparql.Source
			memory int64
		}{{"rows", crowd, 0}, {"rows", crowd, 20 << 10}, {"columns", sparqltest.WithColumns(crowd), 0}} {
			src, memory := kind.src, kind.memory
			disk := &sparqltest.Files{}
			opts := sparql.Options{Options: exec.Options{Memory: memory, Spill: disk}}
			const plenty = 1 << 40
			all := &countdown{Context: context.Background(), left: plenty}
			if err := drain(all, src, query, opts); err != nil {
				if errors.Is(err, sparql.ErrMemory) {
					continue
				}
				t.Fatalf("%s: %v", query, err)
			}
			looks := plenty - all.left
			for range 4 {
				ctx := &countdown{Context: context.Background(), left: random.IntN(looks)}
				at := ctx.left
				if err := drain(ctx, src, query, opts); !errors.Is(err, context.Canceled) {
					t.Errorf("seed %d: %s over %s: cancelled at look %d of %d: %v", seed, query, kind.name, at, looks, err)
				}
				if ctx.after > 20 {
					t.Errorf("seed %d: %s over %s: cancelled at look %d of %d, and looked %d times more", seed, query, kind.name, at, looks, ctx.after)
				}
				if disk.Open != 0 {
					t.Errorf("seed %d: %s over %s: %d files are left", seed, query, kind.name, disk.Open)
				}
			}
		}
	}
}

// BenchmarkStop: how long queries go on after they were cancelled in the middle of a long
// operation.
func BenchmarkStop(b *testing.B) {
	src := sparqltest.People(30_000)
	for _, bench := range []struct{ name, query string }{
		{"sort", `SELECT * { ?a <x:name> ?n . ?a <x:age> ?x . ?a <x:knows> ?k } ORDER BY DESC(?n)`},
		{"product", `SELECT (COUNT(*) AS ?n) { ?a <x:age> ?x . ?b <x:age> ?y . ?c <x:age> ?z }`},
		{"filter", `SELECT * { ?a <x:name> ?n . ?b <x:age> ?y FILTER(REGEX(?n, "(a*)*(b|1)*c$")) }`},
		{"regex", `SELECT * { ?a <x:name> ?n BIND(CONCAT(?n, ?n, ?n, ?n, ?n, ?n, ?n, ?n) AS ?m) BIND(REPLACE(CONCAT(?m, ?m, ?m, ?m, ?m, ?m, ?m), "(n|a)+", "x$1") AS ?o) }`},
		{"path", `SELECT (COUNT(*) AS ?n) { ?a (<x:knows>|^<x:knows>)* ?b }`},
		{"join", `SELECT (COUNT(*) AS ?n) { ?a <x:age> ?x . { SELECT ?x { ?b <x:age> ?x . ?b <x:name> ?n } } }`},
		{"group", `SELECT ?a ?b (COUNT(*) AS ?n) { ?a <x:age> ?x . ?b <x:age> ?x } GROUP BY ?a ?b`},
		{"concat", `SELECT ?x (GROUP_CONCAT(DISTINCT ?n) AS ?all) { ?a <x:age> ?x . ?b <x:name> ?n } GROUP BY ?x`},
		{"distinct", `SELECT DISTINCT ?a ?b { ?a <x:age> ?x . ?b <x:age> ?x }`},
		{"exists", `SELECT * { ?a <x:age> ?x FILTER NOT EXISTS { ?b <x:age> ?x . ?b <x:knows> ?a FILTER(?a = ?b) } }`},
		{"optional", `SELECT * { ?a <x:age> ?x OPTIONAL { ?b <x:age> ?x . ?b <x:name> ?n FILTER(?n = "none") } }`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			worst := time.Duration(0)
			for b.Loop() {
				ctx, cancel := context.WithCancel(context.Background())
				var at time.Time
				timer := time.AfterFunc(time.Duration(5+rand.IntN(60))*time.Millisecond, func() {
					at = time.Now()
					cancel()
				})
				err := drain(ctx, src, bench.query, sparql.Options{Options: exec.Options{Spill: &sparqltest.Files{}}})
				if ctx.Err() != nil {
					worst = max(worst, time.Since(at))
					if !errors.Is(err, context.Canceled) {
						b.Fatal(err)
					}
				}
				timer.Stop()
				cancel()
			}
			b.ReportMetric(float64(worst.Microseconds())/1000, "ms-to-stop")
		})
	}
}
