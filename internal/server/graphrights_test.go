// Tests of users with some graphs only.

package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
)

// graphNames are the graphs of the tests, as N-Quads and as users have them.
var graphNames = []struct{ quad, user string }{
	{"", "default"}, {"<urn:g:1>", "urn:g:1"}, {"<urn:g:2>", "urn:g:2"}, {"<urn:g:3>", "urn:g:3"}, {"<urn:g:" + strings.Repeat("x", 1100) + ">", "urn:g:" + strings.Repeat("x", 1100)},
}

// randomQuads returns N-Quads by graph. Triples are often in several graphs.
func randomQuads(random *rand.Rand, n int) [][]string {
	quads := make([][]string, len(graphNames))
	for range n {
		g := random.IntN(len(graphNames))
		object := fmt.Sprintf("<urn:n:%d>", random.IntN(9))
		if random.IntN(3) == 0 {
			object = fmt.Sprintf(`"%d"^^<http://www.w3.org/2001/XMLSchema#integer>`, random.IntN(9))
		}
		quads[g] = append(quads[g], fmt.Sprintf("<urn:n:%d> <urn:p:%d> %s %s .\n", random.IntN(9), random.IntN(3), object, graphNames[g].quad))
	}
	return quads
}

// limitedReads are reads of everything that a user with some graphs only may use. Queries are sent to /sparql.
func limitedReads() (targets []string) {
	for _, g := range graphNames {
		name := strings.ReplaceAll(g.user, "urn", "<urn")
		if g.quad != "" {
			name += ">"
			targets = append(targets, target("/data", "graph", g.user), target("/range", "order", "gspo", "prefix", name),
				target("/sparql", "query", "SELECT * FROM "+name+" FROM NAMED "+name+" { ?s ?p ?o }"),
				target("/sparql", "query", "ASK { GRAPH "+name+" { ?s ?p ?o } }"),
				target("/sparql", "query", "SELECT (COUNT(*) AS ?n) { GRAPH "+name+" { ?s ?p ?o } }"))
		}
		targets = append(targets, target("/triples", "g", name), target("/count", "g", name), target("/count", "g", name, "estimate", "true"),
			target("/fragments", "graph", name))
	}
	targets = append(targets, "/data?default", "/data", "/triples", "/triples?limit=7", "/triples?offset=3", "/triples?offset=1000", "/triples?offset=5&limit=6", "/count", "/count?estimate=true", "/fragments", "/prefixes", "/prefixes/secret",
		target("/triples", "s", "<urn:n:1>"), target("/triples", "p", "<urn:p:1>", "annotations", "true"), target("/count", "p", "<urn:p:1>"), target("/count", "o", "<urn:n:1>", "estimate", "true"))
	for _, order := range []string{"spo", "pos", "osp", "gspo"} {
		targets = append(targets, target("/range", "order", order), target("/range", "order", order, "limit", "5"), target("/range", "order", order, "offset", "9"), target("/range", "order", order, "offset", "4", "limit", "5"), target("/range", "order", order, "reverse", "true"))
	}
	for _, query := range []string{
		"SELECT * { ?s ?p ?o }", "SELECT * { GRAPH ?g { ?s ?p ?o } }", "SELECT DISTINCT ?g { GRAPH ?g { } }", "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }",
		"SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g", "SELECT (COUNT(DISTINCT ?p) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }",
		"SELECT ?p (COUNT(*) AS ?n) (SUM(?o) AS ?sum) { ?s ?p ?o } GROUP BY ?p", "SELECT * { ?a <urn:p:1> ?b . ?b <urn:p:2> ?c }", "SELECT * { ?a <urn:p:1>+ ?b }", "SELECT * { GRAPH ?g { ?a <urn:p:1>/<urn:p:2>* ?b } }",
		"SELECT * { ?a <urn:p:0> ?b OPTIONAL { GRAPH ?g { ?b ?q ?c } } }", "SELECT * { ?a ?p ?b FILTER NOT EXISTS { GRAPH ?g { ?a ?p ?b } } }", "SELECT * { ?a ?p ?b MINUS { GRAPH <urn:g:2> { ?a ?p ?b } } }",
		"SELECT (MAX(?o) AS ?m) { GRAPH ?g { ?s ?p ?o } }", "CONSTRUCT { ?s ?p ?g } { GRAPH ?g { ?s ?p ?o } }", "DESCRIBE <urn:n:1>", "ASK { GRAPH ?g { <urn:n:1> ?p ?o } }",
		"SELECT * FROM <urn:g:1> FROM <urn:g:2> { ?s ?p ?o }", "SELECT * { VALUES ?g { <urn:g:1> <urn:g:3> } GRAPH ?g { ?s ?p ?o } }", "SELECT * { ?a ?p ?b . ?a ?p ?c . ?a ?q ?d }",
		"SELECT * { SERVICE <urn:trefoil:annotations> { ?x ?y ?z } }",
	} {
		targets = append(targets, target("/sparql", "query", query))
	}
	return targets
}

