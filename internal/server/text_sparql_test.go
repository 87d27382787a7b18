// Tests of text:matches in SPARQL.

package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// serveTexts serves 300 labels and 300 comments. The labels are indexed.
func serveTexts(t *testing.T) *testServer {
	words := strings.Fields("graph store base triple node")
	var all []triple.Triple
	for i := range 300 {
		s := triple.NewIRI(fmt.Sprint("x:s", i))
		text := fmt.Sprintf("%s %s %s w%d", words[i%5], words[i/5%5], strings.Repeat("pad ", i%7), i)
		all = append(all, triple.Triple{Subject: s, Predicate: triple.NewIRI("x:label"), Object: triple.NewString(text)},
			triple.Triple{Subject: s, Predicate: triple.NewIRI("x:comment"), Object: triple.NewString("graph " + fmt.Sprint(i))},
			triple.Triple{Subject: s, Predicate: triple.NewIRI("x:kind"), Object: triple.NewIRI(fmt.Sprint("x:k", i%3))})
	}
	return serveIndexed(t, all, []string{"x:label"}, engine.Options{})
}

// serveIndexed serves triples with an index of some predicates to the users, everybody if there are none.
func serveIndexed(t *testing.T, all []triple.Triple, predicates []string, o engine.Options, users ...access.User) *testServer {
	t.Helper()
	db := newStore(t)
	index := newText(t, db)
	if _, err := store.Add(t.Context(), db, all); err != nil {
		t.Fatal(err)
	}
	for _, p := range predicates {
		if err := index.Add(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := index.Await(ctx); err != nil {
		t.Fatal(err)
	}
	o.Text = index
	return serve(t, db, Options{Text: index, Users: users, Engine: newEngine(t, db, o)}, ServerOptions{})
}

// rows returns the rows of a query as CSV, without the head.
func (s *testServer) rows(t *testing.T, query string) []string {
	t.Helper()
	got := s.do(http.MethodGet, "/sparql?query="+url.QueryEscape("PREFIX text: <urn:trefoil:text:> "+query), "", "Accept", "text/csv")
	if got.status != http.StatusOK {
		t.Fatalf("%s: %d %s", query, got.status, got.body)
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(got.body, "\r\n", "\n")), "\n")
	return lines[1:]
}

// TestTextSPARQL compares searches in all places of a query with filters that mean the same.
func TestTextSPARQL(t *testing.T) {
	s := serveTexts(t)
	for _, c := range []struct{ search, filter string }{
		{`SELECT ?l { ?l text:matches "graph" }`, `SELECT ?l { ?s <x:label> ?l FILTER CONTAINS(?l, "graph") }`},
		{`SELECT ?s { ?l text:matches "graph -store" . ?s <x:label> ?l }`, `SELECT ?s { ?s <x:label> ?l FILTER(CONTAINS(?l, "graph") && !CONTAINS(?l, "store")) }`},
		{`SELECT ?s { ?s <x:label> ?l . ?l text:matches "w7 OR w8" }`, `SELECT ?s { ?s <x:label> ?l FILTER REGEX(?l, "w[78]$") }`},
		{`SELECT ?s { ?s <x:kind> <x:k1> ; <x:label> ?l . ?l text:matches "graph" }`, `SELECT ?s { ?s <x:kind> <x:k1> ; <x:label> ?l FILTER CONTAINS(?l, "graph") }`},
		{`SELECT ?s ?l { ?s <x:kind> <x:k1> OPTIONAL { ?s <x:label> ?l . ?l text:matches "graph" } }`, `SELECT ?s ?l { ?s <x:kind> <x:k1> OPTIONAL { ?s <x:label> ?l FILTER CONTAINS(?l, "graph") } }`},
		{`SELECT ?s { ?s <x:label> ?l FILTER EXISTS { ?l text:matches "node" } }`, `SELECT ?s { ?s <x:label> ?l FILTER CONTAINS(?l, "node") }`},
		{`SELECT ?s { ?s <x:label> ?l MINUS { ?l text:matches "node" } }`, `SELECT ?s { ?s <x:label> ?l FILTER(!CONTAINS(?l, "node")) }`},
		{`SELECT ?s { { ?l text:matches "node" } UNION { ?l text:matches "base" } ?s <x:label> ?l }`, `SELECT ?s { { ?s <x:label> ?l FILTER CONTAINS(?l, "node") } UNION { ?s <x:label> ?l FILTER CONTAINS(?l, "base") } }`},
		{`SELECT (COUNT(*) AS ?n) { ?a text:matches "node graph" . ?b text:matches "base graph" }`, `SELECT (COUNT(*) AS ?n) { ?s <x:label> ?a . ?r <x:label> ?b FILTER(CONTAINS(?a, "node") && CONTAINS(?a, "graph") && CONTAINS(?b, "base") && CONTAINS(?b, "graph")) }`},
		{`SELECT ?s { VALUES ?l { "graph graph  w0" "other" } ?l text:matches "w0" . ?s <x:label> ?l }`, `SELECT ?s { ?s <x:label> "graph graph  w0" }`},
		{`SELECT ?s { VALUES ?l { "graph graph  w0" "other" "graph store pad pad pad  w10" UNDEF } ?l text:matches "graph OR store" . ?s <x:label> ?l }`, `SELECT ?s { { ?s <x:label> "graph graph  w0" } UNION { ?s <x:label> "graph store pad pad pad  w10" } UNION { ?s <x:label> ?l FILTER REGEX(?l, "graph|store") } }`},
		{`SELECT ?k (COUNT(?s) AS ?n) { ?l text:matches "graph" . ?s <x:label> ?l ; <x:kind> ?k } GROUP BY ?k`, `SELECT ?k (COUNT(?s) AS ?n) { ?s <x:label> ?l ; <x:kind> ?k FILTER CONTAINS(?l, "graph") } GROUP BY ?k`},
		{`SELECT ?s { { SELECT ?l { ?l text:matches "triple" } } ?s <x:label> ?l }`, `SELECT ?s { ?s <x:label> ?l FILTER CONTAINS(?l, "triple") }`},
		{`SELECT ?l { ?l text:matches "graph" ; text:predicate <x:label> ; text:language "" }`, `SELECT ?l { ?s <x:label> ?l FILTER CONTAINS(?l, "graph") }`},
		{`SELECT ?l { ?l text:matches "graph 7*" ; text:predicate <x:comment> ; text:scan true }`, `SELECT ?l { ?s <x:comment> ?l FILTER REGEX(?l, " 7") }`},
		{`SELECT ?s { ?l text:matches "node" ; text:scan true . ?s <x:label> ?l }`, `SELECT ?s { ?s <x:label> ?l FILTER CONTAINS(?l, "node") }`},
		{`SELECT ?l { ?l text:matches "graph" ; text:language "en" }`, `SELECT ?l { ?s <x:none> ?l }`},
	} {
		got, want := s.rows(t, c.search), s.rows(t, c.filter)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %d rows\n%.300q\nand %s has %d\n%.300q", c.search, len(got), got, c.filter, len(want), want)
		}
	}
}

