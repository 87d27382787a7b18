// Requests to other servers: syntaxes, refusals, redirects, stalls and limits.

package engine

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/outbound"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// remote is a server on loopback.
func remote(t *testing.T, handler http.HandlerFunc) *url.URL {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	return u
}

func newNetwork(t *testing.T, idleTimeout time.Duration, allow ...string) *outbound.Client {
	t.Helper()
	hosts, err := outbound.ParseHosts(allow)
	require.NoError(t, err)
	n := &outbound.Client{Hosts: hosts, IdleTimeout: idleTimeout, Logger: slog.New(slog.DiscardHandler)}
	t.Cleanup(n.Close)
	return n
}

func newDocuments(t *testing.T, n *outbound.Client, limit int64) *documents {
	t.Helper()
	loads := 0
	d := &documents{
		network: n, spill: spillDir{dir: t.TempDir()}, limit: limit, fetched: map[string]*document{},
		newBlank: func() string { loads++; return fmt.Sprintf("l%d", loads) },
	}
	t.Cleanup(func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func load(ctx context.Context, d *documents, iri string) (lines []string, err error) {
	for t, err := range d.Load(ctx, iri) {
		if err != nil {
			return lines, err
		}
		lines = append(lines, t.String())
	}
	return lines, nil
}

func TestLoadSyntaxes(t *testing.T) {
	const line = "<http://e.x/s> <http://e.x/p> <http://e.x/o> .\n"
	const rdfxml = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.x/">
		<rdf:Description rdf:about="http://e.x/s"><e:p rdf:resource="http://e.x/o"/></rdf:Description></rdf:RDF>`
	const jsonld = `{"@id":"http://e.x/s","http://e.x/p":{"@id":"http://e.x/o"}}`
	for _, test := range []struct{ path, contentType, body, err string }{
		{"/a", "application/n-triples", line, ""},
		{"/a", "application/n-quads; charset=utf-8", line, ""},
		{"/a", "text/turtle;charset=UTF-8", "@prefix : <http://e.x/> . :s :p :o .", ""},
		{"/a", "application/trig", "{" + line + "}", ""},
		{"/a", "application/rdf+xml", rdfxml, ""},
		{"/a", "application/ld+json", jsonld, ""},
		{"/a.ttl", "text/plain", "@prefix : <http://e.x/> . :s :p :o .", ""},
		{"/a.nt", "application/octet-stream", line, ""},
		{"/a", "application/json", jsonld, ""},
		{"/a", "text/xml", rdfxml, ""},
		{"/a.owl", "application/xml", rdfxml, ""},
		{"/a", "text/plain", line, ""},
		{"/a.nt.gz", "application/gzip", zipped(line), ""},
		{"/a", "text/turtle; charset=latin1", line, "charset"},
		{"/a", "text/html", "<html>", "text/html"},
		{"/a", "image/png", "", "image/png"},
		{"/a", "text/plain", "?", "syntax is not known"},
		// Annotations would be lost.
		{"/a", "application/n-quads", triple.AnnotationsHeader + "\n" + line, ""},
		{"/a", "application/n-quads", triple.AnnotationsHeader + "\n" + line[:len(line)-1] + " #@ x=AQID\n", "annotations"},
		{"/a", "application/trig", triple.AnnotationsHeader + "\n@prefix a: <urn:trefoil:annotations#> .\n" + line +
			`<urn:trefoil:annotations> { [] a:subject <http://e.x/s> ; a:predicate <http://e.x/p> ; a:object <http://e.x/o> ; a:application "x" ; a:value "v" }`, "annotations"},
		{"/a", "application/x-ndjson", `{"s":"<http://e.x/s>","p":"<http://e.x/p>","o":"<http://e.x/o>","annotations":[{"app":"x","text":"v"}]}`, "annotations"},
	} {
		u := remote(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", test.contentType)
			io.WriteString(w, test.body)
		})
		d := newDocuments(t, newNetwork(t, time.Minute, u.Host), 1<<20)
		lines, err := load(t.Context(), d, u.String()+test.path)
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s as %s: %v, want an error about %q", test.path, test.contentType, err, test.err)
			}
		case err != nil || len(lines) != 1 || lines[0]+"\n" != line:
			t.Errorf("%s as %s: %q, %v", test.path, test.contentType, lines, err)
		}
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

// Relative IRIs are resolved against where the document was found, an error names
// the document and the place, and each LOAD has blank nodes of its own.
func TestLoadDocument(t *testing.T) {
	u := remote(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/turtle")
		switch r.URL.Path {
		case "/from":
			http.Redirect(w, r, "/dir/to#x", http.StatusFound)
		case "/dir/to":
			io.WriteString(w, "<a> <#b> _:x .")
		case "/bad":
			io.WriteString(w, "<a> <#b> <c> .\n<a> <#b> nothing .\n")
		}
	})
	d := newDocuments(t, newNetwork(t, time.Minute, u.Host), 1<<20)
	for i := range 2 {
		lines, err := load(t.Context(), d, u.String()+"/from#fragment")
		want := fmt.Sprintf("<%s/dir/a> <%s/dir/to#b> _:l%d-x .", u, u, i+1)
		if err != nil || len(lines) != 1 || lines[0] != want {
			t.Errorf("got %q, %v, want %s", lines, err, want)
		}
	}
	_, err := load(t.Context(), d, u.String()+"/bad")
	var wrong *triple.SyntaxError
	if !errors.As(err, &wrong) || wrong.Line != 2 || !strings.Contains(err.Error(), u.String()+"/bad:2:") {
		t.Errorf("got %v", err)
	}
}

