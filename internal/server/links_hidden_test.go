// Tests that clients neither see nor change the UIDs of pages.

package server

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/functions"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// hiddenLinks is a link of a named graph and one of the default graph.
const hiddenLinks = "<http://secret.example/a> <urn:trefoil:linksTo> <http://secret.example/b> <urn:g:1> .\n" +
	"<http://open.example/a> <urn:trefoil:linksTo> <http://open.example/b> .\n"

// serveHidden serves a store with hiddenLinks, whose pages have UIDs.
func serveHidden(t *testing.T, users ...access.User) (*testServer, *store.Store, *linkgraph.Graph) {
	t.Helper()
	return serveGraph(t, hiddenLinks, nil, users...)
}

// serveGraph serves a store with labels of links, and its graph of links.
func serveGraph(t *testing.T, nquads string, labels map[triple.Triple]links.Label, users ...access.User) (*testServer, *store.Store, *linkgraph.Graph) {
	t.Helper()
	db := newStore(t)
	addQuads(t, db, nquads)
	for one, label := range labels {
		if err := store.Annotate(t.Context(), db, one, links.Application, lists.AppendLabel(nil, label)); err != nil {
			t.Fatal(err)
		}
	}
	g, err := linkgraph.Open(db, linkgraph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := g.AwaitCells(t.Context()); err != nil {
		t.Fatal(err)
	}
	service := functions.Open(functions.Options{Store: db, Feed: db.Feed()})
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	queries := newEngine(t, service.Checked(), engine.Options{Links: linksOf(g), LinkPredicate: links.DefaultPredicate})
	return serve(t, service.Checked(), Options{Users: users, Links: g, Engine: queries}, ServerOptions{}), db, g
}

// TestLinksAreHidden: with links, each read of a user answers as from a store that has only the triples of the user's graphs.
func TestLinksAreHidden(t *testing.T) {
	limited, all := newUser("limited", "read"), newUser("all", "read")
	limited.ReadGraphs = []string{"default"}
	s, db, g := serveHidden(t, limited, all)
	known, err := g.UIDs(t.Context(), []string{"http://secret.example/a"})
	if err != nil || known[0] == 0 {
		t.Fatalf("%v, %v: the page has no UID, so the test shows nothing", known, err)
	}
	stored := links.UIDTriple("http://secret.example/a", known[0])
	if n := len(slices.Collect(rowsOf(t, db, stored))); n != 1 {
		t.Fatalf("the store has %d rows of %s", n, stored)
	}
	open, _, _ := strings.Cut(hiddenLinks, "\n")
	plain := func(nquads string) *testServer {
		only := newStore(t)
		addQuads(t, only, nquads)
		return serve(t, only, Options{}, ServerOptions{})
	}
	wants := map[string]*testServer{"limited": plain(strings.TrimPrefix(hiddenLinks, open+"\n")), "all": plain(hiddenLinks)}
	reads := append(limitedReads(),
		target("/triples", "p", "<"+links.UIDPredicate+">"), target("/count", "p", "<"+links.UIDPredicate+">"),
		target("/count", "s", stored.Subject.String()), target("/triples", "s", stored.Subject.String()), target("/triples", "o", stored.Object.String()),
		target("/triples", "g", "<urn:trefoil:system>", "p", "<"+links.UIDPredicate+">"),
		target("/range", "order", "pos", "prefix", "<"+links.UIDPredicate+">"), target("/range", "order", "spo", "from", "<urn:trefoil:system:>", "limit", "3"),
		target("/triples", "limit", "1"), target("/triples", "limit", "1", "offset", "1"), target("/triples", "offset", "2"),
		target("/sparql", "query", "SELECT * { GRAPH <urn:trefoil:system> { ?s <"+links.UIDPredicate+"> ?o } }"),
		target("/sparql", "query", "SELECT * { GRAPH ?g { "+stored.Subject.String()+" ?p ?o } }"),
		target("/sparql", "query", "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s <"+links.UIDPredicate+"> ?o } }"),
		target("/sparql", "query", "DESCRIBE "+stored.Subject.String()))
	for name, want := range wants {
		for _, target := range reads {
			if strings.Contains(target, "prefixes") {
				continue // both have none
			}
			next := target
			for page := 0; next != "" && page < 20; page++ {
				wanted := want.plain(next)
				if have := s.plain(next, basic(name, name)...); have != wanted {
					t.Errorf("%s: %s\nanswers %s\nbut should %s", name, next, have, wanted)
				}
				next = want.get(next).next(t)
			}
		}
	}
	for _, filter := range []string{"", "&g=%3Curn:trefoil:system%3E"} { // users with some graphs have no feed
		got := s.get("/changes?since=0&follow=false"+filter, basic("all", "all")...)
		if got.status != http.StatusOK || strings.Contains(got.body, "urn:trefoil:system:") || filter == "" && !strings.Contains(got.body, "open.example") {
			t.Errorf("the feed of %q: %d %s", filter, got.status, got.body)
		}
	}
}

// rowsOf yields the rows of a triple, past all that hides them.
func rowsOf(t *testing.T, db *store.Store, one triple.Triple) iter.Seq[store.Row] {
	r, err := db.Reader()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return func(yield func(store.Row) bool) {
		for row, err := range r.Match(context.Background(), triple.Exact(one), store.ReadOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if !yield(row) {
				return
			}
		}
	}
}

// TestUIDsAreKept: no write of a client changes a UID, takes one away or gives one to another page.
func TestUIDsAreKept(t *testing.T) {
	writer, limited := newUser("writer", "write", "load"), newUser("limited", "write")
	limited.WriteGraphs = []string{"default", "urn:g:1"}
	s, _, g := serveHidden(t, writer, limited)
	urls := []string{"http://secret.example/a", "http://secret.example/b", "http://open.example/a", "http://open.example/b"}
	before, err := g.UIDs(t.Context(), urls)
	if err != nil || slices.Contains(before, 0) {
		t.Fatal(before, err)
	}
	row := links.UIDTriple(urls[0], before[0]).String() + "\n"
	thief := links.UIDTriple("http://thief.example/", before[0]).String() + "\n"
	quads, update := []string{"Content-Type", "application/n-quads"}, []string{"Content-Type", "application/sparql-update"}
	for name, w := range map[string]struct {
		method, target, body string
		media                []string
		refused              bool
	}{
		"add":           {"POST", "/triples", thief, quads, true},
		"delete":        {"DELETE", "/triples", row, quads, true},
		"load":          {"POST", "/load", thief, quads, true},
		"DELETE DATA":   {"POST", "/sparql", "DELETE DATA { GRAPH <urn:trefoil:system> { " + strings.TrimSuffix(row, " <urn:trefoil:system> .\n") + " } }", update, true},
		"CLEAR GRAPH":   {"POST", "/sparql", "CLEAR GRAPH <urn:trefoil:system>", update, true},
		"PUT":           {"PUT", "/data?graph=urn:trefoil:system", "<a:s> <a:p> <a:o> .\n", quads, true},
		"pattern":       {"DELETE", target("/triples", "p", "<"+links.UIDPredicate+">"), "", nil, false},
		"DELETE WHERE":  {"POST", "/sparql", "DELETE WHERE { ?s ?p ?o }", update, false},
		"CLEAR DEFAULT": {"POST", "/sparql", "CLEAR DEFAULT", update, false},
		"CLEAR ALL":     {"POST", "/sparql", "CLEAR ALL", update, false},
		"DROP NAMED":    {"POST", "/sparql", "DROP NAMED", update, false},
		"PUT all":       {"PUT", "/data", "<a:s> <a:p> <a:o> .\n", quads, false},
	} {
		for _, user := range []string{"writer", "limited"} {
			got := s.do(w.method, w.target, w.body, append(basic(user, user), w.media...)...)
			if w.refused && got.wireError(t).Kind != problem.KindForbidden || user == "writer" && !w.refused && got.status >= 300 {
				t.Errorf("%s of %s: %d %s", name, user, got.status, got.body)
			}
		}
		all := append(slices.Clone(urls), "http://thief.example/")
		after, err := g.UIDs(t.Context(), all)
		for errors.Is(err, links.ErrLoading) { // cleared graphs make it build its cells
			if err := g.AwaitCells(t.Context()); err != nil {
				t.Fatal(err)
			}
			after, err = g.UIDs(t.Context(), all)
		}
		if err != nil || !slices.Equal(after, append(slices.Clone(before), uid.UID(0))) {
			t.Fatalf("%s: the UIDs were %v and are %v, %v", name, before, after, err)
		}
	}
}