// TestTextScores: the best literals come first, with and without a LIMIT, and have snippets.
func TestTextScores(t *testing.T) {
	s := serveTexts(t)
	all := s.rows(t, `SELECT ?l ?score { ?l text:matches "graph OR store" ; text:score ?score } ORDER BY DESC(?score) ?l`)
	best := s.rows(t, `SELECT ?l ?score { ?l text:matches "graph OR store" ; text:score ?score } ORDER BY DESC(?score) LIMIT 5`)
	joined := s.rows(t, `SELECT ?l ?score { ?s <x:kind> ?k ; <x:label> ?l . ?l text:matches "graph OR store" ; text:score ?score } ORDER BY DESC(?score) LIMIT 5`)
	if len(all) < 100 || len(best) != 5 || len(joined) != 5 {
		t.Fatalf("%d, %d and %d rows", len(all), len(best), len(joined))
	}
	score := func(row string) string { return row[strings.LastIndex(row, ",")+1:] }
	for i := range best {
		if score(best[i]) != score(all[i]) || score(joined[i]) != score(all[i]) {
			t.Errorf("row %d is %s, joined %s, and of all rows %s", i, best[i], joined[i], all[i])
		}
	}
	// A value beside the text is the query.
	bound := s.do(http.MethodGet, "/sparql?"+url.Values{"query": {"SELECT ?l { ?l <urn:trefoil:text:matches> ?q }"}, "$q": {`"w17"`}}.Encode(), "", "Accept", "text/csv")
	if bound.status != http.StatusOK || !strings.Contains(bound.body, " w17") || strings.Count(bound.body, "\n") != 2 {
		t.Errorf("%+v", bound)
	}
	if got := s.rows(t, `SELECT ?h { ?l text:matches "w17" ; text:snippet ?h }`); len(got) != 1 || !strings.Contains(got[0], "\u27e6w17\u27e7") {
		t.Errorf("%q", got)
	}
	// The plan reads the first hits only.
	got := s.do(http.MethodGet, "/sparql?explain=run&query="+url.QueryEscape(`PREFIX text: <urn:trefoil:text:> SELECT ?l { ?l text:matches "graph OR store" ; text:score ?s } ORDER BY DESC(?s) LIMIT 5`), "")
	if !strings.Contains(got.body, "text:matches") || strings.Contains(got.body, `"sort"`) {
		t.Errorf("the plan is %s", got.body)
	}
	// Also if all scores are equal: the search gives 64 hits at first.
	var equal strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&equal, "<x:e> <x:label> \"equal e%d\" .\n", i)
	}
	if got := s.do(http.MethodPost, "/triples", equal.String(), "Content-Type", "application/n-triples"); got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	got = s.do(http.MethodGet, "/sparql?explain=run&query="+url.QueryEscape(`PREFIX text: <urn:trefoil:text:> SELECT ?l { ?l text:matches "equal" ; text:score ?s } ORDER BY DESC(?s) LIMIT 3`), "")
	if n := regexp.MustCompile(`"operator":"text"[^{}]*?"rows":(\d+)`).FindStringSubmatch(got.body); n == nil || len(n[1]) > 2 {
		t.Errorf("the search gave rows %v: %s", n, got.body)
	}
}

