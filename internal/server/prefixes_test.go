// Tests of /prefixes, and of the prefixes of documents.

package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/problem"
)

// names returns the prefixes of the store as "name=iri" and a space each.
func (s *testServer) names(t *testing.T) string {
	t.Helper()
	var list struct{ Prefixes map[string]string }
	if got := s.get("/prefixes"); got.status != http.StatusOK || json.Unmarshal([]byte(got.body), &list) != nil {
		t.Fatalf("%+v", got)
	}
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(list.Prefixes), "map["), "]")
}

// TestPrefixesOfDocuments: each endpoint that adds a document keeps its prefixes, the first IRI of a name
// stays, and counts have only what the user added.
func TestPrefixesOfDocuments(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	turtle := func(prefix, iri string) string {
		return fmt.Sprintf("@prefix %s: <%s> .\n%s:%s a %s:T .\n", prefix, iri, prefix, prefix, prefix)
	}
	send := func(method, target, media, body string) {
		t.Helper()
		if got := s.do(method, target, body, "Content-Type", media); got.status >= 300 {
			t.Fatalf("%s %s: %+v", method, target, got)
		}
	}
	send("POST", "/load", "text/turtle", turtle("a", "http://a/"))
	send("POST", "/triples", "text/turtle", turtle("b", "http://b/"))
	send("PUT", "/data?default", "text/turtle", turtle("c", "http://c/"))
	send("POST", "/data", "application/trig", turtle("d", "http://d/"))
	send("POST", "/load", "application/rdf+xml", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/" xmlns="http://none/"><rdf:Description rdf:about="http://e/s"><e:p>x</e:p></rdf:Description></rdf:RDF>`)
	send("POST", "/load", "application/ld+json", `{"@context": {"f": "http://f/", "no": "http://no", "g": {"@id": "http://g", "@prefix": true}, "h": "f:h/", "i": {"@id": "http://i/"}}, "@id": "f:s", "f:p": "x"}`)
	send("DELETE", "/triples", "text/turtle", turtle("z", "http://z/"))
	send("POST", "/load", "text/turtle", turtle("a", "http://other/")+turtle("rdf", "http://rdf/")+"@prefix : <http://e/> .\n")
	want := "a:http://a/ b:http://b/ c:http://c/ d:http://d/ e:http://e/ f:http://f/ g:http://g"
	if got := s.names(t); got != want {
		t.Fatalf("the store has %s, want %s", got, want)
	}
	// PUT of the default graph replaced the first two triples. The other two of the last load are new.
	if got := s.get("/count").body; !strings.Contains(got, `"count":6`) {
		t.Errorf("the count is %s", got)
	}
	if got := s.get("/status").body; !strings.Contains(got, `"triples":6,`) {
		t.Errorf("the status is %s", got)
	}
	for _, target := range []string{"/triples", "/range?order=spo", "/range?order=gspo", "/data", "/fragments"} {
		if got := s.get(target); got.status != http.StatusOK || strings.Contains(got.body, "urn:trefoil:keeps") {
			t.Errorf("%s: %+v", target, got)
		}
	}
	// A dump is loaded again without the operators' token, and a dataset is replaced.
	send("POST", "/load", "application/n-quads", s.get("/triples").body)
	send("PUT", "/data", "application/trig", "<a:s> <a:p> <a:o> .")
	if got := s.get("/count").body; !strings.Contains(got, `"count":1`) {
		t.Errorf("the count is %s", got)
	}
	if got := s.names(t); got != want {
		t.Errorf("after PUT the store has %s, want %s", got, want)
	}
}

// TestRefusedDocument: a document that is refused leaves no prefixes.
func TestRefusedDocument(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	for _, target := range []string{"/load", "/triples", "/data?default"} {
		if got := s.do("POST", target, "@prefix ex: <http://ex/> .\nex:a ex:b", "Content-Type", "text/turtle"); got.status != http.StatusBadRequest {
			t.Fatalf("%s: %+v", target, got)
		}
	}
	if got := s.names(t); got != "" {
		t.Errorf("the store has %s", got)
	}
}

// TestPrefixesEndpoint lists, sets, keeps and removes.
func TestPrefixesEndpoint(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	if got := s.do("PUT", "/prefixes/ex?iri=http://ex/", ""); got.status != http.StatusOK || got.body != `{"name":"ex","iri":"http://ex/"}`+"\n" {
		t.Fatalf("%+v", got)
	}
	if got := s.do("POST", "/prefixes", `{"ex":"http://other/","more":"http://more/"}`, "Content-Type", "application/json"); got.status != http.StatusNoContent {
		t.Fatalf("%+v", got)
	}
	if got := s.names(t); got != "ex:http://ex/ more:http://more/" {
		t.Errorf("the store has %s", got)
	}
	if got := s.do("PUT", "/prefixes/ex?iri=http://new/", ""); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	if got := s.get("/prefixes/ex").body; got != `{"name":"ex","iri":"http://new/"}`+"\n" {
		t.Errorf("%s", got)
	}
	if got := s.get("/prefixes/foaf").body; !strings.Contains(got, "xmlns.com") {
		t.Errorf("%s", got)
	}
	if got := s.get("/prefixes", "Accept", "text/turtle").body; !strings.Contains(got, "@prefix ex: <http://new/> .\n") || !strings.Contains(got, "@prefix skos: <") {
		t.Errorf("%s", got)
	}
	if got := s.do("DELETE", "/prefixes/ex", ""); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		method, target, body string
		status               int
		kind                 problem.Kind
	}{
		{"DELETE", "/prefixes/ex", "", 404, problem.KindNotFound}, {"GET", "/prefixes/ex", "", 404, problem.KindNotFound},
		{"DELETE", "/prefixes", "", 400, problem.KindBadRequest}, {"PUT", "/prefixes/ex", "", 400, problem.KindBadParameter},
		{"PUT", "/prefixes/ex?iri=relative", "", 400, problem.KindBadParameter}, {"PUT", "/prefixes/1?iri=http://a/", "", 400, problem.KindBadParameter},
		{"PUT", "/prefixes/xsd?iri=http://a/", "", 400, problem.KindBadParameter}, {"POST", "/prefixes", `{"1":"http://a/"}`, 400, problem.KindBadRequest},
		{"POST", "/prefixes", `[]`, 400, problem.KindBadRequest},
	} {
		headers := []string{}
		if c.body != "" {
			headers = append(headers, "Content-Type", "application/json")
		}
		if got := s.do(c.method, c.target, c.body, headers...); got.status != c.status || got.wireError(t).Kind != c.kind {
			t.Errorf("%s %s: %+v", c.method, c.target, got)
		}
	}
	readOnly, _ := serveTriples(t, "", Options{ReadOnly: true})
	if got := readOnly.do("PUT", "/prefixes/ex?iri=http://ex/", ""); got.status != http.StatusForbidden {
		t.Errorf("read-only: %+v", got)
	}
}

