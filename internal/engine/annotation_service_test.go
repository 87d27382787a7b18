// Tests of SERVICE <urn:trefoil:annotations>: updates, deadlines and memory.

package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

const annotationPrefix = "PREFIX ann: <urn:trefoil:annotations#>\n"

// annotatedStore returns a store with triples x:0, x:1 and so on, one annotation of each.
func annotatedStore(t *testing.T, n, bytes int) *store.Store {
	t.Helper()
	db := openStore(t)
	var all []store.Annotated
	var triples []triple.Triple
	for i := range n {
		tr := triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:", i)), Predicate: triple.NewIRI("x:p"), Object: triple.NewString("o")}
		data, err := triple.AppendMedia(nil, "text/plain", []byte(strings.Repeat("v", bytes)+fmt.Sprint(i)))
		require.NoError(t, err)
		triples = append(triples, tr)
		all = append(all, store.Annotated{Triple: tr, Annotations: []store.Annotation{{ApplicationID: "app", Data: data}}})
	}
	if _, err := store.Add(t.Context(), db, triples); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, store.AnnotateAll(t.Context(), db, all))
	return db
}

// count runs a query and returns the number of its solutions.
func count(t *testing.T, e *Engine, text string, p Params, each func(n int)) (n int, err error) {
	t.Helper()
	q, err := e.Prepare(t.Context(), annotationPrefix+text, p)
	require.NoError(t, err)
	answer, err := q.Run(t.Context())
	if err != nil {
		return 0, err
	}
	defer answer.Close()
	for _, err := range answer.Rows() {
		if err != nil {
			return n, err
		}
		n++
		each(n)
	}
	return n, nil
}

// TestAnnotationServiceStreams checks that an answer of more than 64 MiB is never whole in memory,
// and that its query's deadline ends it.
func TestAnnotationServiceStreams(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	const n = 900
	e := newEngine(t, annotatedStore(t, n, 0), Options{QueryMemory: 16 << 20})
	const product = `SELECT ?x ?y { SERVICE <urn:trefoil:annotations> { ?a ann:subject ?x ; ann:object "o" . ?b ann:subject ?y ; ann:object "o" } }`
	before, most := live(), int64(0)
	rows, err := count(t, e, product, Params{}, func(n int) {
		if n%200_000 == 0 {
			most = max(most, live()-before)
		}
	})
	if err != nil || rows != n*n {
		t.Fatalf("%d solutions, %v", rows, err)
	}
	if most == 0 || most > 24<<20 {
		t.Errorf("the heap grew by %d MiB", most>>20)
	}
	if held := e.Held(); held != 0 {
		t.Errorf("%d bytes are held after the query", held)
	}
	third := strings.Replace(product, "} }", `. ?c ann:subject ?z ; ann:object "o" } }`, 1)
	begun := time.Now()
	if rows, err := count(t, e, third, Params{Timeout: 200 * time.Millisecond}, func(int) {}); !errors.Is(err, ErrTimeout) || time.Since(begun) > 10*time.Second {
		t.Errorf("%d solutions in %v, %v", rows, time.Since(begun), err)
	}
	// A reader that stops early leaves nothing held.
	if _, err := count(t, e, product+" LIMIT 3", Params{}, func(int) {}); err != nil || e.Held() != 0 {
		t.Errorf("%v, %d bytes are held", err, e.Held())
	}
}

// TestAnnotationServiceMemory checks that the annotations of a request are counted as the query's.
func TestAnnotationServiceMemory(t *testing.T) {
	db := annotatedStore(t, 60, 100_000)
	const all = `SELECT ?v { SERVICE <urn:trefoil:annotations> { ?a ann:value ?v } }`
	small := newEngine(t, db, Options{QueryMemory: 16 << 20, Memory: 16 << 20, MaxQueries: 1})
	if n, err := count(t, small, all, Params{}, func(int) {}); !errors.Is(err, ErrMemory) {
		t.Errorf("%d solutions, %v", n, err)
	}
	if held := small.Held(); held != 0 {
		t.Errorf("%d bytes are held after the query", held)
	}
	large := newEngine(t, db, Options{QueryMemory: 64 << 20, Memory: 256 << 20, MaxQueries: 1})
	most := int64(0)
	if n, err := count(t, large, all, Params{}, func(int) { most = max(most, large.Held()) }); err != nil || n != 60 || most < 40<<20 {
		t.Errorf("%d solutions, %v, at most %d bytes are held", n, err, most)
	}
	if held := large.Held(); held != 0 {
		t.Errorf("%d bytes are held after the query", held)
	}
}

// TestAnnotationServiceInUpdates changes triples by the annotations that they have.
func TestAnnotationServiceInUpdates(t *testing.T) {
	e := newEngine(t, annotatedStore(t, 20, 0), Options{})
	result, err := e.Update(t.Context(), annotationPrefix+`DELETE { ?s <x:p> "o" } INSERT { ?s <x:note> ?v }
		WHERE { ?s <x:p> "o" SERVICE <urn:trefoil:annotations> { ?n ann:subject ?s ; ann:value ?v FILTER(STRLEN(?v) = 2) } } ;
		INSERT { <x:all> <x:count> ?c } WHERE { { SELECT (COUNT(*) AS ?c) { SERVICE <urn:trefoil:annotations> { ?n ann:application "app" } } } }`, Params{})
	if err != nil || result != (UpdateResult{Added: 11, Deleted: 10}) {
		t.Fatalf("%+v, %v", result, err)
	}
	// The second operation sees the store as it was before the update, because annotations are no
	// triples.
	for query, want := range map[string]int{
		`SELECT * { ?s <x:note> ?v FILTER(STR(?s) = CONCAT("x:", ?v)) }`:              10,
		`SELECT * { <x:all> <x:count> 20 }`:                                           1,
		`SELECT * { SERVICE <urn:trefoil:annotations> { ?n ann:application "app" } }`: 10, // the others went with their triples
	} {
		if n, err := count(t, e, query, Params{}, func(int) {}); err != nil || n != want {
			t.Errorf("%s: %d, %v, want %d", query, n, err, want)
		}
	}
}