// TestTextGiven: a row that binds the literal needs no memory for all hits of a frequent word.
func TestTextGiven(t *testing.T) {
	var all []triple.Triple
	for i := range 10_000 {
		one := triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:s", i)), Predicate: triple.NewIRI("x:label"), Object: triple.NewString(fmt.Sprint("many ", i))}
		all = append(all, one)
		if i != 78 {
			one.Graph = triple.NewIRI("x:g")
			all = append(all, one)
		}
	}
	s := serveIndexed(t, all, []string{"x:label"}, engine.Options{QueryMemory: 512 << 10})
	got := s.rows(t, `SELECT ?l { VALUES ?l { "many 7" "none" "many 77" } ?l text:matches "many" }`)
	if slices.Sort(got); !slices.Equal(got, []string{"many 7", "many 77"}) {
		t.Errorf("%q", got)
	}
	got = s.rows(t, `SELECT ?l { VALUES ?s { <x:s7> <x:s70> } ?s <x:label> ?l . ?l text:matches "many -70" }`)
	if !slices.Equal(got, []string{"many 7"}) {
		t.Errorf("%q", got)
	}
	// In graphs, too, also in a loop over them.
	for _, query := range []string{
		`SELECT ?l { GRAPH <x:g> { VALUES ?l { "many 7" "many 78" "none" "many 77" } ?l text:matches "many" } }`,
		`SELECT ?l FROM <x:g> { VALUES ?l { "many 7" "many 78" "none" "many 77" } ?l text:matches "many" }`,
		`SELECT ?l { VALUES ?l { "many 7" "many 78" "none" "many 77" } GRAPH ?g { ?l text:matches "many" } }`,
		`SELECT ?l { GRAPH ?g { VALUES ?l { "many 7" "many 78" "none" "many 77" } ?l text:matches "many" FILTER(!BOUND(?g)) } }`,
	} {
		got := s.rows(t, query)
		if slices.Sort(got); !slices.Equal(got, []string{"many 7", "many 77"}) {
			t.Errorf("%s: %q", query, got)
		}
	}
}

