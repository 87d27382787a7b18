// Contexts in files and from other hosts.

package contexts

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/outbound"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload/jsonld"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const good = `{"@context":{"name":"http://schema.org/name"}}`

// write writes files into a new directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestDirectory(t *testing.T) {
	dir := write(t, map[string]string{
		IndexName: `{"https://schema.org/": "schema.jsonld", "urn:c": "./c.json", "https://w3id.org/a?b=c#d": "c.json"}`, "schema.jsonld": good, "c.json": good, "README": "x",
	})
	s, err := New(Options{Dir: dir, Hint: func(url string) string { return "see " + url }})
	require.NoError(t, err)
	defer s.Close()
	for _, url := range []string{"https://schema.org/", "http://schema.org", "HTTPS://SCHEMA.org", "http://schema.org/#x", "urn:c", "https://w3id.org/a?b=c"} {
		if c, err := s.Context(t.Context(), url); c == nil || err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"https://schema.org/x", "https://www.schema.org/", "https://schema.org:8080/", "urn:C", "https://w3id.org/a"} {
		if _, err := s.Context(t.Context(), url); !errors.Is(err, jsonld.ErrRemoteContext) || !strings.HasSuffix(err.Error(), "; see "+url) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestReload: files that changed count after Reload. If one is wrong, those before still count.
func TestReload(t *testing.T) {
	dir := write(t, map[string]string{IndexName: `{"urn:a": "a.json"}`, "a.json": good})
	s, err := New(Options{Dir: dir})
	require.NoError(t, err)
	defer s.Close()
	has := func(want map[string]bool) {
		t.Helper()
		for url, want := range want {
			if c, err := s.Context(t.Context(), url); (c != nil) != want {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
	for _, step := range []struct {
		index string
		fails bool
		has   map[string]bool
	}{
		{`{"urn:b": "a.json"}`, false, map[string]bool{"urn:a": false, "urn:b": true}},
		{`{"urn:a": "a.json", "urn:c": "missing.json"}`, true, map[string]bool{"urn:a": false, "urn:b": true}},
		{`{"urn:a": "a.json", "urn:b": "a.json"}`, false, map[string]bool{"urn:a": true, "urn:b": true}},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, IndexName), []byte(step.index), 0o600))
		if err := s.Reload(); (err != nil) != step.fails {
			t.Fatalf("%s: %v", step.index, err)
		}
		has(step.has)
	}
}

func TestWrongFiles(t *testing.T) {
	for _, test := range []struct {
		name, want string
		files      map[string]string
	}{
		{"no index", `contexts.json is missing; it has the file of each URL: {"https://schema.org/": "schemaorg.jsonld"}`, map[string]string{"a.json": good}},
		{"no object", "expected one object of file names by URL", map[string]string{IndexName: `["a.json"]`}},
		{"two objects", "expected one object of file names by URL", map[string]string{IndexName: `{} {}`}},
		{"no file", "context <http://a/>: open ", map[string]string{IndexName: `{"http://a/":"a.json"}`}},
		{"outside", `the file "../a.json" of <http://a/> is not in the directory`, map[string]string{IndexName: `{"http://a/":"../a.json"}`}},
		{"no URL of a file", "has no URL for b.jsonld; add it, or remove the file", map[string]string{IndexName: `{"http://a/":"a.json"}`, "a.json": good, "b.jsonld": good}},
		{"no URL", `"a" is no URL of a context: it has no scheme`, map[string]string{IndexName: `{"a":"a.json"}`, "a.json": good}},
		{"the same URL", "has two files", map[string]string{IndexName: `{"http://a/":"a.json","https://a":"a.json"}`, "a.json": good}},
		{"no JSON", "a.json:1:2: ", map[string]string{IndexName: `{"http://a/":"a.json"}`, "a.json": `{a}`}},
		{"no context", "the document has no @context", map[string]string{IndexName: `{"http://a/":"a.json"}`, "a.json": `{"a":1}`}},
		{"too large", "more than 4194304 bytes", map[string]string{IndexName: `{"http://a/":"a.json"}`, "a.json": strings.Repeat(" ", maxBytes) + good}},
	} {
		if _, err := New(Options{Dir: write(t, test.files)}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
	if _, err := New(Options{Dir: "/no/such"}); err == nil || !strings.Contains(err.Error(), "is no directory") {
		t.Error(err)
	}
}

// remote is a server on loopback and a set that may fetch from it.
func remote(t *testing.T, handler http.HandlerFunc, timeout time.Duration) (*url.URL, *Set) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	hosts, err := outbound.ParseHosts([]string{u.Host})
	require.NoError(t, err)
	s, err := New(Options{Hosts: hosts, Timeout: timeout, Hint: func(url string) string { return "--allow-host " + Host(url) }})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return u, s
}

func TestFetch(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was reached") }))
	defer elsewhere.Close()
	u, s := remote(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Accept"), "application/ld+json") {
			t.Errorf("Accept: %s", r.Header.Get("Accept"))
		}
		w.Header().Set("Content-Type", "application/ld+json")
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/dir/good", http.StatusFound)
		case "/elsewhere":
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		case "/alternate": // as schema.org does
			w.Header().Set("Content-Type", "text/html")
			w.Header().Add("Link", `</style.css>; rel=stylesheet, </dir/good>; rel="alternate"; type="application/ld+json"`)
		case "/circle":
			w.Header().Set("Content-Type", "text/html")
			w.Header().Add("Link", `</circle>; rel="alternate"; type="application/ld+json"`)
		case "/html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		case "/zipped":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, good)
			z.Close()
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, strings.Repeat(" ", maxBytes+1))
			z.Close()
		case "/huge":
			io.WriteString(w, strings.Repeat(" ", maxBytes+1))
		case "/missing":
			http.NotFound(w, r)
		case "/bad":
			io.WriteString(w, "{\n]")
		default:
			io.WriteString(w, good)
		}
	}, time.Minute)
	for path, want := range map[string]string{"/good": "/good", "/moved": "/dir/good", "/alternate": "/dir/good", "/zipped": "/zipped"} {
		if c, err := s.Context(t.Context(), u.String()+path); err != nil || c.URL != u.String()+want {
			t.Errorf("%s: %v, %v", path, c, err)
		}
	}
	for path, want := range map[string]string{
		"/elsewhere": "--allow-host " + u.Host, "/circle": "not JSON", "/html": `"text/html; charset=utf-8", not JSON`, "/bomb": "more than 4194304 bytes",
		"/huge": "more than 4194304 bytes", "/missing": "404", "/bad": u.String() + "/bad:2:1: ",
	} {
		if _, err := s.Context(t.Context(), u.String()+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	for _, url := range []string{"https://schema.org/", "file:///etc/passwd", "http://localhost:1/"} {
		if _, err := s.Context(t.Context(), url); !errors.Is(err, jsonld.ErrRemoteContext) || !strings.Contains(err.Error(), "--allow-host "+Host(url)) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestFetchOnce: many callers share a request, and its context is kept. A failure is kept for a while.
func TestFetchOnce(t *testing.T) {
	var requests atomic.Int64
	u, s := remote(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path == "/good" {
			io.WriteString(w, good)
			return
		}
		http.Error(w, "", http.StatusInternalServerError)
	}, time.Minute)
	for _, path := range []string{"/good", "/bad"} {
		requests.Store(0)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := s.Context(t.Context(), u.String()+path); (err == nil) != (path == "/good") {
					t.Error(path, err)
				}
			})
		}
		all.Wait()
		if n := requests.Load(); n != 1 {
			t.Errorf("%s: %d requests", path, n)
		}
	}
	// What is kept is bounded.
	for i := range 2 * maxFetched {
		s.Context(t.Context(), fmt.Sprintf("%s/bad%d", u, i))
	}
	s.tasks.Wait()
	if n := len(s.fetched); n > maxFetched {
		t.Errorf("%d are kept", n)
	}
	if s.shrink(""); s.bytes != 0 || len(s.fetched) != 0 {
		t.Errorf("%d with %d bytes are left", len(s.fetched), s.bytes)
	}
}

// TestFetchTime: a slow server is given up, and a caller may go before.
func TestFetchTime(t *testing.T) {
	u, s := remote(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "{")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, 50*time.Millisecond)
	if _, err := s.Context(t.Context(), u.String()); err == nil || errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, outbound.ErrNetwork) {
		t.Errorf("slow: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Context(ctx, u.String()+"/other"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
