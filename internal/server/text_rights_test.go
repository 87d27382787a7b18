// Text search of users with some graphs only.

package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/triple"
)

// TestTextRights: what a user with some graphs finds is the same, to the last digit of a score, as in a store that has
// only these graphs.
func TestTextRights(t *testing.T) {
	all := graphTexts(seed.Rand(t))
	for i := range 500 { // another graph has many literals, and a word that no other has
		all = append(all, triple.Triple{Subject: triple.NewIRI("x:hidden"), Predicate: triple.NewIRI("x:p"), Object: triple.NewString(fmt.Sprint("graph secret ", i)), Graph: triple.NewIRI("x:g2")})
	}
	for i := range 400 { // rows of one literal
		all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:many", i)), Predicate: triple.NewIRI("x:q"), Object: triple.NewString("graph common"), Graph: triple.NewIRI("x:g0")})
	}
	limited := newUser("limited", "read")
	limited.ReadGraphs = []string{"default", "x:g0"}
	var visible []triple.Triple
	for _, tr := range all {
		if tr.Graph.IsZero() || tr.Graph.Value() == "x:g0" {
			visible = append(visible, tr)
		}
	}
	want, got := serveIndexed(t, visible, graphPredicates, engine.Options{}, limited), serveIndexed(t, all, graphPredicates, engine.Options{}, limited, newUser("reader", "read"))
	const text = "PREFIX text: <urn:trefoil:text:> "
	found := 0
	for _, target := range []string{
		"/search?q=graph&limit=1000&subjects=100", "/search?q=graph+OR+secret&limit=20&subjects=1", "/search?q=secret", "/search?q=gra*+-secret&limit=3",
		"/search?q=%22graph+common%22&subjects=3", "/search?q=grapf~1&limit=5&brief=true", "/search?q=store&p=%3Cx:q%3E&limit=100", "/search?q=store&p=%3Cx:r%3E&scan=true&limit=100", "/search?q=store&lang=de", "/text",
		target("/sparql", "query", text+`SELECT ?l ?n ?t { ?l text:matches "graph" ; text:score ?n ; text:snippet ?t } ORDER BY DESC(?n) ?l`),
		target("/sparql", "query", text+`SELECT ?g ?l ?n { GRAPH ?g { ?l text:matches "graph OR secret" ; text:score ?n } } ORDER BY ?g ?l`),
		target("/sparql", "query", text+`SELECT ?s ?l { ?s <x:p> ?l . ?l text:matches "node" } ORDER BY ?s ?l`),
		target("/sparql", "query", text+`SELECT ?l ?n { VALUES ?l { "graph common" "graph secret 7" "none" } ?l text:matches "graph OR secret" ; text:score ?n }`),
		target("/sparql", "query", text+`SELECT ?l { GRAPH <x:g2> { ?l text:matches "graph" } }`),
		target("/sparql", "query", text+`SELECT (COUNT(*) AS ?n) { ?l text:matches "graph" ; text:predicate <x:r> ; text:scan true }`),
	} {
		headers := append(basic("limited", "limited"), "Accept", "application/json")
		if strings.HasPrefix(target, "/sparql") {
			headers[len(headers)-1] = "text/csv"
		}
		w, g := want.get(target, headers...), got.get(target, headers...)
		if w.status != http.StatusOK || w.body != g.body {
			t.Errorf("%s\nanswers %d %.600s\nbut should %d %.600s", target, g.status, g.body, w.status, w.body)
		}
		found += len(g.body)
	}
	if found < 4_000 {
		t.Errorf("the answers have %d bytes, which is few", found)
	}
	// A user with all graphs finds the others.
	if all := got.get("/search?q=secret", basic("reader", "reader")...); !strings.Contains(all.body, "secret") {
		t.Errorf("%s", all.body)
	}
	if list := got.get("/text", basic("limited", "limited")...); strings.Contains(list.body, "documents") || !strings.Contains(list.body, `"predicate":"x:p","complete":true`) {
		t.Errorf("%s", list.body)
	}
	if got := got.get(target("/sparql", "query", text+`SELECT ?l { ?l text:matches "graph" }`, "explain", "run"), basic("limited", "limited")...); got.status != http.StatusForbidden {
		t.Errorf("a plan: %d %s", got.status, got.body)
	}
}

// TestTextRightsErrors: errors for a user with some graphs only have no figures of the others.
func TestTextRightsErrors(t *testing.T) {
	limited := newUser("limited", "read")
	limited.ReadGraphs = []string{"default"}
	db := newStore(t)
	index, err := textsearch.Open(db, textsearch.Options{Dir: t.TempDir(), Memory: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	if _, err := store.Add(t.Context(), db, []triple.Triple{{Subject: triple.NewIRI("x:s"), Predicate: triple.NewIRI("x:p"), Object: triple.NewString("a graph"), Graph: triple.NewIRI("x:g")}}); err != nil {
		t.Fatal(err)
	}
	if err := index.Add(t.Context(), "x:p"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := index.Await(ctx); err == nil {
		t.Fatal("an index of one byte is complete")
	}
	s := serve(t, db, Options{Text: index, Users: []access.User{limited, newUser("reader", "read")}}, ServerOptions{})
	full, bare := s.get("/search?q=graph", basic("reader", "reader")...), s.get("/search?q=graph", basic("limited", "limited")...)
	if full.status != http.StatusInsufficientStorage || !strings.Contains(full.body, "bytes of memory") {
		t.Errorf("%d %s", full.status, full.body)
	}
	if bare.status != http.StatusInsufficientStorage || strings.Contains(bare.body, "bytes of memory") || !strings.Contains(bare.body, "--text-memory") {
		t.Errorf("%d %s", bare.status, bare.body)
	}
}
