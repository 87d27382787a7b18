// Hostile queries: huge results, bombs, deep nesting, and cancellation at any point.

package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/expr/regex"
	"github.com/trefoildb/trefoil/triple"
)

// peak runs f and returns by how much the heap grew at most meanwhile.
func peak(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := int64(m.HeapAlloc)
	stop, most := make(chan struct{}), make(chan int64)
	go func() {
		top := before
		for ticker := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-ticker.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				top = max(top, int64(m.HeapAlloc))
			case <-stop:
				ticker.Stop()
				most <- top
				return
			}
		}
	}()
	f()
	close(stop)
	return <-most - before
}

// bomb runs a query to its end, an error, and demands that it takes little more
// than its time and memory.
func bomb(t *testing.T, e *Engine, text string, timeout time.Duration, memory int64) (n int, err error) {
	t.Helper()
	start := time.Now()
	grown := peak(func() {
		var q *Query
		if q, err = e.Prepare(t.Context(), text, Params{Timeout: timeout}); err != nil {
			return
		}
		var answer *Answer
		if answer, err = q.Run(t.Context()); err != nil {
			return
		}
		defer answer.Close()
		for _, err = range answer.Rows() {
			if err == nil {
				n++
			}
		}
	})
	if took := time.Since(start); took > timeout+5*time.Second {
		t.Errorf("%.80s: took %s, its limit was %s", text, took, timeout)
	}
	if grown > memory {
		t.Errorf("%.80s: took %d MiB, more than %d", text, grown>>20, memory>>20)
	}
	return n, err
}

// chain adds n triples <x:i> <x:p> i.
func chain(t *testing.T, db *store.Store, n int) {
	t.Helper()
	triples := make([]triple.Triple, n)
	for i := range triples {
		triples[i] = triple.Triple{
			Subject: triple.NewIRI(fmt.Sprintf("x:s%d", i)), Predicate: triple.NewIRI("x:p"),
			Object: triple.NewTyped(fmt.Sprint(i), triple.XSD+"integer"),
		}
	}
	if _, err := store.Add(t.Context(), db, triples); err != nil {
		t.Fatal(err)
	}
}

// clique adds n nodes each of which is linked to each other by <x:p>.
func clique(t *testing.T, db *store.Store, n int) {
	t.Helper()
	var triples []triple.Triple
	at := func(i int) triple.Term { return triple.NewIRI(fmt.Sprintf("x:n%d", i)) }
	for i := range n {
		for j := range n {
			triples = append(triples, triple.Triple{Subject: at(i), Predicate: triple.NewIRI("x:p"), Object: at(j)})
		}
	}
	if _, err := store.Add(t.Context(), db, triples); err != nil {
		t.Fatal(err)
	}
}

// The results of a cartesian product stream: ten million rows in flat memory.
func TestTenMillionRows(t *testing.T) {
	store := openStore(t)
	rows := 3200
	if testing.Short() {
		rows = 500 // one goroutine makes them all
	}
	chain(t, store, rows)
	n, err := bomb(t, newEngine(t, store, Options{}), `SELECT ?a ?b { ?a <x:p> ?x . ?b <x:p> ?y }`, time.Minute, 64<<20)
	if err != nil || n != rows*rows {
		t.Errorf("%d rows, %v", n, err)
	}
}

