// Tests of whole datasets by /data, of JSON-LD and RDF/XML, and of entity tags.

package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

const dataset = "<http://ex/a> <http://ex/p> \"1\" .\n" +
	"<http://ex/a> <http://ex/p> \"2\" <http://g/1> .\n<http://ex/b> <http://ex/p> \"2\" <http://g/1> .\n<http://ex/a> <http://ex/p> \"3\" <http://g/2> .\n"

// lines returns the sorted N-Quads of a document.
func lines(t testing.TB, s syntax.Syntax, document string) []string {
	t.Helper()
	var all []string
	for one, err := range syntax.Parse(context.Background(), strings.NewReader(document), s, syntax.Options{}) {
		if err != nil {
			t.Fatalf("%v in %s", err, document)
		}
		all = append(all, one.String()+"\n")
	}
	slices.Sort(all)
	return all
}

// TestDataset does what Jena's fetchDataset, putDataset and loadDataset send.
func TestDataset(t *testing.T) {
	s, _ := serveTriples(t, dataset, Options{})
	want := lines(t, syntax.NQuads, dataset)
	documents := map[syntax.Syntax]string{}
	for _, x := range []syntax.Syntax{syntax.TriG, syntax.NQuads, syntax.JSONLD} {
		got := s.get("/data", "Accept", x.MediaType())
		if got.status != http.StatusOK || got.header.Get("Content-Type") != x.MediaType() || !slices.Equal(lines(t, x, got.body), want) {
			t.Errorf("GET as %v: %d %s", x, got.status, got.body)
		}
		documents[x] = got.body
		if x == syntax.TriG && strings.Count(got.body, "<http://g/1>") != 1 {
			t.Errorf("a graph is opened again: %s", got.body)
		}
	}
	s.get("/data", "Accept", "text/turtle").wantError(t, 406, "not-acceptable", "Accept", "application/trig")
	for x, document := range documents {
		put := s.do(http.MethodPut, "/data", "<http://ex/z> <http://ex/p> \"9\" <http://g/9> .", "Content-Type", "application/n-quads")
		if got := s.get("/triples").body; put.status != http.StatusNoContent || got != "<http://ex/z> <http://ex/p> \"9\" <http://g/9> .\n" {
			t.Errorf("PUT of N-Quads: %d %s", put.status, got)
		}
		put = s.do(http.MethodPut, "/data", document, "Content-Type", x.MediaType())
		if got := s.get("/triples").body; put.status != http.StatusNoContent || !slices.Equal(lines(t, syntax.NQuads, got), want) {
			t.Errorf("PUT as %v: %d %s", x, put.status, got)
		}
	}
	post := s.do(http.MethodPost, "/data", "<http://ex/z> <http://ex/p> \"9\" <http://g/9> .\n"+dataset, "Content-Type", "application/n-quads")
	if post.status != http.StatusOK || post.body != `{"added":1,"existing":4}`+"\n" || post.header.Get("Location") != "" {
		t.Errorf("POST: %d %s", post.status, post.body)
	}
	s.do(http.MethodPut, "/data", "<http://ex/z> <http://ex/p> 9 .", "Content-Type", "text/turtle").wantError(t, 405, "method-not-allowed", "", "?default")
	s.do(http.MethodDelete, "/data", "").wantError(t, 405, "method-not-allowed", "", "?default")
}

// TestDatasetKeepsSystem checks that PUT of all graphs leaves the graph of subscriptions and functions.
func TestDatasetKeepsSystem(t *testing.T) {
	s, db := serveTriples(t, dataset+"_:g <http://ex/p> \"4\" _:g .\n", Options{})
	system := triple.Triple{Subject: triple.NewIRI("http://ex/s"), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewString("x"), Graph: systemgraph.Graph}
	if _, err := store.Add(t.Context(), db, []triple.Triple{system}); err != nil {
		t.Fatal(err)
	}
	put := s.do(http.MethodPut, "/data", "<http://ex/z> <http://ex/p> \"9\" <http://g/9> .", "Content-Type", "application/trig")
	if put.status != http.StatusBadRequest { // N-Quads are no TriG
		t.Errorf("%d %s", put.status, put.body)
	}
	put = s.do(http.MethodPut, "/data", "<http://ex/z> <http://ex/p> \"9\" <http://g/9> .", "Content-Type", "application/n-quads")
	got := lines(t, syntax.NQuads, s.get("/triples").body)
	if want := []string{system.String() + "\n", "<http://ex/z> <http://ex/p> \"9\" <http://g/9> .\n"}; put.status != http.StatusNoContent || !slices.Equal(got, want) {
		t.Errorf("%d %q", put.status, got)
	}
}