// TestTextUpdates: an update may search, but not after an operation that changed triples, which the index does not have yet.
// Then nothing of the update is done.
func TestTextUpdates(t *testing.T) {
	s := serveTexts(t)
	for _, c := range []struct {
		update string
		status int
		body   string
	}{
		{`INSERT { <x:a> <x:has> ?l } WHERE { ?l text:matches "w7" }`, http.StatusOK, `"added":1`},
		{`DELETE DATA { <x:none> <x:p> 1 } ; INSERT { <x:a> <x:with> ?l } WHERE { ?l text:matches "w8" } ; INSERT DATA { <x:b> <x:p> 1 }`, http.StatusBadRequest, "send two updates"},
		{`DELETE DATA { <x:none> <x:p> 1 } ; INSERT { <x:a> <x:has> ?l } WHERE { ?l text:matches "w8" ; text:predicate <x:label> }`, http.StatusOK, `"added":1`},
		{`INSERT DATA { <x:b> <x:label> "w9 is new" } ; INSERT { <x:a> <x:with> ?l } WHERE { ?l text:matches "w9" }`, http.StatusBadRequest, "text:matches at"},
		{`CLEAR DEFAULT ; INSERT { <x:a> <x:with> ?l } WHERE { ?l text:matches "w9" }`, http.StatusBadRequest, "send two updates"},
		{`INSERT DATA { <x:b> <x:p> 1 } ; DELETE { ?s <x:label> ?l } WHERE { ?s <x:label> ?l FILTER EXISTS { ?l text:matches "w9" } }`, http.StatusBadRequest, "send two updates"},
	} {
		got := s.do(http.MethodPost, "/sparql", "PREFIX text: <urn:trefoil:text:> "+c.update, "Content-Type", "application/sparql-update")
		if got.status != c.status || !strings.Contains(got.body, c.body) {
			t.Errorf("%s: %d %s, want %d and %q", c.update, got.status, got.body, c.status, c.body)
		}
	}
	if got := s.rows(t, `SELECT (COUNT(*) AS ?n) { ?s ?p ?o }`); !slices.Equal(got, []string{"902"}) {
		t.Errorf("%q triples are left of 900 and two", got)
	}
}

// TestTextScan: a plan says whether a search reads literals without an index.
func TestTextScan(t *testing.T) {
	s := serveTexts(t)
	for _, c := range []struct {
		predicate string
		scans     bool
	}{{"x:label", false}, {"x:comment", true}, {"x:none", true}} {
		query := fmt.Sprintf(`PREFIX text: <urn:trefoil:text:> SELECT ?l { ?l text:matches "graph" ; text:predicate <%s> ; text:scan true }`, c.predicate)
		for _, explain := range []string{"true", "run"} {
			got := s.do(http.MethodGet, "/sparql?explain="+explain+"&query="+url.QueryEscape(query), "")
			if got.status != http.StatusOK || strings.Contains(got.body, "by a scan without an index") != c.scans {
				t.Errorf("%s, explain=%s: %d %s", c.predicate, explain, got.status, got.body)
			}
		}
	}
}

// TestTextErrors: wrong calls say what is wrong, and where.
func TestTextErrors(t *testing.T) {
	s := serveTexts(t)
	for query, want := range map[string]string{
		`SELECT * { ?l text:matches ?q }`:                                    "?q has no value",
		`SELECT * { ?l text:matches 7 }`:                                     "needs a string",
		`SELECT * { "a" text:matches "a" }`:                                  "stands behind a term",
		`SELECT * { ?l text:score ?s }`:                                      "no text:matches",
		`SELECT * { ?l text:match "a" }`:                                     "there is no predicate",
		`SELECT * { ?l text:matches "a", "b" }`:                              "two text:matches",
		`SELECT * { ?l text:matches "a" ; text:language "en", "de" }`:        "text:language occurs twice",
		`SELECT * { ?l text:matches "a" ; text:score ?l }`:                   "another variable",
		`SELECT * { ?l text:matches "a" ; text:score ?s ; text:snippet ?s }`: "different variables",
		`SELECT * { ?l text:matches "*" }`:                                   "a * needs the beginning",
		`SELECT * { ?l text:matches "-a" }`:                                  "nothing but excluded",
		`SELECT * { ?l text:matches "a" ; text:predicate <x:comment> }`:      "allow a scan: scan=true of /search, text:scan true in SPARQL",
		`SELECT * { ?l text:matches "a" ; text:scan false }`:                 "text:scan needs true",
	} {
		got := s.do(http.MethodGet, "/sparql?query="+url.QueryEscape("PREFIX text: <urn:trefoil:text:> "+query), "")
		if got.status < 400 || got.status >= 500 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
}