func TestBombs(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("it is of time and memory")
	}
	store := openStore(t)
	chain(t, store, 3000)
	// 32 MiB for the operators: what is counted is less than what is held.
	e := newEngine(t, store, Options{QueryMemory: 32 << 20})
	var unions, values, subqueries strings.Builder
	for i := range 10_000 {
		if i > 0 {
			unions.WriteString(" UNION ")
		}
		fmt.Fprintf(&unions, "{ <x:s%d> <x:p> ?o }", i)
	}
	for i := range 100_000 {
		fmt.Fprintf(&values, "(%d <x:v%d>)", i, i)
	}
	for range 200 {
		subqueries.WriteString("{ SELECT ?s { ")
	}
	subqueries.WriteString("?s <x:p> 1")
	subqueries.WriteString(strings.Repeat(" } }", 200))
	doublings := `SELECT ?v40 { BIND("aaaaaaaaaaaaaaaa" AS ?v0)`
	for i := range 40 {
		doublings += fmt.Sprintf(" BIND(CONCAT(?v%d, ?v%[1]d) AS ?v%d)", i, i+1)
	}
	doublings += "}"
	product := `?a <x:p> ?x . ?b <x:p> ?y . ?c <x:p> ?z`
	type kind []error
	for name, test := range map[string]struct {
		text string
		rows int
		want kind // one of them, or none
	}{
		"a product":                 {`SELECT * {` + product + `}`, -1, kind{ErrTimeout}},
		"a product that is counted": {`SELECT (COUNT(*) AS ?n) {` + product + `}`, -1, kind{ErrTimeout, nil}},
		"a product that is sorted":  {`SELECT * {` + product + `} ORDER BY ?z ?b`, -1, kind{ErrTimeout, sparql.ErrMemory}},
		"a product, distinct":       {`SELECT DISTINCT * {` + product + `}`, -1, kind{ErrTimeout, sparql.ErrMemory}},
		"a product, grouped":        {`SELECT ?a ?b (COUNT(*) AS ?n) {` + product + `} GROUP BY ?a ?b`, -1, kind{ErrTimeout, sparql.ErrMemory}},
		"a product that is tested":  {`SELECT * {` + product + ` FILTER(?x + ?y + ?z < 0) }`, -1, kind{ErrTimeout}},
		"a product of optionals":    {`SELECT * { OPTIONAL { ?a <x:p> ?x } OPTIONAL { ?b <x:p> ?y } OPTIONAL { ?c <x:p> ?z } }`, -1, kind{ErrTimeout}},
		"a product in MINUS":        {`SELECT * { ?q <x:p> ?r MINUS { ` + product + ` . ?q <x:q> ?r } }`, -1, kind{ErrTimeout, nil}},
		"a product in EXISTS":       {`SELECT * { ?q <x:p> ?r FILTER EXISTS { ` + product + ` FILTER(?x + ?y + ?z + ?r < 0) } }`, -1, kind{ErrTimeout}},
		"unions":                    {`SELECT ?o {` + unions.String() + `}`, 3000, nil},
		"values":                    {`SELECT * { VALUES (?o ?v) {` + values.String() + `} ?s <x:p> ?o }`, 3000, nil},
		"subqueries":                {`SELECT ?s {` + subqueries.String() + `}`, 1, nil},
		"doublings":                 {doublings, -1, kind{expr.ErrLimit, sparql.ErrMemory}},
		"doublings of many rows": {strings.Replace(doublings, "{ BIND(\"aaaaaaaaaaaaaaaa\" AS ?v0)", "{ ?s <x:p> ?o BIND(STR(?s) AS ?v0)", 1), -1,
			kind{expr.ErrLimit, sparql.ErrMemory}},
		"doublings to 4 MiB, sorted": {`SELECT ?t { ?s <x:p> ?o BIND(CONCAT(STR(?s), "aaaaaaaaaaaaaaaa") AS ?a)
			BIND(CONCAT(?a, ?a, ?a, ?a, ?a, ?a, ?a, ?a, ?a, ?a, ?a, ?a, ?a, ?a, ?a, ?a) AS ?b) BIND(CONCAT(?b, ?b, ?b, ?b, ?b, ?b, ?b, ?b, ?b, ?b, ?b, ?b, ?b, ?b, ?b, ?b) AS ?c)
			BIND(CONCAT(?c, ?c, ?c, ?c, ?c, ?c, ?c, ?c, ?c, ?c, ?c, ?c, ?c, ?c, ?c, ?c) AS ?d) BIND(CONCAT(?d, ?d, ?d, ?d, ?d, ?d, ?d, ?d, ?d, ?d, ?d, ?d, ?d, ?d, ?d, ?d) AS ?t) } ORDER BY ?t`,
			-1, kind{ErrTimeout, sparql.ErrMemory}},
		"GROUP_CONCAT":      {`SELECT (GROUP_CONCAT(?t) AS ?u) { ?s <x:p> ?o BIND("` + strings.Repeat("a", 10_000) + `" AS ?t) }`, -1, kind{expr.ErrLimit, sparql.ErrMemory}},
		"REPLACE":           {`SELECT ?t { BIND(REPLACE("aaaaaaaaaaaaaaaa", "a", "aaaaaaaaaaaaaaaa") AS ?a) BIND(REPLACE(?a, "a", ?a) AS ?b) BIND(REPLACE(?b, "a", ?a) AS ?c) BIND(REPLACE(?c, "a", ?c) AS ?t) }`, -1, kind{expr.ErrLimit, sparql.ErrMemory}},
		"a regex of a's":    {`SELECT ?s { ?s <x:p> ?o FILTER REGEX("` + strings.Repeat("a", 10_000) + `!", "^(a+)+$") }`, 0, nil},
		"a large regex":     {`SELECT ?s { ?s <x:p> ?o FILTER REGEX(STR(?s), "(a{1000}){1000}") }`, -1, kind{regex.ErrUnsupported}},
		"a long regex":      {`SELECT ?s { ?s <x:p> ?o FILTER REGEX(STR(?s), "` + strings.Repeat("(a|b)*", 2000) + `") }`, -1, kind{regex.ErrUnsupported}},
		"a regex of a row":  {`SELECT ?s { ?s <x:p> ?o FILTER REGEX("a", CONCAT("` + strings.Repeat("a{1000}", 30) + `", STR(?s))) }`, -1, kind{regex.ErrUnsupported}},
		"many large ones":   {`SELECT ?s { ?s <x:p> ?o FILTER REGEX("a", CONCAT("` + strings.Repeat("a{1000}", 15) + `", STR(?s))) }`, 0, kind{ErrTimeout, nil}},
		"a long expression": {`SELECT ?s { ?s <x:p> ?o FILTER(?o = 1` + strings.Repeat(" || ?o = 1", 20_000) + `) }`, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := 300 * time.Millisecond
			if test.want == nil {
				test.want = kind{nil}
			}
			if !slices.Contains(test.want, ErrTimeout) { // it is to end, however slow the machine is
				timeout = 20 * time.Second
			}
			n, err := bomb(t, e, test.text, timeout, 160<<20)
			for _, want := range test.want {
				if errors.Is(err, want) {
					if err == nil && test.rows >= 0 && n != test.rows {
						t.Errorf("%d rows, want %d", n, test.rows)
					}
					return
				}
			}
			t.Errorf("%d rows, %v", n, err)
		})
	}
}

