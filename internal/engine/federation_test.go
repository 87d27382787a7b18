// Federation: one node queries another one by SERVICE and LOAD.

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/triple"
)

// newNode returns an engine over a store of its own, with data.
func newNode(t *testing.T, data string, opts engine.Options) (*engine.Engine, *store.Store) {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{CacheBytes: 8 << 20, MinFreeBytes: -1})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	e, err := engine.New(db, opts)
	require.NoError(t, err)
	if _, err := e.Update(t.Context(), "INSERT DATA {"+data+"}", engine.Params{}); err != nil {
		t.Fatal(err)
	}
	return e, db
}

// serveNode serves a node's endpoints on loopback and returns its host and port.
func serveNode(t *testing.T, e *engine.Engine, db *store.Store) string {
	t.Helper()
	api, err := server.New(db, server.Options{Engine: e})
	require.NoError(t, err)
	srv := httptest.NewServer(api)
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	require.NoError(t, err)
	return u.Host
}

func ask(ctx context.Context, e *engine.Engine, text string, p engine.Params) (lines []string, err error) {
	q, err := e.Prepare(ctx, text, p)
	if err != nil {
		return nil, err
	}
	answer, err := q.Run(ctx)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	for row, err := range answer.Rows() {
		if err != nil {
			return lines, err
		}
		var values []string
		for _, term := range row {
			values = append(values, term.Value())
		}
		lines = append(lines, strings.Join(values, "|"))
	}
	return lines, nil
}

// Two nodes, one of which asks the other in queries and updates, and loads a
// graph from it.
func TestFederation(t *testing.T) {
	// What would end a string, a group or a row of VALUES in the text that is sent.
	nasty := "a\"'\\\n} ) # <x:y> \u00e9\U0001F600 ''' \"\"\""
	quoted := triple.NewString(nasty).String()
	other, otherStore := newNode(t, `<x:a> <x:name> "Ada" . <x:b> <x:name> "Bob" . <x:n> <x:says> `+quoted+` . <x:blank> <x:name> _:b`, engine.Options{})
	host := serveNode(t, other, otherStore)
	e, _ := newNode(t, `<x:k> <x:knows> <x:a>, <x:b>, <x:c> . <x:quote> <x:says> `+quoted, engine.Options{AllowHosts: []string{host}})
	service := "http://" + host + "/sparql"

	for _, test := range []struct {
		text string
		want []string
	}{
		{`SELECT ?n { <x:k> <x:knows> ?p SERVICE <` + service + `> { ?p <x:name> ?n } } ORDER BY ?n`, []string{"Ada", "Bob"}},
		{`SELECT ?p ?n { <x:k> <x:knows> ?p OPTIONAL { SERVICE <` + service + `> { ?p <x:name> ?n } } } ORDER BY ?p`, []string{"x:a|Ada", "x:b|Bob", "x:c|"}},
		{`SELECT ?x { <x:quote> <x:says> ?t SERVICE <` + service + `> { ?x <x:says> ?t } }`, []string{"x:n"}},
		{`SELECT ?t { SERVICE <` + service + `> { <x:n> <x:says> ?t } }`, []string{nasty}},
		{`SELECT ?n { SERVICE SILENT <http://localhost/sparql> { ?p <x:name> ?n } }`, []string{""}},
	} {
		got, err := ask(t.Context(), e, test.text, engine.Params{})
		if err != nil || strings.Join(got, "\n") != strings.Join(test.want, "\n") {
			t.Errorf("%s: got %q, %v; want %q", test.text, got, err, test.want)
		}
	}

	update := `INSERT { ?p <x:called> ?n } WHERE { <x:k> <x:knows> ?p SERVICE <` + service + `> { ?p <x:name> ?n } } ;
		LOAD <http://` + host + `/data?default> INTO GRAPH <x:copy>`
	if result, err := e.Update(t.Context(), update, engine.Params{}); err != nil || result.Added != 6 {
		t.Errorf("got %+v, %v", result, err)
	}

	for endpoint, want := range map[string]error{
		"http://localhost/sparql":           engine.ErrHost,
		"http://169.254.169.254/":           engine.ErrHost,
		"file:///etc/passwd":                engine.ErrHost,
		"http://" + host + "/healthz?a":     engine.ErrNetwork,
		"http://" + host + "/sparql?update": engine.ErrNetwork,
	} {
		_, err := ask(t.Context(), e, `SELECT * { SERVICE <`+endpoint+`> { ?s ?p ?o } }`, engine.Params{})
		if !errors.Is(err, want) || strings.Count(err.Error(), "SERVICE") != 1 {
			t.Errorf("%s: %v, want %v", endpoint, err, want)
		}
	}
	// The other node is not asked where nothing is allowed.
	if _, err := ask(t.Context(), other, `SELECT * { SERVICE <`+service+`> { ?s ?p ?o } }`, engine.Params{}); !errors.Is(err, exec.ErrService) {
		t.Errorf("got %v", err)
	}
}

// An endpoint that stops in the middle of its answer makes an error of the query,
// never a short answer; one that sends without end is cut off with the query.
func TestFederationBroken(t *testing.T) {
	const head = `{"head":{"vars":["s"]},"results":{"bindings":[`
	row := `{"s":{"type":"uri","value":"x:s"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/sparql-results+json")
		io.WriteString(w, head+row)
		switch r.URL.Path {
		case "/short":
		case "/cut":
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, ","+row); err != nil {
					return
				}
			}
		}
	}))
	defer server.Close()
	e, _ := newNode(t, `<x:a> <x:b> <x:c>`, engine.Options{AllowHosts: []string{strings.TrimPrefix(server.URL, "http://")}})
	for path, timeout := range map[string]time.Duration{"/short": time.Minute, "/cut": time.Minute, "/endless": 100 * time.Millisecond} {
		lines, err := ask(t.Context(), e, fmt.Sprintf(`SELECT ?s { SERVICE <%s%s> { ?s ?p ?o } }`, server.URL, path), engine.Params{Timeout: timeout})
		if err == nil || path == "/endless" && !errors.Is(err, engine.ErrTimeout) {
			t.Errorf("%s: %d rows, %v", path, len(lines), err)
		}
	}
}