// plain returns an answer for a comparison: sorted lines, without the address of the server and the times.
func (s *testServer) plain(target string, headers ...string) string {
	got := s.get(target, headers...)
	body := strings.ReplaceAll(got.body, s.url, "")
	lines := strings.Split(body, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, ",") // which the last row of a result does not have
	}
	slices.Sort(lines)
	return fmt.Sprintf("%d %s %s", got.status, got.next(s.t), strings.Join(lines, "\n"))
}

// TestLimitedReads: a user with some graphs gets the same answers as from a store that has only these.
func TestLimitedReads(t *testing.T) {
	random := seed.Rand(t)
	for round := range 6 {
		union := round%2 == 1
		quads := randomQuads(random, 60)
		var visible, all strings.Builder
		limited := newUser("limited", "read")
		for i, g := range graphNames {
			all.WriteString(strings.Join(quads[i], ""))
			if random.IntN(2) == 0 || round == 0 && i == 0 {
				visible.WriteString(strings.Join(quads[i], ""))
				limited.ReadGraphs = append(limited.ReadGraphs, g.user)
			}
		}
		if len(limited.ReadGraphs) == 0 {
			limited.ReadGraphs = []string{"urn:g:none"}
		}
		serveQuads := func(nquads string, users ...access.User) *testServer {
			db := newStore(t)
			if nquads != "" {
				addQuads(t, db, nquads)
			}
			return serve(t, db, Options{Users: users, Engine: newEngine(t, db, engine.Options{UnionDefaultGraph: union})}, ServerOptions{})
		}
		want, got := serveQuads(visible.String()), serveQuads(all.String(), limited, newUser("admin", "admin"))
		admin := append(basic("admin", "admin"), "Content-Type", "application/json")
		if a := got.do("POST", "/prefixes", `{"secret":"urn:secret:"}`, admin...); a.status >= 300 {
			t.Fatal(a)
		}
		for _, target := range limitedReads() {
			next := target
			for page := 0; next != "" && page < 20; page++ {
				wanted := want.plain(next)
				if have := got.plain(next, basic("limited", "limited")...); have != wanted {
					t.Fatalf("graphs %q: %s\nanswers %s\nbut should %s", limited.ReadGraphs, next, have, wanted)
				}
				next = want.get(next).next(t)
			}
		}
	}
}

