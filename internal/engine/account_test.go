// The memory of queries against their limit.

package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// Of the test below.
const (
	allowed  = 8 << 20
	measured = 20                     // looks at the heap, for each query
	budget   = 600 * time.Millisecond // of each query
)

// doubling returns BINDs that double a string n times, from 8 bytes.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`BIND("xxxxxxxx" AS ?v0) `)
	for i := range n {
		fmt.Fprintf(&b, "BIND(CONCAT(?v%d,?v%[1]d) AS ?v%d) ", i, i+1)
	}
	return b.String()
}

// hungry are queries that would hold much, by the operator or function that does.
func hungry() map[string]string {
	long := `CONCAT(STR(?s), "` + strings.Repeat("x", 4000) + `")`
	wide, projected := "", ""
	for i := range 300 {
		wide += fmt.Sprintf("(COUNT(DISTINCT ?o) AS ?c%d) ", i)
		projected += fmt.Sprintf("(MD5(CONCAT(STR(?o),\"%d\")) AS ?c%[1]d) ", i)
	}
	texts := map[string]string{
		"order":            `SELECT * { ?s ?p ?o . ?t ?q ?u } ORDER BY ?u ?s`,
		"order large":      `SELECT * { ?s ?p ?o ` + doubling(14) + ` } ORDER BY ?v14 ?s`,
		"order huge":       `SELECT * { ?s ?p ?o ` + doubling(18) + ` } ORDER BY ?v18 ?s`,
		"order top":        `SELECT * { ?s ?p ?o . ?t ?q ?u } ORDER BY ?u ?s LIMIT 1000000`,
		"distinct":         `SELECT DISTINCT * { ?s ?p ?o . ?t ?q ?u }`,
		"distinct large":   `SELECT DISTINCT ?x { ?s ?p ?o BIND(` + long + ` AS ?x) }`,
		"count distinct":   `SELECT (COUNT(DISTINCT *) AS ?n) { ?s ?p ?o . ?t ?q ?u }`,
		"group":            `SELECT ?s ?u (COUNT(*) AS ?n) (SAMPLE(?t) AS ?x) { ?s ?p ?o . ?t ?q ?u } GROUP BY ?s ?u`,
		"group wide":       `SELECT ` + wide + `{ ?s ?p ?o } GROUP BY ?s`,
		"group min":        `SELECT ?s (MIN(?x) AS ?m) { ?s ?p ?o BIND(` + long + ` AS ?x) } GROUP BY ?s`,
		"group distinct":   `SELECT (SUM(DISTINCT ?y) AS ?n) { ?s ?p ?o . ?t ?q ?u BIND(STRLEN(STR(?s)) + ?u * 1.000001 AS ?y) }`,
		"group concat":     `SELECT (GROUP_CONCAT(?x) AS ?g) { ?s ?p ?o BIND(` + long + ` AS ?x) }`,
		"group concats":    `SELECT ?s (GROUP_CONCAT(?x) AS ?g) { ?s ?p ?o . ?t ?q ?u BIND(` + long + ` AS ?x) } GROUP BY ?s`,
		"project":          `SELECT ` + projected + `{ ?s ?p ?o } ORDER BY ?c5`,
		"extend":           `SELECT * { ?s ?p ?o ` + doubling(16) + ` FILTER(STRLEN(?v16) < 5) }`,
		"extend huge":      `SELECT (STRLEN(?v20) AS ?n) { ?s ?p ?o ` + doubling(20) + ` }`,
		"extend then join": `SELECT * { { SELECT ?s ?x { ?s ?p ?o BIND(` + long + ` AS ?x) } } { SELECT ?t ?x { ?t ?p ?o BIND(` + strings.ReplaceAll(long, "?s", "?t") + ` AS ?x) } } }`,
		"replace":          `SELECT (STRLEN(?y) AS ?n) { ?s ?p ?o BIND(REPLACE(` + long + `, "x", "yyyyyyyyyyyy") AS ?y) }`,
		"encode":           `SELECT (STRLEN(?y) AS ?n) { ?s ?p ?o BIND(ENCODE_FOR_URI(REPLACE(` + long + `, "x", "%%%")) AS ?y) }`,
		"case":             `SELECT (STRLEN(?y) AS ?n) { ?s ?p ?o BIND(UCASE(CONCAT(` + long + `, "ß")) AS ?y) }`,
		"minus":            `SELECT * { ?s ?p ?o MINUS { ?t ?q ?o . ?u ?r ?o } }`,
		"hash join":        `SELECT * { { SELECT * { ?s ?p ?o . ?t ?q ?u } } { SELECT ?o ?u { ?a ?b ?o . ?c ?d ?u } } }`,
		"left join":        `SELECT * { ?s ?p ?o OPTIONAL { SELECT * { ?t ?q ?o . ?a ?b ?c } } }`,
		"optionals":        `SELECT (COUNT(*) AS ?n) { ?s ?p ?o OPTIONAL { ?o1 ?p1 ?o } OPTIONAL { ?o2 ?p2 ?o } OPTIONAL { ?o3 ?p3 ?o } }`,
		"exists":           `SELECT * { ?s ?p ?o FILTER NOT EXISTS { ?t ?q ?u FILTER(?u = ?o && ?t != ?s) } }`,
		"path":             `SELECT * { ?s (<x:next>|^<x:next>)* ?o }`,
		"path count":       `SELECT (COUNT(*) AS ?n) { ?s (!<x:q>|^!<x:q>)+ ?o }`,
		"path sequence":    `SELECT (COUNT(*) AS ?n) { ?s !<x:q>/^!<x:q>/!<x:q>/^!<x:q>/!<x:q> ?o }`,
		"union":            `SELECT * { { ?s ?p ?o . ?t ?q ?u } UNION { ?t ?q ?u . ?s ?p ?o } } ORDER BY ?s ?t`,
		"product":          `SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }`,
		"reduced":          `SELECT REDUCED ?s ?t ?u { ?s ?p ?o . ?t ?q ?u }`,
		"subselect":        `SELECT * { { SELECT ?s ?t { ?s ?p ?o . ?t ?q ?u } ORDER BY ?o LIMIT 500000 } ?s ?p ?o }`,
		"construct":        `CONSTRUCT { ?s ?q ?u . ?t ?p ?o . _:b ?p ?x } { ?s ?p ?o . ?t ?q ?u BIND(` + long + ` AS ?x) }`,
		"describe":         `DESCRIBE ?s ?t { ?s ?p ?o . ?t ?q ?u }`,
	}
	var values strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&values, "(<x:s%d> %d) ", i, i)
	}
	texts["values"] = `SELECT * { VALUES (?s ?x) { ` + values.String() + ` } ?s ?p ?o }`
	return texts
}