// A server that says nothing, or stops in the middle, is given up.
func TestStall(t *testing.T) {
	ended := make(chan struct{}, 100)
	u := remote(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.Header().Set("Content-Type", "text/turtle")
			io.WriteString(w, "<a> <b> ")
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
		ended <- struct{}{}
	})
	d := newDocuments(t, newNetwork(t, 50*time.Millisecond, u.Host), 1<<20)
	for _, path := range []string{"/header", "/body"} {
		for reached := false; !reached; {
			_, err := load(t.Context(), d, u.String()+path)
			if !errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), "it stopped sending for 50ms") || errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", path, err)
			}
			select {
			case <-ended:
				reached = true
			case <-time.After(time.Second): // on a slow machine the request may not come to the server
			}
		}
	}
}

// The end of the request's own context is that, and not an error of the network.
func TestFetchContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	u := remote(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	d := newDocuments(t, newNetwork(t, time.Minute, u.Host), 1<<20)
	if _, err := load(ctx, d, u.String()); !errors.Is(err, context.Canceled) || errors.Is(err, ErrNetwork) {
		t.Errorf("got %v", err)
	}
}

// What is sent, and what comes out of it, is bounded.
func TestLoadLimits(t *testing.T) {
	const limit = 256 << 10
	u := remote(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/n-triples")
		switch r.URL.Path {
		case "/huge":
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("# nothing\n", 1000)); err != nil {
					return
				}
			}
		case "/bomb": // 16 MiB in 16 KiB
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, zipped(strings.Repeat("#\n", 8<<20)))
		case "/empty": // members of nothing
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, strings.Repeat(zipped(""), 2*limit/len(zipped(""))))
		case "/coded":
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "?")
		case "/headers":
			w.Header().Set("X", strings.Repeat("a", 2*64<<10))
		default:
			io.WriteString(w, strings.Repeat("# nothing\n", limit/20))
		}
	})
	for _, path := range []string{"/huge", "/bomb", "/empty", "/coded", "/headers"} {
		d := newDocuments(t, newNetwork(t, time.Minute, u.Host), limit)
		if lines, err := load(t.Context(), d, u.String()+path); err == nil || len(lines) > 0 {
			t.Errorf("%s: %d triples, %v", path, len(lines), err)
		} else if path == "/huge" && !errors.Is(err, ErrNetwork) {
			t.Errorf("%s: %v", path, err)
		}
	}
	// The documents of one update share the limit.
	d := newDocuments(t, newNetwork(t, time.Minute, u.Host), limit)
	for i := range 3 {
		_, err := load(t.Context(), d, fmt.Sprintf("%s/%d", u, i))
		if (i == 2) != errors.Is(err, ErrNetwork) {
			t.Errorf("document %d: %v", i, err)
		}
	}
}

func TestSelect(t *testing.T) {
	const query = "SELECT * { ?s ?p 'a&b' }"
	u := remote(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.PostFormValue("query"); r.Method != http.MethodPost || got != query {
			t.Errorf("%s %q", r.Method, got)
		}
		if accept := r.Header.Get("Accept"); accept != resultTypes {
			t.Errorf("accepts %q", accept)
		}
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusPermanentRedirect)
		case "/get":
			http.Redirect(w, r, "/", http.StatusMovedPermanently)
		case "/html":
			w.Header().Set("Content-Type", "text/html")
		case "/zipped":
			w.Header().Set("Content-Type", "text/csv")
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, zipped("s,p\r\n"))
		case "/bomb":
			w.Header().Set("Content-Type", "text/csv")
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, zipped(strings.Repeat(" ", 8<<20)))
		default:
			w.Header().Set("Content-Type", "text/csv; charset=utf-8")
			io.WriteString(w, "s,p\r\n")
		}
	})
	s := services{network: newNetwork(t, time.Minute, u.Host), limit: 1 << 20}
	for path, want := range map[string]string{
		"/": "s,p\r\n", "/moved": "s,p\r\n", "/zipped": "s,p\r\n", "/get": "turn POST into GET", "/html": "text/html", "/bomb": "larger than",
	} {
		got, err := selectAll(t.Context(), s, u.String()+path, query)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %.200q, %v, want %q", path, got, err, want)
		}
	}
}

func selectAll(ctx context.Context, s services, endpoint, query string) (string, error) {
	_, body, err := s.Select(ctx, endpoint, query)
	if err != nil {
		return "", err
	}
	defer body.Close()
	n, err := io.ReadAll(body)
	return string(n), err
}
