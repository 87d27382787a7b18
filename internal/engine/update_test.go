// Updates, and the documents of LOAD.

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

func update(t *testing.T, e *Engine, text string) UpdateResult {
	t.Helper()
	result, err := e.Update(t.Context(), text, Params{})
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return result
}

// expect demands that a SELECT of one variable has these values, in order.
func expect(t *testing.T, e *Engine, text string, want ...string) {
	t.Helper()
	var got []string
	for _, row := range rows(t, e, text) {
		got = append(got, row[0].Value())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: got %q, want %q", text, got, want)
	}
}

func TestUpdate(t *testing.T) {
	e := newEngine(t, openStore(t), Options{})
	if got := update(t, e, `PREFIX : <http://e.x/> INSERT DATA { :a :p 1, 2 . GRAPH :g { :a :p 3 } }`); got != (UpdateResult{Added: 3}) {
		t.Errorf("got %+v", got)
	}
	// Each operation sees what those before it did; one is there already.
	got := update(t, e, `PREFIX : <http://e.x/>
		INSERT DATA { :a :p 2, 4 } ;
		DELETE { :a :p ?n } INSERT { :b :p ?n } WHERE { :a :p ?n FILTER(?n > 1) } ;
		CLEAR GRAPH :g`)
	if got != (UpdateResult{Added: 2, Deleted: 2}) {
		t.Errorf("got %+v", got)
	}
	expect(t, e, `SELECT ?n { <http://e.x/a> ?p ?n } ORDER BY ?n`, "1")
	expect(t, e, `SELECT ?n { <http://e.x/b> ?p ?n } ORDER BY ?n`, "2", "4")
	expect(t, e, `SELECT ?n { GRAPH ?g { ?s ?p ?n } }`)
	if got := update(t, e, `DROP ALL`); got.Deleted != 3 {
		t.Errorf("got %+v", got)
	}
	expect(t, e, `SELECT ?s { ?s ?p ?o }`)
}

