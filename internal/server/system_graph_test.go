// Tests of the system graph's protection from clients.

package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/problem"
)

// systemWrites are writes of every endpoint that name the registered function x.
var systemWrites = map[string]struct {
	method, target, body, media string
}{
	"add":                  {"POST", "/triples", systemQuad, "application/n-quads"},
	"add to graph":         {"POST", target("/triples", "graph", "<urn:trefoil:system>"), ordinary, "application/n-triples"},
	"add TriG":             {"POST", "/triples", "GRAPH <urn:trefoil:system> { " + ordinary + " }", "application/trig"},
	"delete":               {"DELETE", "/triples", systemQuad, "application/n-quads"},
	"delete pattern":       {"DELETE", target("/triples", "g", "<urn:trefoil:system>"), "", ""},
	"delete pattern s":     {"DELETE", target("/triples", "s", "<urn:trefoil:function:x>", "g", "<urn:trefoil:system>"), "", ""},
	"INSERT DATA":          {"POST", "/sparql", "INSERT DATA { <a:a> <a:p> <a:o> . GRAPH <urn:trefoil:system> { <a:s> <a:p> <a:o> } }", "application/sparql-update"},
	"DELETE DATA":          {"POST", "/sparql", "DELETE DATA { GRAPH <urn:trefoil:system> { <urn:trefoil:function:x> a <urn:trefoil:UpdateFunction> } }", "application/sparql-update"},
	"DELETE WHERE":         {"POST", "/sparql", "INSERT DATA { <a:a> <a:p> <a:o> } ; DELETE WHERE { GRAPH ?g { ?s ?p ?o } }", "application/sparql-update"},
	"CLEAR GRAPH":          {"POST", "/sparql", "CLEAR GRAPH <urn:trefoil:system>", "application/sparql-update"},
	"DROP GRAPH":           {"POST", "/sparql", "DROP SILENT GRAPH <urn:trefoil:system>", "application/sparql-update"},
	"COPY":                 {"POST", "/sparql", "COPY DEFAULT TO <urn:trefoil:system>", "application/sparql-update"},
	"MOVE":                 {"POST", "/sparql", "MOVE <urn:trefoil:system> TO <a:g>", "application/sparql-update"},
	"PUT graph":            {"PUT", "/data?graph=urn:trefoil:system", ordinary, "application/n-triples"},
	"POST graph":           {"POST", "/data?graph=urn:trefoil:system", ordinary, "application/n-triples"},
	"DELETE graph":         {"DELETE", "/data?graph=urn:trefoil:system", "", ""},
	"load":                 {"POST", "/load", ordinary + systemQuad, "application/n-quads"},
	"load escaped":         {"POST", "/load", `<a:s> <a:p> <a:o> <urn:trefoil:s\u0079stem> .` + "\n", "application/n-quads"},
	"load to graph":        {"POST", target("/load", "graph", "<urn:trefoil:system>"), ordinary, "application/n-triples"},
	"load TriG":            {"POST", "/load", "<urn:trefoil:system> { " + ordinary + " }", "application/trig"},
	"load keep-going":      {"POST", "/load?keep-going=true&unchecked=true", systemQuad, "application/n-quads"},
	"annotate":             {"PUT", target("/annotations", "s", "<urn:trefoil:function:x>", "p", "<"+rdfType+">", "o", "<urn:trefoil:UpdateFunction>", "g", "<urn:trefoil:system>", "app", "a"), "x", "text/plain"},
	"annotate reserved":    {"PUT", target("/annotations", "s", "<urn:trefoil:function:x>", "p", "<"+rdfType+">", "o", "<urn:trefoil:UpdateFunction>", "g", "<urn:trefoil:system>", "app", "urn:trefoil:state"), "{}", "text/plain"},
	"remove annotation":    {"DELETE", target("/annotations", "s", "<urn:trefoil:function:x>", "p", "<"+rdfType+">", "o", "<urn:trefoil:UpdateFunction>", "g", "<urn:trefoil:system>", "app", "urn:trefoil:registration"), "", ""},
	"add with annotations": {"POST", "/triples", "#@trefoil-annotations 1\n" + strings.TrimSuffix(systemQuad, "\n") + " #@ app=AQI=\n", "application/n-quads"},
}

const (
	rdfType    = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
	ordinary   = "<a:new> <a:p> <a:o> .\n"
	systemQuad = "<urn:trefoil:function:x> <" + rdfType + "> <urn:trefoil:UpdateFunction> <urn:trefoil:system> .\n"
)

