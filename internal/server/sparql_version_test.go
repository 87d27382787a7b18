// Versions of RDF and SPARQL in requests to /sparql.

package server

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/sparql"
)

// TestVersions: a client that requests a version never gets a term that this version lacks.
func TestVersions(t *testing.T) {
	s, _ := serveTriples(t, people, Options{})
	s.do("POST", "/sparql", `VERSION "1.2" PREFIX : <http://ex/> INSERT DATA { :ada :name "Ada" {| :source :census |} . :ada :says "hi"@en--ltr }`,
		"Content-Type", sparql.TypeUpdate+";version=1.2").want(t, 200, `{"added":3,"deleted":0,"isolation":"snapshot"}`+"\n")
	const terms, directed, plain = `SELECT ?o { ?s ?p ?o FILTER(isTRIPLE(?o)) }`, `SELECT ?o { ?s ?p ?o FILTER(hasLANGDIR(?o)) }`, `SELECT ?o { ?s <http://ex/age> ?o }`
	const graph = `CONSTRUCT { ?s ?p ?o } { ?s ?p ?o FILTER(isTRIPLE(?o)) }`
	const json, turtle = "application/sparql-results+json", "text/turtle"
	for _, c := range []struct{ query, accept, contentType, holds string }{
		// 1. Without a version an answer has all terms.
		{terms, json, json, `"type":"triple"`},
		{terms, "*/*;version=1.1", json, `"type":"triple"`},
		{directed, json, json, `"its:dir":"ltr"`},
		{graph, turtle, turtle + "; charset=utf-8", "<<( "},
		// 2. A version is announced.
		{terms, json + "; version=1.2", json + ";version=1.2", `"type":"triple"`},
		{terms, "text/csv;q=0.5, " + json + ";q=0.9;version=\"1.2\"", json + ";version=1.2", `"type":"triple"`},
		{graph, turtle + ";version=1.2", turtle + "; charset=utf-8;version=1.2", "<<( "},
		{directed, json + ";version=1.2-basic", json + ";version=1.2-basic", `"its:dir":"ltr"`},
		{plain, json + ";version=1.1", json + ";version=1.1", `"36"`},
		{"ASK { ?s ?p ?o }", json + ";version=1.1", json + ";version=1.1", `true`},
	} {
		got := s.ask(c.query, "Accept", c.accept)
		if got.status != 200 || got.header.Get("Content-Type") != c.contentType || !strings.Contains(got.body, c.holds) {
			t.Errorf("%s of %s: %d, %q, %s", c.accept, c.query, got.status, got.header.Get("Content-Type"), got.body)
		}
	}
	// 3. What a version lacks is an error, also an unknown version.
	for _, c := range []struct{ query, accept, words string }{
		{terms, json + ";version=1.1", "a triple term, <<( "},
		{terms, json + ";version=1.2-basic", "a triple term"},
		{terms, "application/sparql-results+xml;version=1.1", "a triple term"},
		{terms, "text/csv;version=1.1", "a triple term"},
		{directed, json + ";version=1.1", "a base direction"},
		{graph, turtle + ";version=1.1", "a triple term"},
		{plain, json + ";version=2", `there is no version "2"; there are 1.1, 1.2-basic, 1.2`},
	} {
		s.ask(c.query, "Accept", c.accept).wantError(t, 406, problem.KindNotAcceptable, "Accept", c.words)
	}
	if got := s.get(target("/sparql", "query", plain, "version", "1.2")); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	// 4. So it is with triples and graphs.
	reifies := "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>"
	for _, c := range []struct{ target, mediaType string }{
		{target("/triples", "p", reifies), "application/n-quads"},
		{target("/triples", "p", reifies), "application/x-ndjson"},
		{target("/triples", "p", reifies, "limit", "10"), "application/json"},
		{"/data?default", "text/turtle"},
		{"/data?default", "application/n-triples"},
		{"/data", "application/trig"},
	} {
		for _, version := range []string{"", ";version=1.2"} {
			got := s.get(c.target, "Accept", c.mediaType+version)
			if got.status != 200 || !strings.HasSuffix(got.header.Get("Content-Type"), strings.TrimPrefix(version, " ")) || !strings.Contains(got.body, "census") && !strings.Contains(got.body, "Ada") {
				t.Errorf("%s as %s%s: %d, %q, %s", c.target, c.mediaType, version, got.status, got.header.Get("Content-Type"), got.body)
			}
		}
		s.get(c.target, "Accept", c.mediaType+";version=1.1").wantError(t, 406, problem.KindNotAcceptable, "Accept", "version 1.1 of RDF has not")
		s.get(c.target, "Accept", c.mediaType+";version=3").wantError(t, 406, problem.KindNotAcceptable, "Accept", "no version")
	}
	s.get(target("/sparql", "query", plain, "version", "2")).wantError(t, 400, problem.KindBadParameter, "version", "no version")
	s.do("POST", "/sparql", plain, "Content-Type", sparql.TypeQuery+";version=2").wantError(t, 415, problem.KindUnsupportedMedia, "Content-Type", "no version")
}

// TestAnnotationsAndReifiers: a query joins the reifiers of a triple with the annotations that applications have
// at the same triple.
func TestAnnotationsAndReifiers(t *testing.T) {
	db := newStore(t)
	addQuads(t, db, "<a:a> <a:p> \"1\" .\n<a:a> <a:p> \"2\" .\n"+
		"<a:r> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <a:a> <a:p> \"1\" )>> .\n<a:r> <a:source> <a:census> .\n"+
		"<a:r2> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <a:a> <a:p> \"2\" )>> .\n<a:r2> <a:source> <a:guess> .\n")
	s := serve(t, db, Options{}, ServerOptions{})
	s.do("PUT", annotationTarget("reviewer"), "checked", "Content-Type", "text/plain").want(t, 204, "")
	got := s.ask(annotationPrefix+`SELECT ?o ?source ?app ?v {
		<a:a> <a:p> ?o {| <a:source> ?source |} .
		SERVICE <urn:trefoil:annotations> { ?n ann:subject <a:a> ; ann:predicate <a:p> ; ann:object ?o ; ann:application ?app ; ann:value ?v } }`, "Accept", "text/csv")
	if got.status != 200 || got.body != "o,source,app,v\r\n1,a:census,reviewer,checked\r\n" {
		t.Errorf("%d %s", got.status, got.body)
	}
	// The triple of a reifier may have an annotation of its own: its object is a triple term.
	s.do("PUT", target("/annotations", "s", "<a:r>", "p", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>", "o", `<<( <a:a> <a:p> "1" )>>`, "app", "x"), "by hand", "Content-Type", "text/plain").want(t, 204, "")
	got = s.ask(annotationPrefix+`SELECT ?o ?v { SERVICE <urn:trefoil:annotations> { ?n ann:object <<( <a:a> ?p ?o )>> ; ann:value ?v } }`, "Accept", "text/csv")
	if got.status != 200 || got.body != "o,v\r\n1,by hand\r\n" {
		t.Errorf("%d %s", got.status, got.body)
	}
}