// An update with an error changes nothing.
func TestUpdateErrors(t *testing.T) {
	store := openStore(t)
	e := newEngine(t, store, Options{UpdateMemory: 1 << 20})
	update(t, e, `INSERT DATA { <http://e.x/a> <http://e.x/p> 1 }`)
	var large strings.Builder
	large.WriteString("CLEAR ALL; INSERT DATA {")
	for i := range 10_000 {
		fmt.Fprintf(&large, "<http://e.x/a> <http://e.x/p> %d .\n", i)
	}
	large.WriteString("}")
	var values strings.Builder
	for i := range 100 {
		fmt.Fprintf(&values, " %d", i)
	}
	explode := fmt.Sprintf(`INSERT { ?a ?p ?x } WHERE { ?a ?p ?one VALUES ?i {%[1]s} VALUES ?j {%[1]s} BIND(?i * 100 + ?j AS ?x) }`, values.String())
	var syntax *triple.SyntaxError
	for _, test := range []struct {
		text string
		want func(error) bool
	}{
		{large.String(), is(ErrUpdateMemory)},
		{explode, is(ErrUpdateMemory)},
		{"CLEAR ALL; CREATE GRAPH <http://e.x/g>; CREATE", func(err error) bool { return errors.As(err, &syntax) && syntax.Line == 1 }},
		{"DELETE WHERE { ?s ?p ?o }; COPY <http://e.x/none> TO <http://e.x/g>", is(sparql.ErrNoGraph)},
		{"CLEAR ALL; LOAD <http://e.x/a.ttl>", is(sparql.ErrLoad)},
		{"CLEAR ALL; INSERT { ?s ?p ?o } WHERE { SERVICE <http://e.x/sparql> { ?s ?p ?o } }", is(sparql.ErrService)},
	} {
		if _, err := e.Update(t.Context(), test.text, Params{}); err == nil || !test.want(err) {
			t.Errorf("%.60s: %v", test.text, err)
		}
		expect(t, e, `SELECT ?o { ?s ?p ?o }`, "1")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Update(cancelled, "CLEAR ALL", Params{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := e.Update(t.Context(), "CLEAR ALL", Params{Timeout: time.Nanosecond}); !errors.Is(err, ErrTimeout) && !errors.Is(err, ErrBusy) {
		t.Errorf("out of time: %v", err)
	}
	product := `DELETE { ?a ?p ?o } WHERE { ?a ?p ?o `
	for i := range 6 {
		product += fmt.Sprintf("VALUES ?v%d {%s} ", i, values.String())
	}
	if _, err := e.Update(t.Context(), product+"}", Params{Timeout: 50 * time.Millisecond}); !errors.Is(err, ErrTimeout) {
		t.Errorf("out of time in WHERE: %v", err)
	}
	expect(t, e, `SELECT ?o { ?s ?p ?o }`, "1")
}

func is(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	for _, readOnly := range []bool{false, true} {
		db, err := store.Open(dir, store.Options{ReadOnly: readOnly, CacheBytes: 8 << 20, MinFreeBytes: -1})
		if err != nil {
			t.Fatal(err)
		}
		e := newEngine(t, db, Options{ReadOnly: readOnly})
		_, err = e.Update(t.Context(), "INSERT DATA { <x:a> <x:b> <x:c> }", Params{})
		if readOnly != errors.Is(err, store.ErrReadOnly) || e.Features().Update == readOnly {
			t.Errorf("read-only %v: %v, %+v", readOnly, err, e.Features())
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Concurrent updates never lose each other.
func TestConcurrentIncrements(t *testing.T) {
	const writers, each = 8, 25
	e := newEngine(t, openStore(t), Options{MaxQueries: 4})
	update(t, e, `INSERT DATA { <x:counter> <x:is> 0 }`)
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range each {
				result, err := e.Update(t.Context(), `DELETE { ?c ?p ?n } INSERT { ?c ?p ?m } WHERE { ?c ?p ?n BIND(?n + 1 AS ?m) }`, Params{})
				if err != nil || result != (UpdateResult{1, 1}) {
					t.Errorf("%+v, %v", result, err)
					return
				}
			}
		})
	}
	group.Wait()
	expect(t, e, `SELECT ?n { <x:counter> <x:is> ?n }`, fmt.Sprint(writers*each))
}

func TestLoad(t *testing.T) {
	u := remote(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/graph":
			w.Header().Set("Content-Type", "text/turtle")
			io.WriteString(w, "_:x <#knows> _:y . _:y <#knows> _:x .")
		case "/bad":
			w.Header().Set("Content-Type", "text/turtle")
			io.WriteString(w, "<a> <b> <c> .\n<a> <b> .\n")
		default:
			http.NotFound(w, r)
		}
	})
	store, dir := openStore(t), t.TempDir()
	e := newEngine(t, store, Options{AllowHosts: []string{u.Host}, SpillDir: dir})
	if !e.Features().Federation || !e.Features().Dereference || newEngine(t, store, Options{}).Features().Federation {
		t.Error("wrong features")
	}
	base := u.String()
	// Twice in one request, and once more: blank nodes are never the same.
	update(t, e, fmt.Sprintf("LOAD <%s/graph>; LOAD <%[1]s/graph> INTO GRAPH <x:g>; LOAD <%[1]s/graph> INTO GRAPH <x:g>", base))
	if got := update(t, e, fmt.Sprintf("LOAD <%s/graph>", base)); got.Added != 2 {
		t.Errorf("got %+v", got)
	}
	expect(t, e, `SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s ?p ?o }`, "4")
	expect(t, e, `SELECT (COUNT(DISTINCT ?s) AS ?n) { { ?s ?p ?o } UNION { GRAPH <x:g> { ?s ?p ?o } } }`, "8")
	expect(t, e, `SELECT DISTINCT ?p { ?s ?p ?o }`, base+"/graph#knows")

	var syntax *triple.SyntaxError
	_, err := e.Update(t.Context(), fmt.Sprintf("CLEAR ALL; LOAD <%s/bad>", base), Params{})
	if !errors.As(err, &syntax) || syntax.Line != 2 || syntax.Source != base+"/bad" || !errors.Is(err, sparql.ErrLoad) {
		t.Errorf("got %v", err)
	}
	_, err = e.Update(t.Context(), fmt.Sprintf("LOAD <%s/missing>", base), Params{})
	if !errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), base+"/missing") {
		t.Errorf("got %v", err)
	}
	for _, refused := range []string{"http://localhost/", "http://169.254.169.254/latest/meta-data/", "file:///etc/passwd", "http://[::1]/"} {
		if _, err := e.Update(t.Context(), "LOAD <"+refused+">", Params{}); !errors.Is(err, ErrHost) {
			t.Errorf("%s: %v", refused, err)
		}
	}
	got := update(t, e, fmt.Sprintf(`LOAD SILENT <%s/bad>; LOAD SILENT <%[1]s/missing>; LOAD SILENT <file:///etc/passwd>; INSERT DATA { <x:a> <x:b> <x:c> }`, base))
	if got != (UpdateResult{Added: 1}) {
		t.Errorf("silent: %+v", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// LOAD SILENT is not silent on the end of the request, and a server that LOAD
// waits for holds up no other update.
func TestSlowLoad(t *testing.T) {
	asked := make(chan struct{})
	u := remote(t, func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	e := newEngine(t, openStore(t), Options{AllowHosts: []string{u.Host}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := e.Update(ctx, "LOAD SILENT <"+u.String()+">", Params{})
		ended <- err
	}()
	<-asked
	update(t, e, "INSERT DATA { <x:a> <x:b> <x:c> }")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestKeepSystemGraph checks that only its name clears the system graph, whose triples remember
// subscriptions and functions.
func TestKeepSystemGraph(t *testing.T) {
	e := newEngine(t, openStore(t), Options{})
	const insert = `PREFIX : <http://e.x/> INSERT DATA { :a :p 1 . GRAPH :g { :a :p 2 } GRAPH <urn:trefoil:system> { :a :p 3 } }`
	const all = `SELECT ?n { { ?s ?p ?n } UNION { GRAPH ?g { ?s ?p ?n } } } ORDER BY ?n`
	for _, c := range []struct {
		text string
		want []string
	}{
		{`CLEAR ALL`, []string{"3"}},
		{`DROP ALL ; INSERT DATA { <http://e.x/a> <http://e.x/p> 4 }`, []string{"3", "4"}},
		{`INSERT DATA { GRAPH <http://e.x/new> { <http://e.x/a> <http://e.x/p> 5 } } ; CLEAR ALL`, []string{"3"}},
		{`CLEAR NAMED`, []string{"1", "3"}},
		{`CLEAR GRAPH <urn:trefoil:system> ; CLEAR ALL`, nil},
	} {
		update(t, e, insert)
		update(t, e, c.text)
		expect(t, e, all, c.want...)
	}
}
