// Tests of /search and /text.

package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textsearch"
)

// newText returns the text index of a store, for a test.
func newText(t testing.TB, db *store.Store) *textsearch.Index {
	t.Helper()
	index, err := textsearch.Open(db, textsearch.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := index.Close(); err != nil {
			t.Error(err)
		}
	})
	return index
}

// TestText: predicates are indexed, listed and removed, and a search has hits with snippets and subjects.
func TestText(t *testing.T) {
	db := newStore(t)
	index := newText(t, db)
	s := serve(t, db, Options{Text: index}, ServerOptions{})
	label := "<http://www.w3.org/2000/01/rdf-schema#label>"
	put := func(text string) {
		t.Helper()
		if got := s.do(http.MethodPost, "/triples", text, "Content-Type", "application/n-triples"); got.status != http.StatusOK {
			t.Fatalf("%+v", got)
		}
	}
	put(`<x:a> ` + label + ` "A graph store"@en .` + "\n" + `<x:b> ` + label + ` "relational store" .`)
	// 1. Without an index.
	if got := s.get("/search?q=graph"); got.status != http.StatusConflict || !strings.Contains(got.body, "not-indexed") {
		t.Errorf("%+v", got)
	}
	// A predicate without triples has no literals, so a scan of it is complete.
	if got := s.get("/search?q=graph&scan=true&p=%3Cx:none%3E"); got.status != http.StatusOK || strings.TrimSpace(got.body) != `{"hits":[],"more":false}` {
		t.Errorf("%+v", got)
	}
	if got := s.do(http.MethodPut, "/text?p=rdfs:label", ""); got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := index.Await(ctx); err != nil {
		t.Fatal(err)
	}
	for _, trigrams := range []string{"true", "false"} {
		if got := s.do(http.MethodPut, "/text?p=rdfs:label&trigrams="+trigrams, ""); got.status != http.StatusOK {
			t.Fatalf("%+v", got)
		}
		if err := index.Await(ctx); err != nil {
			t.Fatal(err)
		}
		if got := s.get("/text"); !strings.Contains(got.body, `"trigrams":`+trigrams) {
			t.Errorf("with trigrams=%s: %+v", trigrams, got)
		}
	}
	if got := s.do(http.MethodPut, "/text?p=rdfs:label&trigrams=perhaps", ""); got.status != http.StatusBadRequest || !strings.Contains(got.body, "trigrams") {
		t.Errorf("%+v", got)
	}
	// 2. With one: a search sees the change before it.
	put(`<x:c> ` + label + ` "graph of stores"@en .`)
	got := s.get("/search?q=stor*&subjects=2&lang=en&limit=1")
	var answer struct {
		Hits []struct {
			Text, Lang, Snippet string
			Score               float64
			Subjects            []string
		}
		More bool
	}
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil || got.status != http.StatusOK {
		t.Fatalf("%+v %v", got, err)
	}
	if len(answer.Hits) != 1 || !answer.More || answer.Hits[0].Score <= 0 || len(answer.Hits[0].Subjects) != 1 || !strings.Contains(answer.Hits[0].Snippet, "\u27e6store") {
		t.Errorf("%s", got.body)
	}
	if got := s.get("/search?q=stor*&lang=none"); !strings.Contains(got.body, `"text":"relational store"`) || strings.Contains(got.body, "graph") {
		t.Errorf("without a language: %s", got.body)
	}
	if got := s.get("/search?q=relational&brief=true"); strings.Contains(got.body, `"text"`) || !strings.Contains(got.body, `"snippet":"`+"\u27e6relational\u27e7 store") {
		t.Errorf("brief: %s", got.body)
	}
	// A subject counts once, also if it has the literal in a graph.
	if got := s.do(http.MethodPost, "/triples", `<x:b> `+label+` "relational store" <x:g> .`, "Content-Type", "application/n-quads"); got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	if got := s.get("/search?q=relational&subjects=5"); strings.Count(got.body, "<x:b>")+strings.Count(got.body, `\u003cx:b`) != 1 {
		t.Errorf("subjects: %s", got.body)
	}
	// 3. Errors name the parameter.
	for target, want := range map[string]string{
		"/search":                       `"where":"q"`,
		"/search?q=*":                   `"where":"q"`,
		"/search?q=a&limit=1001":        `"where":"limit"`,
		"/search?q=a&subjects=101":      `"where":"subjects"`,
		"/search?q=a&scan=perhaps":      `"where":"scan"`,
		"/search?q=a&brief=perhaps":     `"where":"brief"`,
		"/search?q=a&p=%3Cx:p%3E":       `"kind":"not-indexed"`,
		"/search?q=-a":                  "nothing but excluded words",
		"/search?q=graph&unknown=graph": `"where":"unknown"`,
	} {
		if got := s.get(target); got.status < 400 || got.status >= 500 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", target, got.status, got.body)
		}
	}
	// 4. The list, and the end of the index.
	if got := s.get("/text"); !strings.Contains(got.body, `"documents":3`) || !strings.Contains(got.body, `"complete":true`) {
		t.Errorf("%s", got.body)
	}
	if got := s.get("/metrics"); !strings.Contains(got.body, `trefoil_text_documents{predicate="http://www.w3.org/2000/01/rdf-schema#label"} 3`) {
		t.Error("no metric of the indexed literals")
	}
	if got := s.do(http.MethodDelete, "/text?p=rdfs:label", ""); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	if got := s.do(http.MethodDelete, "/text?p=rdfs:label", ""); got.status != http.StatusNotFound {
		t.Errorf("%+v", got)
	}
	if got := s.get("/search?q=graph"); got.status != http.StatusConflict {
		t.Errorf("%+v", got)
	}
}
