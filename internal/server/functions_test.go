// Tests of the endpoints of update functions.

package server

import (
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/functions"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/testing/await"
)

// serveFunctions serves a lone store with its functions.
func serveFunctions(t testing.TB, options Options) *testServer {
	t.Helper()
	db := newStore(t)
	service := functions.Open(functions.Options{Store: db, Feed: db.Feed()})
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	options.Text = newText(t, db)
	options.Functions, options.Collectors = service, append(options.Collectors, service)
	options.Engine = newEngine(t, service.Checked(), engine.Options{Links: linksOf(options.Links)})
	return serve(t, service.Checked(), options, ServerOptions{})
}

// wasm reads a module of the sandbox's tests.
func wasm(t testing.TB, name string) string {
	t.Helper()
	module, err := os.ReadFile("../functions/sandbox/testdata/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return string(module)
}

var wasmType = []string{"Content-Type", "application/wasm"}

func TestFunctions(t *testing.T) {
	s := serveFunctions(t, Options{})
	// 1. Register, run and look.
	put := target("/functions/counter", "p", "<http://example.org/likes>", "kinds", "add,delete", "timeout", "5000",
		"arguments", "<http://example.org/counter> <http://example.org/value> ?\n")
	if got := s.do(http.MethodPut, put, wasm(t, "counter"), wasmType...); got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	likes := "<http://e.x/a> <http://example.org/likes> <http://e.x/b> .\n<http://e.x/a> <http://example.org/likes> <http://e.x/c> .\n"
	if got := s.do(http.MethodPost, "/triples", likes, "Content-Type", "application/n-quads"); got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	await.Condition(t, "the counter", func() bool {
		return strings.Contains(s.get(target("/triples", "p", "<http://example.org/value>")).body, `"2"`)
	})
	var status functions.Status
	await.Condition(t, "the counts", func() bool {
		if err := json.Unmarshal([]byte(s.get("/functions/counter").body), &status); err != nil {
			t.Fatal(err)
		}
		return status.State.Counts.Calls == 2
	})
	if status.Name != "counter" || status.Pattern != "? <http://example.org/likes> ? ?" || !status.Running || len(status.Arguments) != 1 || status.Problem != "" {
		t.Errorf("%+v", status)
	}
	if got := s.get("/functions/counter", "Accept", "application/wasm"); got.body != wasm(t, "counter") {
		t.Errorf("the module has %d bytes", len(got.body))
	}
	// 2. A check rejects over HTTP, in SPARQL too.
	s.do(http.MethodPut, target("/functions/ages", "p", "<http://example.org/age>", "mode", "check", "timeout", "5000"), wasm(t, "schema"), wasmType...)
	const old = "<http://e.x/a> <http://example.org/age> \"old\" .\n"
	s.do(http.MethodPost, "/triples", old, "Content-Type", "application/n-quads").wantError(t, 422, problem.KindRejected, "", "the check ages has rejected this change: the object must be an xsd:integer")
	s.do(http.MethodPost, "/sparql", "INSERT DATA { "+old+" }", "Content-Type", "application/sparql-update").wantError(t, 422, problem.KindRejected, "", "ages")
	s.do(http.MethodPost, "/load", old, "Content-Type", "application/n-quads").wantError(t, 422, problem.KindRejected, "", "unchecked=true")
	if got := s.do(http.MethodPost, "/load?unchecked=true", old, "Content-Type", "application/n-quads"); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	// 3. Metrics.
	metrics := s.get("/metrics").body
	for _, want := range []string{
		`trefoil_function_calls_total{function="counter"} 2`, `trefoil_function_effects_total{function="counter"} `, `trefoil_function_running{function="counter"} 1`,
		`trefoil_function_lag_seconds{function="counter"} `, `trefoil_function_failures_total{function="counter"} 0`, `trefoil_function_skipped_total{function="ages"} 0`,
		`trefoil_function_rejected_total{function="ages"} 2`, `trefoil_function_running{function="ages"} 1`,
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
	const spent = `trefoil_function_call_seconds_total{function="ages"} `
	_, after, _ := strings.Cut(metrics, "\n"+spent)
	value, _, _ := strings.Cut(after, "\n")
	if seconds, err := strconv.ParseFloat(value, 64); err != nil || seconds <= 0 || seconds >= 1 { // maybe 9.5e-05
		t.Errorf("%s%q: %v", spent, value, err)
	}
	// 4. List and delete.
	if got := s.get("/functions"); !strings.Contains(got.body, `"name":"ages"`) || !strings.Contains(got.body, `"name":"counter"`) {
		t.Errorf("%+v", got)
	}
	for range 2 {
		s.do(http.MethodDelete, "/functions/ages", "")
	}
	s.get("/functions/ages").wantError(t, 404, problem.KindNotFound, "", "no update function")
	if got := s.do(http.MethodPost, "/triples", old, "Content-Type", "application/n-quads"); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
}

func TestFunctionsBadInput(t *testing.T) {
	s := serveFunctions(t, Options{OperatorToken: "secret"})
	auth := append([]string{"Authorization", "Bearer secret"}, wasmType...)
	good := wasm(t, "counter")
	for name, c := range map[string]struct {
		target, body string
		status       int
		kind         problem.Kind
		where, words string
	}{
		"text":         {"/functions/x", "(module)", 400, problem.KindBadRequest, "", "no WebAssembly"},
		"empty":        {"/functions/x", "", 400, problem.KindBadRequest, "", "no WebAssembly"},
		"too large":    {"/functions/x", strings.Repeat("x", functions.MaxModuleBytes+1), 413, problem.KindTooLarge, "", "bytes"},
		"name":         {"/functions/a%20b", good, 400, problem.KindBadRequest, "", "name"},
		"no name":      {"/functions/", good, 400, problem.KindBadRequest, "", "missing"},
		"kind":         {"/functions/x?kinds=load", good, 400, problem.KindBadRequest, "", `kind "load"`},
		"mode":         {"/functions/x?mode=before", good, 400, problem.KindBadRequest, "", "mode"},
		"timeout":      {"/functions/x?timeout=60000", good, 400, problem.KindBadRequest, "", "timeout"},
		"retries":      {"/functions/x?retries=-1", good, 400, problem.KindBadRequest, "", "retries"},
		"parameter":    {"/functions/x?pattern=a", good, 400, problem.KindBadParameter, "pattern", "unknown"},
		"term":         {"/functions/x?p=a:b", good, 400, problem.KindBadParameter, "p", ""},
		"argument":     {target("/functions/x", "arguments", "?x <a:b> ?"), good, 400, problem.KindBadRequest, "", "argument pattern 1"},
		"short":        {target("/functions/x", "arguments", "?s ?\n"), good, 400, problem.KindBadRequest, "", "three terms"},
		"system graph": {target("/functions/x", "g", "<urn:trefoil:system>"), good, 400, problem.KindBadRequest, "", "system graph"},
	} {
		got := s.do(http.MethodPut, c.target, c.body, auth...)
		t.Log(name)
		got.wantError(t, c.status, c.kind, c.where, c.words)
	}
	s.do(http.MethodPut, "/functions/x", good, "Authorization", "Bearer secret", "Content-Type", "text/plain").wantError(t, 415, problem.KindUnsupportedMedia, "Content-Type", "application/wasm")
	s.do(http.MethodPut, "/functions/x", good, wasmType...).wantError(t, 401, problem.KindUnauthorized, "Authorization", "")
	s.get("/functions/x", auth...).wantError(t, 404, problem.KindNotFound, "", "")
}
