// JSON-LD contexts that documents name by URL: of flags, of a directory, and from allowed hosts.

package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

const (
	nameContext = `{"@context":{"name":"http://schema.org/name"}}`
	namedBy     = `{"@context":%q,"@id":"http://e/s","name":%q}`
)

func TestContextFlag(t *testing.T) {
	file := write(t, "a=b.jsonld", nameContext)
	document := fmt.Sprintf(namedBy, "http://schema.org", "x")
	const line = "<http://e/s> <http://schema.org/name> \"x\" .\n"
	if out := mustRun(t, document, "convert", "--from", "jsonld", "--context", "https://schema.org/="+file, "-"); out != line {
		t.Errorf("convert: %s", out)
	}
	data := t.TempDir()
	for _, command := range []string{"load", "add"} {
		mustRun(t, document, command, "--data", data, "--from", "jsonld", "--context", "urn:x="+file, "--context", "https://schema.org/="+file, "-")
		if out := mustRun(t, "", "match", "--data", data); out != line {
			t.Errorf("%s: %s", command, out)
		}
	}
	for _, test := range []struct{ context, says string }{
		{"", "context <http://schema.org>: remote contexts are not fetched; name a file that has it: --context http://schema.org=FILE"},
		{"http://other/=" + file, "--context http://schema.org=FILE"},
		{"https://schema.org/", "write URL=FILE"},
		{"https://schema.org/=missing.jsonld", "there is no file missing.jsonld"},
		{"schema.org=" + file, "it has no scheme"},
		{"https://schema.org/=" + write(t, "bad", `{"@context":`), "bad:1:13: "},
		{"https://schema.org/=" + write(t, "none", `{}`), "the document has no @context"},
	} {
		args := []string{"convert", "--from", "jsonld", "-"}
		if test.context != "" {
			args = append(args, "--context", test.context)
		}
		if code, _, said := run(t, document, args...); code == exitDone || !strings.Contains(said, test.says) {
			t.Errorf("%s: %d %s\nwant %s", test.context, code, said, test.says)
		}
	}
}

// TestServeContextsWrong: a directory without an index ends the start, and the error names the flag.
func TestServeContextsWrong(t *testing.T) {
	code, _, said := run(t, "", "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--jsonld-contexts", t.TempDir())
	if code != exitUsage || !strings.Contains(said, "--jsonld-contexts: ") || !strings.Contains(said, "contexts.json is missing") {
		t.Errorf("%d %s", code, said)
	}
}

// TestServeContexts sends documents that name their contexts by URL through each entrance of a lone node,
// and of a cluster's second node.
func TestServeContexts(t *testing.T) {
	seed.Slow(t)
	// 1. A host with a context and a document, and a directory with another context.
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/ld+json")
		switch r.URL.Path {
		case "/document":
			fmt.Fprintf(w, namedBy, "context", "LOAD")
			return
		case "/unknown":
			fmt.Fprintf(w, namedBy, "https://example.org/c", "x")
			return
		}
		io.WriteString(w, nameContext)
	}))
	defer host.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{"contexts.json": `{"https://schema.org/":"schema.jsonld"}`, "schema.jsonld": nameContext} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flags := []string{"--jsonld-contexts", dir, "--allow-host", strings.TrimPrefix(host.URL, "http://")}
	for _, test := range []struct {
		name  string
		start func() (to, first string)
	}{
		{"lone", func() (string, string) {
			address, _ := serveNode(t, flags...)
			return address, address
		}},
		{"cluster", func() (string, string) {
			first, _ := serveNode(t) // it has no contexts, because the node that gets a document needs them
			second, _ := serveNode(t, append(flags, "--join", first)...)
			return second, first
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			to, first := test.start()
			url := "http://" + to
			send := func(method, path, contentType, body string) (int, string) {
				r, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", contentType)
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Fatal(err)
				}
				return answer.StatusCode, string(text)
			}
			// 2. Each entrance, with a context of the directory and one of the host.
			const ld = "application/ld+json"
			for i, context := range []string{"http://schema.org", host.URL + "/context"} {
				for _, entrance := range []struct{ method, path string }{{"POST", "/triples"}, {"POST", "/load"}, {"POST", "/data?default"}} {
					name := fmt.Sprint(entrance.method, entrance.path, i)
					if status, text := send(entrance.method, entrance.path, ld, fmt.Sprintf(namedBy, context, name)); status >= 300 {
						t.Errorf("%s: %d %s", name, status, text)
					}
				}
			}
			if status, text := send("POST", "/sparql", "application/sparql-update", "LOAD <"+host.URL+"/document>"); status >= 300 {
				t.Errorf("LOAD: %d %s", status, text)
			}
			mustRun(t, fmt.Sprintf(namedBy, "https://schema.org/", "load"), "load", "--to", url, "--from", "jsonld", "-")
			// The command has a context that the server has not.
			mustRun(t, fmt.Sprintf(namedBy, "urn:mine", "mine"), "load", "--to", url, "--from", "jsonld", "--context", "urn:mine="+write(t, "c", nameContext), "-")
			got := mustRun(t, "", "query", "--to", "http://"+first, "--format", "csv", `SELECT ?o { <http://e/s> <http://schema.org/name> ?o } ORDER BY ?o`)
			if got = strings.ReplaceAll(strings.TrimSpace(got), "\r", ""); got != "o\nLOAD\nPOST/data?default0\nPOST/data?default1\nPOST/load0\nPOST/load1\nPOST/triples0\nPOST/triples1\nload\nmine" {
				t.Errorf("got %q", got)
			}
			// 3. What cannot be had is an error that names the flags, at each entrance.
			const says = "(serve --allow-host example.org)"
			for _, path := range []string{"/triples", "/load", "/data?default"} {
				if status, text := send("POST", path, ld, fmt.Sprintf(namedBy, "https://example.org/c", "x")); status != http.StatusBadRequest || !strings.Contains(text, says) || !strings.Contains(text, "serve --jsonld-contexts") {
					t.Errorf("%s: %d %s", path, status, text)
				}
			}
			if status, text := send("POST", "/sparql", "application/sparql-update", "LOAD <"+host.URL+"/unknown>"); status < 400 || status >= 500 || !strings.Contains(text, says) {
				t.Errorf("LOAD: %d %s", status, text)
			}
			code, _, said := run(t, fmt.Sprintf(namedBy, "urn:other", "x")+"\n", "load", "--to", url, "--from", "jsonld", "--keep-going", "--context", "urn:mine="+write(t, "c", nameContext), "-")
			if code != exitRejected {
				t.Errorf("rejected: %d %s", code, said)
			}
		})
	}
}
