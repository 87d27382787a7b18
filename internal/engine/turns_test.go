// Long queries do not delay point queries and updates.

package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
)

// product is a query that does not end in the time of any test, and holds little.
const product = `SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n1 ?o FILTER(?c != ?f || ?i != ?l) }`

// besides runs n of a query, of one client, until the returned function is called.
func besides(t *testing.T, e *Engine, n int, text string) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			q, err := e.Prepare(ctx, text, Params{Client: "192.0.2.1"})
			if err != nil {
				return
			}
			answer, err := q.Run(ctx)
			if err != nil {
				return
			}
			defer answer.Close()
			for range answer.Rows() {
			}
		})
	}
	for e.Running() < n {
		time.Sleep(time.Millisecond)
	}
	return func() { cancel(); all.Wait() }
}

// TestPointQueriesBesideProducts: more long queries than processors and seats do not hold
// up short ones, of the same client or another.
func TestPointQueriesBesideProducts(t *testing.T) {
	store := openStore(t)
	chain(t, store, 2000)
	e := newEngine(t, store, Options{})
	defer besides(t, e, 40, product)()
	for _, client := range []string{"192.0.2.1", "192.0.2.2"} {
		var took []time.Duration
		for range 50 {
			begun := time.Now()
			if _, err := tryRows(t, e, `SELECT ?o { <x:s7> <x:p> ?o }`, Params{Client: client}); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		if took[25] > 100*time.Millisecond || took[49] > 5*time.Second {
			t.Errorf("a point query of %s took %s, at most %s", client, took[25], took[49])
		}
	}
}

// TestUpdateBesideProducts: an update is carried out while long queries have all seats.
func TestUpdateBesideProducts(t *testing.T) {
	store := openStore(t)
	chain(t, store, 2000)
	e := newEngine(t, store, Options{MaxQueries: 2})
	defer besides(t, e, 20, `SELECT DISTINCT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }`)()
	begun := time.Now()
	update(t, e, `INSERT { ?s <x:q> ?o } WHERE { ?s <x:p> ?o }`)
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestTrees: what the tree of a long text takes is of the memory of all queries, and a
// text with a larger one is refused.
func TestTrees(t *testing.T) {
	store := openStore(t)
	chain(t, store, 10)
	e := newEngine(t, store, Options{Memory: 128 << 20})
	q, err := e.Prepare(t.Context(), `SELECT * { ?s ?p ?o FILTER(?o NOT IN (`+strings.Repeat("1,", 90_000)+`1)) }`, Params{})
	require.NoError(t, err)
	a, err := q.Run(t.Context())
	require.NoError(t, err)
	if held := e.Held(); held < 20<<20 {
		t.Errorf("a tree of 90,000 expressions counts as %d bytes", held)
	}
	a.Close()
	small := newEngine(t, store, Options{Memory: 16 << 20})
	if _, err := small.Prepare(t.Context(), `SELECT * { ?s ?p ?o FILTER(?o NOT IN (`+strings.Repeat("1,", 90_000)+`1)) }`, Params{}); !errors.Is(err, ErrMemory) {
		t.Errorf("a tree of as many in 16 MiB: %v", err)
	}
	if held := e.Held() + small.Held(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

// TestSpentPool: a query that holds little takes a seat, and the memory of it, if others hold all
// that is shared.
func TestSpentPool(t *testing.T) {
	store := openStore(t)
	chain(t, store, 3000)
	e := newEngine(t, store, Options{Memory: 24 << 20, MaxQueries: 2})
	others := e.pool.free.Load()
	if !e.pool.take(others) {
		t.Fatal("the shared half is not free")
	}
	rows, err := tryRows(t, e, `SELECT ?o { ?s <x:p> ?o . ?t <x:p> ?u FILTER(?u < 40) } ORDER BY ?o ?u`, Params{})
	if err != nil || len(rows) != 3000*40 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if held, free := e.Held(), e.pool.free.Load(); held != 0 || free != 0 {
		t.Errorf("%d bytes are held, %d free", held, free)
	}
}

// TestPool: queries that together need more than all may hold end right, with temporary
// files, or as busy; and nothing stays counted.
func TestPool(t *testing.T) {
	store := openStore(t)
	chain(t, store, 3000)
	e := newEngine(t, store, Options{QueryMemory: 64 << 20, Memory: 24 << 20, MaxQueries: 4})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			text := `SELECT ?o { ?s <x:p> ?o . ?t <x:p> ?u FILTER(?u < 40) } ORDER BY ?o ?u`
			want := 3000 * 40
			if i%2 == 1 { // which cannot do with files
				text = `SELECT (GROUP_CONCAT(?v) AS ?g) { ?s <x:p> ?o BIND(CONCAT(STR(?s), "` + strings.Repeat("x", 3000) + `") AS ?v) }`
				want = 1
			}
			rows, err := tryRows(t, e, text, Params{})
			if err == nil && len(rows) != want || err != nil && (i%2 == 0 || !errors.Is(err, ErrMemory) || !errors.Is(err, sparql.ErrMemory)) {
				t.Errorf("%.60s: %d rows, %v", text, len(rows), err)
			}
			if held := e.Held(); held > 24<<20 {
				t.Errorf("they hold %d bytes", held)
			}
		})
	}
	all.Wait()
	if held, free := e.Held(), e.pool.free.Load(); held != 0 || free != 24<<20-5*e.pool.part {
		t.Errorf("%d bytes are held, %d free", held, free)
	}
}
