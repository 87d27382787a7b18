// Queries and updates under limits: cancelled, slow, busy, too large.

package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server/problem"
	sparqlapi "github.com/trefoildb/trefoil/internal/server/sparql"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/expr/regex"
	"github.com/trefoildb/trefoil/sparql/update"
)

// bomb is a query with 10^9 solutions over many; counted gives one, at its end.
const (
	bomb    = `SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }`
	heavy   = `SELECT DISTINCT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }`
	sorted  = `SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?i`
	counted = `SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(?a != ?d || ?f != ?i) }`
)

// many is a thousand triples.
func many() string {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "<http://ex/s%d> <http://ex/p> <http://ex/o%d> .\n", i, i)
	}
	return b.String()
}

// TestQueryGone: a query whose client goes away ends at once, and leaves nothing
// (the store would not close over a snapshot, nor the tests end with a goroutine).
func TestQueryGone(t *testing.T) {
	s, _ := serveTriples(t, many(), Options{})
	tries := 0
	for i, query := range []string{bomb, counted, counted} {
		best := time.Hour
		for n := 0; n < 5 || n < 50 && best > 100*time.Millisecond; n++ { // the machine may be busy with something else
			tries++
			ctx, cancel := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/sparql", strings.NewReader(query))
			if i == 2 {
				r, err = http.NewRequestWithContext(ctx, "GET", s.url+target("/sparql", "query", query), nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", sparqlapi.TypeQuery)
			ended := make(chan error, 1)
			go func() {
				got, err := s.client.Do(r)
				if err == nil {
					_, err = io.Copy(io.Discard, got.Body)
					got.Body.Close()
				}
				ended <- err
			}()
			await.Condition(t, "the query to run", func() bool { return s.api.options.Engine.Running() == 1 })
			cancel()
			start := time.Now()
			s.idle()
			best = min(best, time.Since(start))
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the client got %v", err)
			}
		}
		if best > 100*time.Millisecond {
			t.Errorf("%s: ended %s after its client went", query, best)
		}
	}
	if text := s.get("/metrics").body; !strings.Contains(text, fmt.Sprintf(`trefoil_sparql_operations_total{form="select",outcome="client-gone"} %d`, tries)) {
		t.Error("not counted")
	}
}

func TestQueryTimeout(t *testing.T) {
	s, _ := serveTriples(t, many(), Options{})
	start := time.Now()
	got := s.ask(counted, "timeout", "50ms")
	got.wantError(t, 504, problem.KindQueryTimeout, "", "50ms")
	if got.header.Get("Retry-After") != "" {
		t.Error("asks for another try in vain")
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	s.ask(counted, "timeout", "0.05", "explain", "run").wantError(t, 504, problem.KindQueryTimeout, "", "50ms")

	// Where something was sent, the connection breaks: in no format is the rest
	// taken for an end. A slow machine takes longer until something is sent.
	queries := map[string]string{"json": bomb, "xml": bomb, "csv": bomb, "tsv": bomb,
		"nt": `CONSTRUCT { [] ?b ?c } ` + strings.TrimPrefix(bomb, "SELECT * ")}
	for format, query := range queries {
		for timeout := 100 * time.Millisecond; ; timeout *= 2 {
			got := s.ask(query, "timeout", timeout.String(), "format", format)
			if got.status == 504 && timeout < 10*time.Second {
				continue
			}
			if got.status != 200 || got.err == nil {
				t.Errorf("%s: %d, %d bytes, %v", format, got.status, len(got.body), got.err)
			}
			break
		}
	}
}

func TestQueryBusy(t *testing.T) {
	seed.Slow(t)
	store := newStore(t)
	addQuads(t, store, many())
	s := serve(t, store, Options{Engine: newEngine(t, store, engine.Options{MaxQueries: 1})}, ServerOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+target("/sparql", "query", heavy), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	// The client reads until the rows that the query has seen need a seat. Then the query waits to send more.
	await.Condition(t, "its seat", func() bool {
		if _, err := io.CopyN(io.Discard, got.Body, 64<<10); err != nil {
			t.Fatal(err)
		}
		_, seated := s.api.options.Engine.Turns().Live()
		return seated == 1
	})
	busy := s.ask(sorted, "timeout", "1s")
	busy.wantError(t, 503, problem.KindBusy, "", "1 hold much memory, which is the limit")
	if light := s.ask(`ASK {}`); light.status != 200 {
		t.Errorf("a light query beside: %d %s", light.status, light.body)
	}
	if busy.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After: %q", busy.header.Get("Retry-After"))
	}
	cancel()
	await.Condition(t, "its turn", func() bool { return s.ask(`ASK {}`).status == 200 })
}

func TestUpdateTooLarge(t *testing.T) {
	store := newStore(t)
	s := serve(t, store, Options{Engine: newEngine(t, store, engine.Options{UpdateMemory: 10_000})}, ServerOptions{})
	got := s.do("POST", "/sparql", "INSERT DATA {"+many()+"}", "Content-Type", sparqlapi.TypeUpdate)
	got.wantError(t, 413, problem.KindTooLarge, "", "10000 bytes")
	if n := s.tsv(`SELECT (COUNT(*) AS ?n) { ?s ?p ?o }`); n != "0\n" {
		t.Errorf("%s were added", n)
	}
}

// TestLongAnswer: what does not fit in a buffer comes whole, in pieces.
func TestLongAnswer(t *testing.T) {
	s, _ := serveTriples(t, many(), Options{})
	got := s.ask(`SELECT ?s ?o { ?s ?p ?o . ?a ?b ?c } LIMIT 50000`, "format", "tsv")
	if got.err != nil || strings.Count(got.body, "\n") != 50001 || got.header.Get("Content-Length") != "" {
		t.Errorf("%d lines, Content-Length %q, %v", strings.Count(got.body, "\n"), got.header.Get("Content-Length"), got.err)
	}
	got = s.ask(`CONSTRUCT { ?s ?b ?o } { ?s ?p ?o . ?a ?b ?c } LIMIT 50000`, "format", "nt")
	if got.err != nil || len(parseQuads(t, got.body)) < 50 {
		t.Errorf("%d bytes, %v", len(got.body), got.err)
	}
}

// TestQueryHTTP10: a long answer has no end that HTTP/1.0 could tell from a break.
func TestQueryHTTP10(t *testing.T) {
	s, _ := serveTriples(t, many(), Options{})
	for query, want := range map[string]string{`SELECT ?s { ?s ?p ?o } LIMIT 3`: "200", bomb: "505"} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /sparql?query=%s HTTP/1.0\r\n\r\n", url.QueryEscape(query))
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Errorf("%s: %s %v", query, line, err)
		}
		conn.Close()
	}
}