// TestGraphsInAllSyntaxes checks JSON-LD and RDF/XML where graphs are answered.
func TestGraphsInAllSyntaxes(t *testing.T) {
	s, _ := serveTriples(t, dataset, Options{})
	for _, x := range []syntax.Syntax{syntax.JSONLD, syntax.RDFXML} {
		for _, path := range []string{"/data?default", "/data?graph=http://g/1", target("/sparql", "query", "CONSTRUCT WHERE { ?s ?p ?o }"),
			target("/sparql", "query", "DESCRIBE <http://ex/a>"), "/sparql", "/fragments", "/fragments?subject=http://ex/a"} {
			got := s.get(path, "Accept", x.MediaType())
			if got.status != http.StatusOK || got.header.Get("Content-Type") != x.MediaType() || len(lines(t, x, got.body)) == 0 {
				t.Errorf("%s as %v: %d %s", path, x, got.status, got.body)
			}
		}
	}
}

// TestTags checks that an answer of a graph or a query has a tag until a triple changes.
func TestTags(t *testing.T) {
	s, db := serveTriples(t, dataset, Options{})
	for i, path := range []string{"/data", "/data?default", "/data?graph=http://g/1", target("/sparql", "query", "SELECT * { ?s ?p ?o }")} {
		got := s.get(path)
		tag := got.header.Get("ETag")
		if got.status != http.StatusOK || !strings.HasPrefix(tag, `W/"`) || got.header.Get("Cache-Control") != "no-cache" {
			t.Fatalf("%s: %d %v", path, got.status, got.header)
		}
		if again := s.get(path, "If-None-Match", tag); again.status != http.StatusNotModified || again.body != "" || again.header.Get("ETag") != tag {
			t.Errorf("%s: %d %v", path, again.status, again.header)
		}
		if head := s.do(http.MethodHead, path, ""); head.header.Get("ETag") != tag {
			t.Errorf("HEAD %s: %v", path, head.header)
		}
		if other := s.get(path, "If-None-Match", tag, "Accept", "application/n-quads, text/csv"); other.status != http.StatusOK {
			t.Errorf("%s in another format: %d", path, other.status)
		}
		addQuads(t, db, "<http://ex/new> <http://ex/p> \""+string(rune('a'+i))+"\" .\n")
		if again := s.get(path, "If-None-Match", tag); again.status != http.StatusOK || again.header.Get("ETag") == tag {
			t.Errorf("%s after a change: %d %v", path, again.status, again.header)
		}
	}
	if got := s.get("/data?graph=http://g/9", "If-None-Match", "*"); got.status != http.StatusNotFound || got.header.Get("ETag") != "" {
		t.Errorf("a missing graph: %d %v", got.status, got.header)
	}
	for _, query := range []string{"SELECT (NOW() AS ?n) {}", "SELECT (rand() AS ?n) {}", "SELECT (struuid() AS ?n) {}",
		"SELECT * { SERVICE <urn:trefoil:annotations> { ?a ?b ?c } }"} {
		if got := s.get(target("/sparql", "query", query)); got.status != http.StatusOK || got.header.Get("ETag") != "" {
			t.Errorf("%s: %d %v", query, got.status, got.header)
		}
	}
	if got := s.do(http.MethodPost, "/sparql", "SELECT * { ?s ?p ?o }", "Content-Type", "application/sparql-query"); got.header.Get("ETag") != "" {
		t.Errorf("POST: %v", got.header)
	}
}