// TestAccount: whatever a query does, it holds no more than twice its allowance, and ends
// right, in time, or with an error of memory. What it holds is looked at amid its run,
// after a collection.
func TestAccount(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("it is of time and memory")
	}
	store := openStore(t)
	chain(t, store, 3000)
	e := newEngine(t, store, Options{})
	update(t, e, `INSERT { ?s <x:next> ?t } WHERE { ?s <x:p> ?o BIND(IRI(CONCAT("x:s", STR(?o + 1))) AS ?t) }`)
	for name, text := range hungry() {
		t.Run(name, func(t *testing.T) {
			snapshot, err := store.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			defer snapshot.Close()
			before, most := live(), int64(0)
			begun, next, looks := time.Now(), time.Now(), 0
			check := func() error {
				now := time.Now()
				if now.Before(next) {
					return nil
				}
				if looks == measured || now.Sub(begun) > budget {
					return context.DeadlineExceeded
				}
				looks++
				most = max(most, live()-before)
				next = time.Now().Add(time.Duration(looks) * 5 * time.Millisecond)
				return nil
			}
			err = consume(snapshot.Source(), text, exec.Options{
				Memory: allowed, Check: check, Spill: spillDir{dir: t.TempDir()}, Uint64: func() uint64 { return 7 },
			})
			if err != nil && !errors.Is(err, sparql.ErrMemory) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, expr.ErrLimit) {
				t.Errorf("error %v", err)
			}
			if most > 2*allowed {
				t.Errorf("it held %d MiB of %d allowed (%d looks)", most>>20, allowed>>20, looks)
			}
			t.Logf("%d MiB, %d looks, %v", most>>20, looks, err)
		})
	}
}

// live returns how many bytes the heap holds.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// consume reads all that a query gives.
func consume(src sparql.Source, text string, opts exec.Options) error {
	result, err := sparql.Query(context.Background(), src, text, sparql.Options{Options: opts})
	if err != nil {
		return err
	}
	defer result.Close()
	if len(result.Vars) > 0 {
		for _, err := range result.Rows() {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, err := range result.Triples() {
		if err != nil {
			return err
		}
	}
	return nil
}