func TestSPARQLErrors(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
		kind   problem.Kind
	}{
		{engine.ErrTimeout, 504, problem.KindQueryTimeout},
		{engine.ErrBusy, 503, problem.KindBusy},
		{sparql.ErrMemory, 422, problem.KindQueryLimit},
		{sparql.ErrTooDeep, 422, problem.KindQueryLimit},
		{expr.ErrLimit, 422, problem.KindQueryLimit},
		{fmt.Errorf("%w: %w", expr.ErrCompile, regex.ErrUnsupported), 422, problem.KindQueryLimit},
		{sparql.ErrService, 403, problem.KindForbidden},
		{engine.ErrHost, 403, problem.KindForbidden},
		{engine.ErrNetwork, 502, problem.KindRemote},
		{engine.ErrUpdateMemory, 413, problem.KindTooLarge},
		{update.ErrDataset, 400, problem.KindBadRequest},
		{update.ErrNoGraph, 409, problem.KindConflict},
		{update.ErrLoad, 502, problem.KindRemote},
		// The more telling of two.
		{fmt.Errorf("%w: %w", update.ErrLoad, engine.ErrHost), 403, problem.KindForbidden},
		{fmt.Errorf("%w: %w", sparql.ErrService, engine.ErrNetwork), 502, problem.KindRemote},
		{fmt.Errorf("%w: %w", engine.ErrTimeout, store.ErrUnknown), 504, problem.KindUnknownOutcome},
	} {
		e := problem.As(fmt.Errorf("the query: %w", test.err))
		if e.Status() != test.status || e.Kind != test.kind || !strings.Contains(e.Message, "the query: ") {
			t.Errorf("%v: %d %v", test.err, e.Status(), e)
		}
	}
}