// TestTurtleAnswers: answers in Turtle have the prefixes of the store that they use, and those of the query
// first.
func TestTurtleAnswers(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	s.do("POST", "/load", "@prefix ex: <http://ex/> .\n@prefix un: <http://unused/> .\nex:s a ex:T ; ex:p \"2024-01-31\"^^<http://www.w3.org/2001/XMLSchema#date> .\n", "Content-Type", "text/turtle")
	const body = "ex:s ex:p \"2024-01-31\"^^xsd:date ;\n    a ex:T .\n"
	const head = "@prefix ex: <http://ex/> .\n@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
	if got := s.get("/data?default", "Accept", "text/turtle").body; got != head+body {
		t.Errorf("%s", got)
	}
	query := func(text string) string {
		return s.get(target("/sparql", "query", text), "Accept", "text/turtle").body
	}
	if got := query("CONSTRUCT WHERE { ?s ?p ?o }"); got != head+body {
		t.Errorf("%s", got)
	}
	if got := query("PREFIX e: <http://ex/> CONSTRUCT WHERE { ?s a ?o }"); got != "@prefix e: <http://ex/> .\ne:s a e:T .\n" {
		t.Errorf("%s", got)
	}
	// SPARQL has no prefixes but those of its text.
	if got := s.get(target("/sparql", "query", "SELECT * { ?s a ex:T }")); got.status != http.StatusBadRequest {
		t.Errorf("%+v", got)
	}
}

// TestPrefixesOfParameters: patterns and bounds may name terms with prefixes of the store.
func TestPrefixesOfParameters(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	if got := s.do("POST", "/load", "@prefix ex: <http://example.org/> .\nex:a ex:age 42 ; a ex:Person .\nex:b ex:age 7 .\n", "Content-Type", "text/turtle"); got.status >= 300 {
		t.Fatalf("%+v", got)
	}
	const age = "<http://example.org/a> <http://example.org/age> \"42\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n"
	for _, test := range []struct{ target, want string }{
		{target("/triples", "s", "ex:a", "p", "ex:age"), age},
		{target("/triples", "p", "ex:age", "o", `"42"^^xsd:integer`), age},
		{target("/triples", "p", "a", "o", "ex:Person"), "<http://example.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/Person> .\n"},
		{target("/range", "order", "pos", "prefix", "ex:age", "ge", "10"), age},
		{target("/range", "order", "spo", "prefix", "ex:a ex:age"), age},
		{target("/range", "order", "spo", "prefix", "ex:a", "starts", "ex:ag"), age},
		{target("/range", "order", "spo", "from", "ex:a ex:age", "until", "ex:a ex:b"), age},
	} {
		if got := s.get(test.target, "Accept", "application/n-triples"); got.status != http.StatusOK || got.body != test.want {
			t.Errorf("%s: %+v, want %s", test.target, got, test.want)
		}
	}
	if got := s.get(target("/triples", "s", "none:a")); got.status != http.StatusBadRequest || !strings.Contains(got.body, "none:a") || !strings.Contains(got.body, "a prefix of the store") {
		t.Errorf("%+v", got)
	}
}
