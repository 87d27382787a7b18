// Tests of trefoil search and trefoil text.

package cli

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/testing/serving"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/internal/textsearch"
)

// serveTexts returns the flags for a server with a text index.
func serveTexts(t *testing.T) []string {
	db := storetest.Open(t)
	index, err := textsearch.Open(db, textsearch.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CloseLater(t, index)
	return []string{"--to", serving.Serve(t, db, server.Options{Text: index})}
}

// TestSearch: predicates are indexed, and literals are found, on a server.
func TestSearch(t *testing.T) {
	file := write(t, "labels.ttl", `@prefix ex: <http://labels.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:a rdfs:label "A graph store"@en ; ex:note "a note" .
ex:b rdfs:label "relational database" .
`)
	flags := serveTexts(t)
	with := func(more ...string) []string { return append(more, flags...) }
	want(t, exitDone, "added 3 triples", with("add", file)...)
	want(t, exitFailed, "no predicate is indexed", with("search", "graph")...)
	want(t, exitDone, "", with("text", "add", "rdfs:label", "--wait")...)
	want(t, exitDone, "http://www.w3.org/2000/01/rdf-schema#label  2 literals  5 words", with("text")...)
	want(t, exitDone, "  no trigrams  ready", with("text")...)
	want(t, exitDone, "", with("text", "add", "rdfs:label", "--trigrams", "--wait")...)
	want(t, exitDone, " of them trigrams  ready", with("text")...)
	want(t, exitDone, `"trigrams":true,"trigramBytes":`, with("text", "--format", "json")...)
	want(t, exitDone, "A \u27e6graph\u27e7 \u27e6store\u27e7", with("search", "graph stores")...)
	want(t, exitDone, "<http://labels.example/b>", with("search", "relational -graph", "-p", "rdfs:label")...)
	want(t, exitDone, `"more":false`, with("search", "--format", "json", "--lang", "en", "stor*")...)
	want(t, exitFailed, "trefoil text add makes one", with("search", "-p", "ex:note", "note")...)
	want(t, exitDone, "a \u27e6note\u27e7", with("search", "-p", "ex:note", "--scan", "note")...)
	want(t, exitFailed, "a * needs the beginning of a word", with("search", "*")...)
	want(t, exitDone, "", with("text", "add", "<http://labels.example/note>", "--wait")...)
	want(t, exitDone, `"complete":true`, with("text", "--format", "json")...)
	want(t, exitDone, "", with("text", "remove", "ex:note")...)
	want(t, exitFailed, "not indexed", with("text", "remove", "ex:note")...)
}
