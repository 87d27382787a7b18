// Tests of compressed answers.

package server

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// decoded returns the text of an answer without its coding.
func decoded(t testing.TB, coding string, body io.Reader) (string, error) {
	t.Helper()
	var err error
	switch coding {
	case "gzip":
		body, err = gzip.NewReader(body)
	case "zstd":
		var z *zstd.Decoder
		z, err = zstd.NewReader(body)
		if err == nil {
			defer z.Close()
		}
		body = z
	case "br":
		body = brotli.NewReader(body)
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(body)
	return string(text), err
}

// TestCompressed: each kind of answer has the same text in each coding, and is smaller in it.
func TestCompressed(t *testing.T) {
	graph, _ := aWeb(t, seeded(t), 200)
	s, _ := serveTriples(t, many(), Options{Links: graph})
	for _, path := range []string{
		target("/sparql", "query", "SELECT * { ?s ?p ?o } ORDER BY ?s"),
		target("/sparql", "query", "CONSTRUCT WHERE { ?s ?p ?o }"),
		"/triples", "/triples?limit=500", "/range?order=pos", "/data?default", "/fragments",
		"/changes?since=0&follow=false", "/metrics", "/console/console.js", "/links/pages",
	} {
		plain := s.get(path)
		if plain.status != http.StatusOK || plain.header.Get("Content-Encoding") != "" || !strings.Contains(strings.Join(plain.header.Values("Vary"), ","), "Accept-Encoding") {
			t.Fatalf("%s: %d %v", path, plain.status, plain.header)
		}
		for _, coding := range []string{"gzip", "zstd", "br"} {
			got := s.get(path, "Accept-Encoding", coding)
			text, err := decoded(t, coding, strings.NewReader(got.body))
			if path == "/metrics" { // its figures change
				text = plain.body
			}
			if err != nil || text != plain.body || got.header.Get("Content-Encoding") != coding || len(got.body) > len(plain.body)*2/3 {
				t.Errorf("%s in %s: %v, Content-Encoding %q, %d bytes of %d, equal %t", path, coding, err, got.header.Get("Content-Encoding"), len(got.body), len(plain.body), text == plain.body)
			}
			head := s.do(http.MethodHead, path, "", "Accept-Encoding", coding)
			if length := head.header.Get("Content-Length"); length != "" && head.header.Get("Content-Encoding") != "" {
				t.Errorf("HEAD %s in %s: Content-Length %s of another answer", path, coding, length)
			}
		}
	}
}

// TestCodingChosen: q-values choose the coding.
func TestCodingChosen(t *testing.T) {
	s, _ := serveTriples(t, many(), Options{})
	for _, c := range []struct{ accept, want string }{
		{"gzip, deflate, br, zstd", "zstd"},
		{"gzip, deflate, br", "gzip"},
		{"gzip;q=0.5, br;q=0.8, zstd;q=0.1", "br"},
		{"gzip;q=0, br", "br"},
		{"GZIP", "gzip"},
		{"*", "zstd"},
		{"zstd;q=0, *;q=0.5", "gzip"},
		{"gzip, identity", "gzip"},
		{"gzip;q=0.5, identity", ""},
		{"gzip;q=0", ""},
		{"deflate", ""},
		{"gzip;q=2", ""},
		{"identity", ""},
	} {
		if got := s.get("/triples", "Accept-Encoding", c.accept).header.Get("Content-Encoding"); got != c.want {
			t.Errorf("Accept-Encoding: %s has %q, want %q", c.accept, got, c.want)
		}
	}
}

// TestNotCompressed: small answers, archives, and answers with strong tags are sent as they are.
func TestNotCompressed(t *testing.T) {
	s, _ := serveTriples(t, many(), Options{})
	annotation := target("/annotations", "s", "<http://ex/s1>", "p", "<http://ex/p>", "o", "<http://ex/o1>", "app", "a")
	if got := s.do(http.MethodPut, annotation, strings.Repeat("text ", 1000), "Content-Type", "text/plain"); got.status != http.StatusNoContent {
		t.Fatal(got.body)
	}
	for _, path := range []string{"/count", "/triples?limit=10", "/healthz", "/nothing", "/backup", annotation} {
		if got := s.get(path, "Accept-Encoding", "gzip"); got.header.Get("Content-Encoding") != "" {
			t.Errorf("%s is compressed: %v", path, got.header)
		}
	}
	crowded, _ := serveTriples(t, many(), Options{MemoryBytes: 1 << 20})
	if got := crowded.get("/triples", "Accept-Encoding", "gzip"); got.header.Get("Content-Encoding") != "" || strings.Count(got.body, "\n") != 1000 {
		t.Errorf("without memory for an encoder: %d %v", got.status, got.header)
	}
}

// TestCompressedBroken: an answer that breaks off does not look complete.
func TestCompressedBroken(t *testing.T) {
	seed.Slow(t)
	s, _ := serveTriples(t, many(), Options{})
	for _, coding := range []string{"gzip", "zstd", "br"} {
		got := s.breakOff("Accept-Encoding", coding)
		_, err := decoded(t, coding, strings.NewReader(got.body))
		if got.status != http.StatusOK || got.header.Get("Content-Encoding") != coding || got.err == nil || err == nil {
			t.Errorf("%s: %d, Content-Encoding %q, connection: %v, text: %v", coding, got.status, got.header.Get("Content-Encoding"), got.err, err)
		}
	}
}
