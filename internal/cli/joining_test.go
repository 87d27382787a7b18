// A machine that joins a cluster, over real connections.

package cli

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	xTriple = "s=%3Cx:s%3E&p=%3Cx:p%3E&o=%3Cx:o%3E"
	xURLs   = `{"urls":["http://x/"]}`
)

// TestJoining: a machine that reaches no member of its cluster answers its operators, and says why it
// serves nobody else.
func TestJoining(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	absent := silent.Addr().String()
	said := begin(t, "--join", absent)
	url := said.wait(t, `joining the cluster; until then (\S+) answers`)[1]
	impatient := http.Client{Timeout: 2 * time.Second} // a machine has found no leader after three
	answer := func(method, path, content, body string) (int, string, http.Header) {
		request, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if content != "" {
			request.Header.Set("Content-Type", content)
		}
		response, err := impatient.Do(request)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return response.StatusCode, string(text), response.Header
	}
	for path, want := range map[string]int{"/healthz": 200, "/status": 200, "/metrics": 200, "/readyz": 503} {
		if code, text, _ := answer("GET", path, "", ""); code != want {
			t.Errorf("%s: %d, not %d: %s", path, code, want, text)
		}
	}
	if _, text, _ := answer("GET", "/status", "", ""); !strings.Contains(text, `"waiting":"membership in cluster \"trefoil\"`) || !strings.Contains(text, absent) {
		t.Errorf("/status does not say whom it asks: %s", text)
	}
	// What needs data must not be answered as if the store were empty, nor wait.
	for _, c := range []struct{ method, path, content, body string }{
		{"GET", "/range?order=pos", "", ""}, {"GET", "/count", "", ""}, {"GET", "/triples", "", ""}, {"GET", "/data?default", "", ""},
		{"GET", "/sparql?query=ASK%7B%7D", "", ""}, {"GET", "/sparql?query=SELECT%20*%7B?s%20?p%20?o%7D", "", ""}, {"GET", "/fragments", "", ""},
		{"POST", "/sparql", "application/sparql-update", "INSERT DATA { <x:s> <x:p> <x:o> }"},
		{"POST", "/triples", "application/n-triples", "<x:s> <x:p> <x:o> .\n"}, {"DELETE", "/triples?s=%3Cx:s%3E", "", ""},
		{"PUT", "/data?default", "application/n-triples", "<x:s> <x:p> <x:o> .\n"}, {"POST", "/load", "application/n-triples", "<x:s> <x:p> <x:o> .\n"},
		{"GET", "/changes", "", ""}, {"GET", "/changes/position", "", ""}, {"GET", "/links/pages", "", ""}, {"GET", "/search?q=a", "", ""},
		{"GET", "/prefixes", "", ""}, {"GET", "/subscriptions", "", ""}, {"GET", "/functions", "", ""}, {"GET", "/backup", "", ""}, {"GET", "/check", "", ""},
		{"GET", "/.well-known/void", "", ""}, {"GET", "/segments", "", ""}, {"GET", "/text", "", ""}, {"GET", "/where?" + xTriple, "", ""},
		{"GET", "/annotations?" + xTriple, "", ""}, {"PUT", "/annotations?app=a&" + xTriple, "text/plain", "a"}, {"DELETE", "/annotations?app=a&" + xTriple, "", ""},
		{"PUT", "/prefixes/ex?iri=http://ex/", "", ""}, {"DELETE", "/prefixes/ex", "", ""}, {"PUT", "/text?p=%3Cx:p%3E", "", ""}, {"DELETE", "/text?p=%3Cx:p%3E", "", ""},
		{"PUT", "/subscriptions/a?p=%3Cx:p%3E", "", ""}, {"DELETE", "/subscriptions/a", "", ""}, {"DELETE", "/functions/a", "", ""},
		{"GET", "/links/stats", "", ""}, {"GET", "/links/pages?epoch=now", "", ""}, {"GET", "/links/pages?epoch=7", "", ""}, {"GET", "/links/stores", "", ""}, {"GET", "/links/pagerank", "", ""},
		{"POST", "/links/uids", "application/json", xURLs}, {"POST", "/links/uids?epoch=now", "application/json", `{"urls":[]}`}, {"POST", "/links/urls", "application/json", `{"uids":["281474976710657"]}`},
		{"POST", "/links/get", "application/json", xURLs}, {"POST", "/links/sample", "application/json", xURLs}, {"POST", "/links/degrees", "application/json", xURLs},
		{"POST", "/links/labels", "application/json", xURLs}, {"POST", "/links/rank", "application/json", xURLs}, {"POST", "/links/stores", "application/json", `{"request":["urls"]}`},
		{"POST", "/links/update", "application/x-ndjson", `{"op":"add","src":"http://x/","dst":["http://y/"]}`},
		{"POST", "/links/pagerank", "application/json", "{}"}, {"DELETE", "/links/pagerank", "", ""},
	} {
		code, text, header := answer(c.method, c.path, c.content, c.body)
		if code != 503 || header.Get("Retry-After") == "" {
			t.Errorf("%s %s: %d, Retry-After %q: %s", c.method, c.path, code, header.Get("Retry-After"), text)
		}
	}
	code, out, problem := run(t, "", "status", "--to", url)
	if code != exitDone || !strings.Contains(out, "trefoil, not a member yet") || !strings.Contains(out, "waiting") {
		t.Errorf("trefoil status: %d: %s%s", code, out, problem)
	}
}
