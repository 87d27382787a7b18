// The functions of links in queries over HTTP, and their errors.

package server

import (
	"errors"
	"net/http"
	"testing"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
)

func TestLinkQueries(t *testing.T) {
	db, g := newStore(t), linkstest.New()
	if _, err := g.Update(t.Context(), []links.Change{{Source: "http://a.example/", Targets: []string{"http://b.example/"}}}); err != nil {
		t.Fatal(err)
	}
	s := serve(t, db, Options{Engine: newEngine(t, db, engine.Options{Links: linksOf(g)})}, ServerOptions{})
	ask := func(s *testServer, pattern string) answer {
		return s.get(target("/sparql", "query", "PREFIX links: <urn:trefoil:links:> SELECT * { "+pattern+" }"), "Accept", "text/csv")
	}
	// 1. Queries are answered.
	for _, pattern := range []string{
		"<http://a.example/> links:outDegree ?n",
		"<http://a.example/> links:sample (?n 3)",
		"VALUES ?p { <http://a.example/> } (?p) links:salsa (?n)",
	} {
		if got := ask(s, pattern); got.status != http.StatusOK {
			t.Errorf("%s: %d %v %s", pattern, got.status, got.header, got.body)
		}
	}
	// 2. Each error has its kind.
	const scores = "<http://a.example/> links:pagerank ?s"
	ask(s, scores).wantError(t, 409, problem.KindConflict, "", "POST /links/pagerank")
	ask(s, "?p links:outDegree ?n").wantError(t, 400, problem.KindBadRequest, "", "nothing binds ?p")
	ask(s, "?p links:outdegree ?n").wantError(t, 400, problem.KindSyntax, "query:1:50", "did you mean outDegree?")
	g.Fail(links.ErrLoading)
	if got := ask(s, scores); got.header.Get("Retry-After") == "" {
		t.Errorf("while the graph loads: %v", got.header)
	}
	ask(s, scores).wantError(t, 503, problem.KindLoading, "", "being built")
	g.Fail(errors.New("broken"))
	ask(s, scores).wantError(t, 500, problem.KindInternal, "", "")
	none := serve(t, db, Options{Engine: newEngine(t, db, engine.Options{})}, ServerOptions{})
	ask(none, scores).wantError(t, 400, problem.KindBadRequest, "", "--no-links")
}