// What nests too deep is refused where it does, with line and column.
func TestDeepNesting(t *testing.T) {
	e := newEngine(t, openStore(t), Options{})
	for name, text := range map[string]string{
		"groups":      "SELECT * {\n" + strings.Repeat("{", 100_000),
		"parentheses": "SELECT * {\nFILTER(" + strings.Repeat("(", 100_000),
		"paths":       "SELECT * {\n?s " + strings.Repeat("(", 100_000),
		"lists":       "SELECT * {\n" + strings.Repeat("(", 100_000),
		"blank nodes": "SELECT * {\n" + strings.Repeat("[ <x:p> ", 100_000),
		"not":         "SELECT * {\nFILTER(" + strings.Repeat("!", 1_000_000) + "?x) }",
		"exists":      "SELECT * {\n" + strings.Repeat("FILTER EXISTS {", 100_000),
		"optionals":   "SELECT * {\n" + strings.Repeat("OPTIONAL {", 100_000),
		"subqueries":  "SELECT * {\n" + strings.Repeat("{ SELECT * {", 100_000),
		"inverse":     "SELECT * {\n?s " + strings.Repeat("^", 1_000_000) + "<x:p> ?o }",
	} {
		_, err := e.Prepare(t.Context(), text, Params{})
		var syntax *triple.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != 2 || syntax.Column < 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Paths over a clique end, or run out of their time.
func TestPathBombs(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("it is of time and memory")
	}
	store := openStore(t)
	clique(t, store, 50)
	e := newEngine(t, store, Options{QueryMemory: 32 << 20})
	for path, rows := range map[string]int{
		"<x:p>*":                         50 * 50,
		"(<x:p>/<x:p>)*":                 50 * 50,
		"((<x:p>*)*)*":                   50 * 50,
		"((<x:p>+/<x:p>*)+|(<x:p>?)*)*":  50 * 50,
		"(<x:p>|<x:p>/<x:p>|^<x:p>)+":    50 * 50,
		"!(<x:q>|^<x:q>)":                2 * 50 * 50,
		"<x:p>/<x:p>/<x:p>/<x:p>/<x:p>":  -1, // 50^6 rows
		"(<x:p>|<x:p>)/(<x:p>|<x:p>)":    4 * 50 * 50 * 50,
		"(((<x:p>+)+/(<x:p>+)+)+/<x:p>)": 50 * 50 * 50,
	} {
		n, err := bomb(t, e, `SELECT ?a ?b { ?a `+path+` ?b }`, 500*time.Millisecond, 160<<20)
		if rows < 0 && !errors.Is(err, ErrTimeout) || rows >= 0 && !errors.Is(err, ErrTimeout) && (err != nil || n != rows) {
			t.Errorf("%s: %d rows, %v; want %d", path, n, err, rows)
		}
	}
}

// A query that is cancelled at any point leaves nothing: no goroutine, no file, no
// snapshot, so that the store closes at once.
func TestCancelled(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	db, err := store.Open(t.TempDir(), store.Options{CacheBytes: 8 << 20, MinFreeBytes: -1})
	require.NoError(t, err)
	chain(t, db, 2000)
	clique(t, db, 20)
	before := goleak.IgnoreCurrent()
	dir := t.TempDir()
	e := newEngine(t, db, Options{SpillDir: dir, QueryMemory: 4 << 20, MaxQueries: 4})
	queries := []string{
		`SELECT * { ?a <x:p> ?x . ?b <x:p> ?y }`,
		`SELECT * { ?a <x:p> ?x . ?b <x:p> ?y } ORDER BY ?y ?a`,
		`SELECT DISTINCT ?a ?y { ?a <x:p> ?x . ?b <x:p> ?y }`,
		`SELECT ?a ?b (SUM(?y) AS ?n) { ?a <x:p> ?x . ?b <x:p> ?y } GROUP BY ?a ?b`,
		`SELECT * { ?a <x:p>* ?b . ?b <x:p>+ ?c }`,
		`SELECT * { ?a <x:p> ?x OPTIONAL { ?b <x:p> ?y FILTER(?x < ?y) } FILTER NOT EXISTS { ?c <x:p> ?z FILTER(?z = ?x + 5000) } }`,
		`SELECT * { { SELECT ?x { ?a <x:p> ?x } ORDER BY DESC(?x) } { SELECT ?y { ?b <x:p> ?y } } MINUS { ?b <x:q> ?y } }`,
	}
	for i := range 60 {
		text := queries[i%len(queries)]
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.Int64N(int64(60*time.Millisecond))))
		abandon(t, e, ctx, cancel, text, random.IntN(3000), random.IntN(2) == 0)
		cancel()
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	goleak.VerifyNone(t, before)
	start := time.Now() // it would wait for snapshots
	if err := db.Close(); err != nil || time.Since(start) > 5*time.Second {
		t.Errorf("closing the store took %s: %v", time.Since(start), err)
	}
}

// abandon reads some rows, and then cancels the query or closes its answer.
func abandon(t *testing.T, e *Engine, ctx context.Context, cancel func(), text string, rows int, closes bool) {
	t.Helper()
	q, err := e.Prepare(t.Context(), text, Params{})
	require.NoError(t, err)
	allowed := func(err error) bool {
		return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sparql.ErrMemory)
	}
	answer, err := q.Run(ctx)
	if err != nil {
		if !allowed(err) {
			t.Errorf("%s: %v", text, err)
		}
		return
	}
	defer answer.Close()
	n := 0
	for _, err := range answer.Rows() {
		if err != nil {
			if !allowed(err) {
				t.Errorf("%s: %v", text, err)
			}
			return
		}
		if n++; n == rows {
			if closes {
				return
			}
			cancel()
		}
	}
}