// TestLimitedRefusals: what cannot be limited to graphs is refused, with the reason, and no answer has a tag.
func TestLimitedRefusals(t *testing.T) {
	limited := newUser("limited", "read")
	limited.ReadGraphs = []string{"default"}
	db, graph := newStore(t), linkstest.New()
	addQuads(t, db, "<urn:a> <urn:l> <urn:b> .\n")
	edges := func(context.Context, store.Reader) (links.Graph, error) {
		t.Error("a path reads the graph of links")
		return graph, nil
	}
	queries := newEngine(t, db, engine.Options{Links: linksOf(graph), LinkEdges: edges, LinkPredicate: "urn:l"})
	s := serve(t, db, Options{Users: []access.User{limited}, Engine: queries}, ServerOptions{})
	headers := basic("limited", "limited")
	for _, explain := range []string{"true", "run"} {
		got := s.get(target("/sparql", "query", "SELECT * { ?s ?p ?o }", "explain", explain), headers...)
		if got.status != http.StatusForbidden {
			t.Errorf("explain=%s: %d %s", explain, got.status, got.body)
		}
	}
	if got := s.get(target("/sparql", "query", "PREFIX links: <urn:trefoil:links:> SELECT * { <http://a.example/> links:outDegree ?n }"), headers...); got.status != http.StatusForbidden {
		t.Errorf("a function of links: %d %s", got.status, got.body)
	}
	if got := s.get(target("/sparql", "query", "SELECT * { <urn:a> <urn:l>+ ?b }"), append(headers, "Accept", "text/csv")...); got.status != http.StatusOK || !strings.Contains(got.body, "urn:b") {
		t.Errorf("a path over links: %d %s", got.status, got.body)
	}
	for _, path := range []string{"/data?default", target("/sparql", "query", "SELECT * { ?s ?p ?o }")} {
		if got := s.get(path, headers...); got.status != http.StatusOK || got.header.Get("ETag") != "" {
			t.Errorf("%s: %d, tag %q", path, got.status, got.header.Get("ETag"))
		}
	}
	if got := s.get("/status", headers...); got.status != http.StatusForbidden || !regexp.MustCompile("some graphs only").MatchString(got.body) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestLimitedWrites: a user with some graphs changes these only. Any other change is refused whole, and names the graph.
func TestLimitedWrites(t *testing.T) {
	const start = "<urn:s> <urn:p> \"d\" .\n<urn:s> <urn:p> \"1\" <urn:g:1> .\n<urn:s> <urn:p> \"2\" <urn:g:2> .\n<urn:s> <urn:p> \"3\" <urn:g:3> .\n"
	limited := newUser("limited", "write")
	limited.ReadGraphs, limited.WriteGraphs = []string{"urn:g:2"}, []string{"urn:g:1"}
	for _, c := range []struct {
		method, target, contentType, body string
		status                            int
		words                             string // in the message
	}{
		{"POST", "/triples", "application/n-quads", "<urn:a> <urn:b> <urn:c> <urn:g:1> .", 200, ""},
		{"POST", "/triples", "application/n-quads", "<urn:a> <urn:b> <urn:c> .", 403, "the default graph"},
		{"POST", "/triples", "application/n-quads", "<urn:a> <urn:b> <urn:c> <urn:g:1> .\n<urn:a> <urn:b> <urn:c> <urn:g:3> .", 403, "<urn:g:3>"},
		{"DELETE", "/triples", "application/n-quads", "<urn:s> <urn:p> \"2\" <urn:g:2> .", 403, "<urn:g:2>"},
		{"DELETE", "/triples", "application/n-quads", "<urn:s> <urn:p> \"1\" <urn:g:1> .", 200, ""},
		{"DELETE", "/triples?g=default", "", "", 403, "the default graph"},
		{"DELETE", "/triples?g=%3Curn:g:3%3E", "", "", 403, "<urn:g:3>"},
		{"DELETE", "/triples?s=%3Curn:s%3E", "", "", 403, "one by one"},
		{"DELETE", "/triples?g=%3Curn:g:1%3E", "", "", 200, ""},
		{"PUT", "/data?graph=urn:g:1", "text/turtle", "<urn:a> <urn:b> <urn:c> .", 204, ""},
		{"PUT", "/data?graph=urn:g:2", "text/turtle", "<urn:a> <urn:b> <urn:c> .", 403, "<urn:g:2>"},
		{"PUT", "/data?default", "text/turtle", "<urn:a> <urn:b> <urn:c> .", 403, "the default graph"},
		{"PUT", "/data", "application/n-quads", "<urn:a> <urn:b> <urn:c> <urn:g:1> .", 403, "one by one"},
		{"POST", "/data", "application/n-quads", "<urn:a> <urn:b> <urn:c> <urn:g:3> .", 403, "<urn:g:3>"},
		{"POST", "/data", "text/turtle", "<urn:a> <urn:b> <urn:c> .", 403, "/data/"},
		{"POST", "/data?graph=urn:g:1", "text/turtle", "@prefix secret: <urn:secret:> . <urn:a> <urn:b> <urn:c> .", 200, ""},
		{"DELETE", "/data?graph=urn:g:3", "", "", 403, "<urn:g:3>"},
		{"DELETE", "/data?graph=urn:g:1", "", "", 200, ""},
		{"POST", "/sparql", "update", "INSERT DATA { GRAPH <urn:g:1> { <urn:a> <urn:b> <urn:c> } }", 200, ""},
		{"POST", "/update", "update", "INSERT DATA { GRAPH <urn:g:1> { <urn:a> <urn:b> <urn:c> } GRAPH <urn:g:3> { <urn:a> <urn:b> <urn:c> } }", 403, "<urn:g:3>"},
		{"POST", "/sparql", "update", "INSERT DATA { <urn:a> <urn:b> <urn:c> }", 403, "the default graph"},
		{"POST", "/query", "update", "DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }", 403, "<urn:g:2>"},
		{"POST", "/sparql", "update", "CLEAR ALL", 403, "one by one"},
		{"POST", "/sparql", "update", "DROP DEFAULT", 403, "the default graph"},
		{"POST", "/sparql", "update", "CLEAR GRAPH <urn:g:2>", 403, "<urn:g:2>"},
		{"POST", "/sparql", "update", "MOVE <urn:g:2> TO <urn:g:1>", 403, "<urn:g:2>"},
		{"POST", "/sparql", "update", "COPY <urn:g:1> TO <urn:g:3>", 403, "<urn:g:3>"},
		{"POST", "/sparql", "update", "COPY <urn:g:2> TO <urn:g:1>", 200, ""},
		{"POST", "/sparql", "update", "CLEAR GRAPH <urn:g:1> ; INSERT DATA { GRAPH <urn:g:1> { <urn:a> <urn:b> 1 } }", 200, ""},
		// What is not readable is not there.
		{"POST", "/sparql", "update", "COPY <urn:g:3> TO <urn:g:1>", 409, "urn:g:3"},
		{"POST", "/sparql", "update", "INSERT { GRAPH <urn:g:1> { ?s <urn:stolen> ?o } } WHERE { { ?s ?p ?o } UNION { GRAPH <urn:g:3> { ?s ?p ?o } } }", 200, ""},
	} {
		t.Run(c.method+" "+c.target+" "+c.body, func(t *testing.T) {
			s, _ := serveTriples(t, start, Options{Users: []access.User{limited, newUser("admin", "admin"), newUser("reader", "read")}})
			if c.contentType == "update" {
				c.contentType = "application/sparql-update"
			}
			send := func(user string) answer {
				headers := basic(user, user)
				if c.body != "" {
					headers = append(headers, "Content-Type", c.contentType)
				}
				return s.do(c.method, c.target, c.body, headers...)
			}
			dump := func() string {
				return s.plain("/data", append(basic("admin", "admin"), "Accept", "application/n-quads")...)
			}
			before := dump()
			if got := send("reader"); got.status != http.StatusForbidden || dump() != before {
				t.Errorf("a reader gets %d %s", got.status, got.body)
			}
			got := send("limited")
			if got.status != c.status || c.words != "" && !strings.Contains(got.wireError(t).Message, c.words) {
				t.Errorf("answered %d %s", got.status, got.body)
			}
			after := dump()
			if got.status >= 300 && after != before {
				t.Errorf("it was refused, but %s became %s", before, after)
			}
			for _, kept := range []string{`"d" .`, `"2" <urn:g:2> .`, `"3" <urn:g:3> .`} {
				if !strings.Contains(after, kept) {
					t.Errorf("%s is gone: %s", kept, after)
				}
			}
			if strings.Contains(after, "stolen") {
				t.Errorf("an update has read other graphs: %s", after)
			}
			if got := s.get("/prefixes", basic("admin", "admin")...); strings.Contains(got.body, "secret") {
				t.Error("a prefix of a user with some graphs is kept for all")
			}
		})
	}
}
