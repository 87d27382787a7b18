// VoID, and the counts of the service description.

package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/links/linkstest"
)

// TestVoID: the counts are exact, follow each change, and are left out if there is no time for them.
func TestVoID(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	counts := func() []string {
		got := s.get("/.well-known/void", "Accept", "application/n-triples")
		if got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		var all []string
		for line := range strings.Lines(got.body) {
			line = strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(line), " ."), s.url, "")
			line = strings.ReplaceAll(line, "http://rdfs.org/ns/void#", "void:")
			all = append(all, strings.ReplaceAll(line, "^^<http://www.w3.org/2001/XMLSchema#integer>", ""))
		}
		return all
	}
	has := func(all []string, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if !slices.Contains(all, line) {
				t.Errorf("%s is not in\n%s", line, strings.Join(all, "\n"))
			}
		}
	}
	data := "</.well-known/void#dataset> <void:"
	has(counts(), data+`sparqlEndpoint> </sparql>`, data+`dataDump> </data>`, data+`triples> "9"`, data+`properties> "4"`, data+`classes> "1"`,
		data+`distinctSubjects> "5"`, data+`distinctObjects> "9"`, `_:p0 <void:property> <http://example.org/size>`, `_:p0 <void:triples> "4"`,
		`_:c0 <void:class> <http://example.org/Person>`, `_:c0 <void:entities> "1"`, `_:g0 <void:triples> "1"`)
	// 1. The answer is known by its tag until a triple changes.
	tag := s.get("/.well-known/void").header.Get("ETag")
	if got := s.get("/.well-known/void", "If-None-Match", tag); got.status != http.StatusNotModified {
		t.Errorf("the tag %q answers %d", tag, got.status)
	}
	// 2. Counts are kept until then: no time is needed for them.
	s.api.sparql.CountTime = 1
	has(counts(), data+`triples> "9"`)
	s.do(http.MethodPost, "/triples", "<http://example.org/e> a <http://example.org/Person> .", "Content-Type", "text/turtle")
	late := counts()
	has(late, data+`sparqlEndpoint> </sparql>`)
	if slices.ContainsFunc(late, func(line string) bool { return strings.Contains(line, `"`) }) {
		t.Errorf("there are counts without time for them:\n%s", strings.Join(late, "\n"))
	}
	if got := s.get("/.well-known/void"); got.header.Get("ETag") != "" {
		t.Errorf("an answer without counts has the tag %s", got.header.Get("ETag"))
	}
	// 3. A change lets it count again.
	s.api.sparql.CountTime = 1e11
	s.do(http.MethodPost, "/triples", "<http://example.org/f> a <http://example.org/Person> .", "Content-Type", "text/turtle")
	has(counts(), data+`triples> "11"`, `_:c0 <void:entities> "3"`)
}

// TestDescriptionsHideGraphs: a user of some graphs does not learn the names and counts of others, which
// are kept for those who may read them.
func TestDescriptionsHideGraphs(t *testing.T) {
	limited := newUser("limited", "read")
	limited.ReadGraphs = []string{"default"}
	s, _ := serveTriples(t, sampleQuads, Options{Users: []access.User{newUser("reader", "read"), limited}})
	get := func(user, path string) answer {
		return s.get(path, append(basic(user, user), "Accept", "application/n-triples")...)
	}
	if got := get("reader", "/sparql"); !strings.Contains(got.body, "example.org/g>") {
		t.Errorf("a reader does not get the graph: %d %s", got.status, got.body)
	}
	if got := get("limited", "/sparql"); got.status != http.StatusOK || strings.Contains(got.body, "example.org/g>") {
		t.Errorf("a user of the default graph gets another one: %d %s", got.status, got.body)
	}
	get("limited", "/.well-known/void").wantError(t, http.StatusForbidden, problem.KindForbidden, "Authorization", "all graphs")
}

// TestServiceDescriptionFeatures: named graphs with counts, entailment, input formats and functions.
func TestServiceDescriptionFeatures(t *testing.T) {
	s := serveFunctions(t, Options{Links: linkstest.New()})
	s.do(http.MethodPost, "/triples", "<http://e.x/a> <http://e.x/b> 1, 2 <http://e.x/g> .", "Content-Type", "application/trig")
	s.do(http.MethodPut, "/data?graph=http://e.x/g", "<http://e.x/a> <http://e.x/b> 1, 2 .", "Content-Type", "text/turtle")
	got := s.get("/sparql", "Accept", "application/n-triples").body
	sd := "<http://www.w3.org/ns/sparql-service-description#"
	for _, part := range []string{
		sd + "name> <http://e.x/g>", `<http://rdfs.org/ns/void#triples> "2"`, sd + "defaultEntailmentRegime> <http://www.w3.org/ns/entailment/Simple>",
		sd + "inputFormat> <http://www.w3.org/ns/formats/TriG>", sd + "propertyFeature> <urn:trefoil:links:salsa>",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is missing in\n%s", part, got)
		}
	}
	var many strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&many, "<http://e.x/a> <http://e.x/b> <http://e.x/c> <http://e.x/g%d> .\n", i)
	}
	s.do(http.MethodPost, "/triples", many.String(), "Content-Type", "application/n-quads")
	if got := s.get("/sparql", "Accept", "application/n-triples").body; strings.Contains(got, "namedGraph") || !strings.Contains(got, sd+"defaultGraph>") {
		t.Errorf("more than 1,000 graphs are listed:\n%.2000s", got)
	}
	lone, _ := serveTriples(t, "", Options{ReadOnly: true})
	if got := lone.get("/sparql", "Accept", "application/n-triples").body; strings.Contains(got, "inputFormat") || strings.Contains(got, "propertyFeature") {
		t.Errorf("a read-only node without links has\n%s", got)
	}
}