// TestSystemGraphIsProtected: no data endpoint changes the system graph, unless the operators' token is
// sent. What is refused changes nothing else, either.
func TestSystemGraphIsProtected(t *testing.T) {
	for name, tokens := range map[string]Options{
		"no tokens":      {},
		"client's token": {Token: "client", OperatorToken: "operator"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveFunctions(t, tokens)
			operator, client := []string{"Authorization", "Bearer operator"}, []string{"Authorization", "Bearer client"}
			if got := s.do(http.MethodPut, target("/functions/x", "p", "<a:likes>"), wasm(t, "inverse"), append(operator, wasmType...)...); got.status != http.StatusOK {
				t.Fatalf("%+v", got)
			}
			dump := target("/triples", "g", "<urn:trefoil:system>")
			before := s.get(dump, client...).body
			if !strings.Contains(before, "urn:trefoil:function:x") {
				t.Fatalf("the system graph is %s", before)
			}
			for name, w := range systemWrites {
				headers := client
				if w.media != "" {
					headers = append([]string{"Content-Type", w.media}, client...)
				}
				got := s.do(w.method, w.target, w.body, headers...)
				e := got.wireError(t)
				if got.status != http.StatusForbidden || e.Kind != problem.KindForbidden || !strings.Contains(e.Message, "operators") {
					t.Errorf("%s: answered %d %v", name, got.status, e)
				}
			}
			if after := s.get(dump, client...).body; after != before {
				t.Errorf("the system graph was %s\nand is %s", before, after)
			}
			if got := s.get("/triples?s=%3Ca:new%3E", client...); strings.Contains(got.body, "a:new") {
				t.Errorf("a part of a refused change was made: %s", got.body)
			}
			s.do(http.MethodPost, "/annotations", `{"s":{"type":"uri","value":"urn:trefoil:function:x"},"p":{"type":"uri","value":"`+rdfType+`"},"o":{"type":"uri","value":"urn:trefoil:UpdateFunction"},"g":{"type":"uri","value":"urn:trefoil:system"},"app":"a","data":"AQI="}`+"\n",
				append([]string{"Content-Type", "application/x-ndjson"}, client...)...).wantBatchError(t, problem.KindForbidden)
		})
	}
}

// wantBatchError checks that the only line of a batch of annotations has failed.
func (a answer) wantBatchError(t *testing.T, kind problem.Kind) {
	t.Helper()
	if a.status != http.StatusOK || !strings.Contains(a.body, `"failed":1`) || !strings.Contains(a.body, string(kind)) {
		t.Errorf("answered %d %s", a.status, a.body)
	}
}

// TestSystemGraphIsKept: deletes and clears of all graphs leave the system graph.
func TestSystemGraphIsKept(t *testing.T) {
	s := serveFunctions(t, Options{Token: "client", OperatorToken: "operator"})
	for name, w := range map[string]struct{ method, target, body, media string }{
		"pattern":   {"DELETE", target("/triples", "p", "<"+rdfType+">"), "", ""},
		"CLEAR ALL": {"POST", "/sparql", "CLEAR ALL", "application/sparql-update"},
	} {
		for _, token := range []string{"client", "operator"} {
			s.do(http.MethodPut, target("/functions/x", "p", "<a:likes>"), wasm(t, "inverse"), append([]string{"Authorization", "Bearer operator"}, wasmType...)...)
			headers := []string{"Authorization", "Bearer " + token}
			quad := "<a:s> <" + rdfType + "> <a:c> .\n"
			s.do(http.MethodPost, "/triples", quad, append([]string{"Content-Type", "application/n-quads"}, headers...)...)
			if w.media != "" {
				headers = append(headers, "Content-Type", w.media)
			}
			if got := s.do(w.method, w.target, w.body, headers...); got.status >= 300 {
				t.Errorf("%s: %+v", name, got)
			}
			if got := s.get("/triples", headers...).body; strings.Contains(got, "<a:s>") || !strings.Contains(got, "urn:trefoil:function:x") {
				t.Errorf("%s with the %s's token leaves %s", name, token, got)
			}
		}
	}
}

// TestOperatorsChangeTheSystemGraph: a dump with functions is loaded with the operators' token.
func TestOperatorsChangeTheSystemGraph(t *testing.T) {
	s := serveFunctions(t, Options{Token: "client", OperatorToken: "operator"})
	headers := []string{"Authorization", "Bearer operator"}
	quads := append([]string{"Content-Type", "application/n-quads"}, headers...)
	for _, path := range []string{"/load", "/triples"} {
		if got := s.do(http.MethodPost, path, systemQuad, quads...); got.status != http.StatusOK {
			t.Errorf("%s: %+v", path, got)
		}
		if got := s.do(http.MethodDelete, target("/triples", "g", "<urn:trefoil:system>"), "", headers...); !strings.Contains(got.body, `"deleted":1`) {
			t.Errorf("%+v", got)
		}
	}
}
