// Tests of the functions of hyperlinks: where they stand, what they ask of the graph, and their errors.

package sparql_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/plan/order"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

const linksPrefix = "PREFIX links: <urn:trefoil:links:> "

// pagesWeb returns a source with n pages: all have a number, those with an even one a topic. Each links to its
// divisors, so page 1 has the most links to it.
func pagesWeb(n int) (*memsource.Source, *sparqltest.Web, sparql.Options) {
	var all []triple.Triple
	for i := 1; i <= n; i++ {
		page := sparqltest.IRI(fmt.Sprint("n", i))
		all = append(all, triple.Triple{Subject: page, Predicate: sparqltest.IRI("number"), Object: triple.NewTyped(fmt.Sprint(i), triple.XSDInteger)})
		if i%2 == 0 {
			all = append(all, triple.Triple{Subject: page, Predicate: sparqltest.IRI("topic"), Object: triple.NewString("even")})
		}
	}
	all = append(all, triple.Triple{Subject: sparqltest.IRI("noPage"), Predicate: sparqltest.IRI("topic"), Object: triple.NewString("even")},
		triple.Triple{Subject: sparqltest.IRI("n1"), Predicate: sparqltest.IRI("about"), Object: triple.NewString("x:n2")})
	web := sparqltest.NewWeb(n, func(from, to int) bool { return from != to && from%to == 0 })
	options := sparql.Options{}
	options.Links = web
	return memsource.New(all), web, options
}

// TestLinkEquivalents: pairs of queries that must have the same solutions, at least one.
func TestLinkEquivalents(t *testing.T) {
	src, _, options := pagesWeb(30)
	for _, c := range []struct{ query, same string }{
		// The rest of the group is ranked, wherever it stands.
		{`SELECT ?p ?s { (?p) links:salsa (?s) . ?p <x:topic> "even" }`, `SELECT ?p ?s { ?p <x:topic> "even" . (?p) links:salsa (?s) }`},
		{`SELECT ?p ?s { (?p) links:salsa (?s) { ?p <x:topic> ?t } ?p <x:number> ?n FILTER(?n < 9) }`, `SELECT ?p ?s { { SELECT ?p { ?p <x:topic> ?t ; <x:number> ?n FILTER(?n < 9) } } (?p) links:salsa (?s) }`},
		{`SELECT ?p ?s { (?p) links:salsa (?s) . ?p <x:number> ?n OPTIONAL { ?q <x:topic> "even" FILTER(?q = ?p) } FILTER(BOUND(?q)) }`, `SELECT ?p ?s { ?p <x:number> ?n ; <x:topic> ?t . (?p) links:salsa (?s) }`},
		// What mentions a score comes behind it.
		{`SELECT ?p ?s { ?p <x:topic> "even" . (?p) links:salsa (?s) FILTER(?s > 2) }`, `SELECT ?p ?s { { ?p <x:topic> "even" . (?p) links:salsa (?s) } FILTER(?s > 2) }`},
		{`SELECT ?p ?t { ?p <x:topic> "even" . (?p) links:salsa (?s) BIND(?s * 2 AS ?t) FILTER(?t > 2) }`, `SELECT ?p ?t { { ?p <x:topic> "even" . (?p) links:salsa (?s) } BIND(?s * 2 AS ?t) FILTER(?t > 2) }`},
		{`SELECT * { ?p <x:topic> "even" . (?p) links:salsa (?s) OPTIONAL { ?p <x:number> ?n FILTER(?s > 2) } }`, `SELECT * { { ?p <x:topic> "even" . (?p) links:salsa (?s) } OPTIONAL { ?p <x:number> ?n FILTER(?s > 2) } }`},
		{`SELECT ?p ?s ?a ?h { ?p <x:topic> "even" . (?p) links:salsa (?s) . (?p) links:hits (?a ?h) }`, `SELECT * { { SELECT ?p ?s { ?p <x:topic> "even" . (?p) links:salsa (?s) } } { SELECT ?p ?a ?h { ?p <x:topic> "even" . (?p) links:hits (?a ?h) } } }`},
		// A group of its own is a ranking of its own.
		{`SELECT ?p { ?p <x:number> ?n OPTIONAL { ?p <x:topic> "even" . (?p) links:salsa (?s) } FILTER(BOUND(?s)) }`, `SELECT ?p { ?p <x:topic> "even" ; <x:number> ?n }`},
		{`SELECT ?p ?s { { SELECT ?p ?s { ?p <x:topic> "even" . (?p) links:salsa (?s) } ORDER BY DESC(?s) ?p LIMIT 3 } ?p <x:number> ?n }`, `SELECT ?p ?s { ?p <x:topic> "even" ; <x:number> ?n . (?p) links:salsa (?s) } ORDER BY DESC(?s) ?p LIMIT 3`},
		// Functions start from the rows around them.
		{`SELECT * { ?p <x:number> ?n OPTIONAL { ?p links:sample (?q 1) } }`, `SELECT * { { ?p <x:number> ?n ; links:sample (?q 1) } UNION { ?p <x:number> ?n FILTER NOT EXISTS { ?p links:sample (?q2 1) } } }`},
		{`SELECT * { ?p <x:topic> "even" { ?p links:sample (?q 2) } UNION { ?p links:sampleBackward (?q 2) } }`, `SELECT * { { ?p <x:topic> "even" ; links:sample (?q 2) } UNION { ?p <x:topic> "even" ; links:sampleBackward (?q 2) } }`},
		{`SELECT ?p { ?p <x:number> ?n FILTER EXISTS { ?p links:sample (<x:n7> 30) } }`, `SELECT ?p { ?p links:distance (<x:n7> 1 ?d) FILTER(?d = 1) }`},
		{`SELECT ?p { ?p <x:number> ?n MINUS { ?p <x:number> ?m ; links:outDegree ?o FILTER(?o > 1) } }`, `SELECT ?p { ?p <x:number> ?n ; links:outDegree ?o FILTER(?o < 2) }`},
		{`SELECT ?p ?o { VALUES ?p { <x:n4> <x:n6> <x:noPage> 6 UNDEF } ?p links:outDegree ?o }`, `SELECT ?p ?o { VALUES ?p { <x:n4> <x:n6> } ?p links:outDegree ?o }`},
		{`SELECT ?p ?o { BIND(IRI("x:n6") AS ?p) ?p links:outDegree ?o }`, `SELECT ?p ?o { VALUES ?p { <x:n6> } ?p links:outDegree ?o }`},
		{`SELECT ?p ?q { ?p <x:topic> "even" ; links:distance (?q 1 ?d) . ?q <x:number> 3 }`, `SELECT ?p ?q { ?q <x:number> 3 . ?p links:distance (?q 1) ; <x:topic> ?t }`},
		{`SELECT ?a ?b { ?a <x:number> ?n ; links:distance (?b 1) . ?b links:outDegree ?m FILTER(?n > ?m * 10) }`, `SELECT ?a ?b { ?a <x:number> ?n . ?b <x:number> ?k ; links:outDegree ?m . ?a links:distance (?b 1) FILTER(?n > ?m * 10) }`},
		// PageRank has every page without a pattern.
		{`SELECT ?p ?s { ?p links:pagerank ?s }`, `SELECT ?p ?s { ?p <x:number> ?n ; links:pagerank ?s }`},
		{`SELECT ?p ?s { OPTIONAL { ?p <x:none> ?n } ?p links:pagerank ?s }`, `SELECT ?p ?s { ?p <x:number> ?n ; links:pagerank ?s }`},
		{`SELECT (COUNT(*) AS ?n) { ?p links:pagerank ?s }`, `SELECT (COUNT(*) AS ?n) { ?p <x:number> ?m }`},
		{`SELECT (COUNT(*) AS ?n) { ?p <x:topic> "even" . (?p) links:salsa (?s) }`, `SELECT (COUNT(*) AS ?n) { ?p <x:topic> "even" ; <x:number> ?m }`},
		{`SELECT DISTINCT ?q { ?p <x:number> ?n . ?p links:sample (?q 1) }`, `SELECT ?q { ?p <x:number> ?n . ?p links:sample (?q 1) } GROUP BY ?q`},
	} {
		for _, src := range []sparql.Source{src, sparqltest.WithColumns(src)} {
			got, gotPlan := sparqltest.Lines(t, src, linksPrefix+c.query, options)
			want, wantPlan := sparqltest.Lines(t, src, linksPrefix+c.same, options)
			if !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%s\n%d rows %v\n%s%s\n%d rows %v\n%s", c.query, len(got), got, gotPlan, c.same, len(want), want, wantPlan)
			}
		}
	}
}

// TestLinkTop: ORDER BY and LIMIT read the best pages only, and more of them if patterns drop some.
func TestLinkTop(t *testing.T) {
	src, web, options := pagesWeb(3000)
	for _, c := range []struct {
		query string
		most  int // pages in an answer of the graph
		first string
	}{
		{`SELECT ?p ?s { ?p links:pagerank ?s } ORDER BY DESC(?s) LIMIT 3`, 64, "x:n1"},
		{`SELECT ?p ?s { ?p links:pagerank ?s ; <x:number> ?n } ORDER BY DESC(?s) LIMIT 3`, 64, "x:n1"},
		{`SELECT ?p ?s { ?p links:pagerank ?s ; <x:number> ?n FILTER(?n > 100) } ORDER BY DESC(?s) ?p LIMIT 3`, 512, "x:n101"},
		{`SELECT ?p ?s { ?p links:pagerank ?s } ORDER BY DESC(?s) LIMIT 3 OFFSET 100`, 512, "x:n101"},
		{`SELECT ?p ?s { ?p links:pagerank ?s } ORDER BY ?s LIMIT 3`, 1 << 20, ""},
	} {
		web.MostTop = 0
		limited, plan, err := sparqltest.Answer(t.Context(), src, linksPrefix+c.query, options)
		require.NoError(t, err)
		if web.MostTop > c.most || len(limited) != 3 || !strings.Contains(limited[0], c.first) {
			t.Errorf("%s: %d of the best pages read, %v\n%s", c.query, web.MostTop, limited, plan.Text(true))
		}
		// All rows in the same order.
		all, _, err := sparqltest.Answer(t.Context(), src, linksPrefix+c.query[:strings.Index(c.query, " LIMIT")], options)
		require.NoError(t, err)
		offset := 0
		if strings.Contains(c.query, "OFFSET") {
			offset = 100
		}
		if !slices.Equal(scoresOf(limited), scoresOf(all[offset:offset+3])) {
			t.Errorf("%s: %v, want %v", c.query, limited, all[offset:offset+3])
		}
	}
}

// scoresOf returns the last terms of rows, because pages of equal scores may come in any order.
func scoresOf(rows []string) (scores []string) {
	for _, row := range rows {
		scores = append(scores, row[strings.LastIndexByte(row, ' '):])
	}
	return scores
}

// TestLinkCallsAreBatched: the graph gets few calls for many rows, and bounded ones.
func TestLinkCallsAreBatched(t *testing.T) {
	src, web, options := pagesWeb(1000)
	for query, most := range map[string]int{
		`SELECT * { ?p <x:number> ?n ; links:outDegree ?o }`:           20,
		`SELECT * { ?p <x:number> ?n ; links:pagerank ?s }`:            20,
		`SELECT * { ?p <x:number> ?n ; links:sample (?q 2) }`:          40,
		`SELECT * { ?p <x:number> ?n ; links:distance (?q 2) }`:        50,
		`SELECT * { ?p <x:number> ?n . (?p) links:salsa (?s) }`:        2,
		`SELECT * { ?p <x:number> ?n ; links:distance (<x:n1> 3 ?d) }`: 10,
		`SELECT * { ?p <x:number> ?n ; links:outDegree ?o } LIMIT 1`:   2,
		`SELECT * { ?p <x:number> ?n . <x:n1> links:inDegree ?o }`:     2,
		`ASK { ?p <x:number> ?n ; links:distance (?q 1) }`:             4,
	} {
		web.Calls = 0
		if err := drain(t.Context(), src, linksPrefix+query, options); err != nil || web.Calls > most || web.Calls == 0 {
			t.Errorf("%s: %d calls, at most %d: %v", query, web.Calls, most, err)
		}
	}
	if web.MostList > 1<<16 {
		t.Errorf("%d links in one call", web.MostList)
	}
}

// TestLongLinkList: a list with more links than a call should have is read alone.
func TestLongLinkList(t *testing.T) {
	const links = 1<<16 + 10
	web := sparqltest.NewWeb(3, func(from, to int) bool { return from == 1 && to == 2 })
	for i := range links {
		web.Out[2] = append(web.Out[2], uint64(i+4))
		web.Names = append(web.Names, fmt.Sprint("x:more", i))
	}
	options := sparql.Options{}
	options.Links = web
	query := linksPrefix + `SELECT (COUNT(*) AS ?n) { <x:n1> links:distance (?p 2) }`
	got, _, err := sparqltest.Answer(t.Context(), memsource.New(nil), query, options)
	if want := fmt.Sprint([]triple.Term{number(links + 2)}); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
	options.Memory = 1 << 20
	if err := drain(t.Context(), memsource.New(nil), query, options); !errors.Is(err, sparql.ErrMemory) {
		t.Errorf("with little memory: %v", err)
	}
}

// TestLinkMemory: rows of a ranking go to files; what has no file ends the query.
func TestLinkMemory(t *testing.T) {
	src, _, options := pagesWeb(2000)
	query := linksPrefix + `SELECT ?p ?q ?s { ?p <x:number> ?n . ?q <x:topic> "even" FILTER(?n < 200) (?p) links:salsa (?s 0 0) }`
	disk := &sparqltest.Files{}
	options.Memory, options.Spill = 512<<10, disk
	n, plan, err := sparqltest.Count(t.Context(), src, query, options)
	if err != nil || n != 199*1001 || disk.Made == 0 || disk.Open != 0 {
		t.Fatalf("%d rows, %v, %d files made, %d left", n, err, disk.Made, disk.Open)
	}
	if !strings.Contains(plan.Text(true), "KiB spilled") {
		t.Errorf("no bytes are spilled\n%s", plan.Text(true))
	}
	for _, c := range []struct {
		memory      int64
		query, want string
	}{
		{1 << 20, `SELECT * { ?p <x:number> ?n . (?p) links:salsa (?s 1000 1000) }`, "fewer sampled links than 1000 and 1000 need less"},
		{100 << 10, `SELECT * { ?p <x:number> ?n . (?p) links:salsa (?s 0 0) }`, "links:salsa would take it beyond its limit"},
		{100 << 10, `SELECT * { ?p links:distance (<x:n1> 1) }`, "links:distance would take it beyond its limit"},
		{20 << 10, `SELECT * { ?p links:pagerank ?s }`, "links:pagerank would take it beyond its limit"},
	} {
		options.Memory = c.memory
		err := drain(t.Context(), src, linksPrefix+c.query, options)
		if !errors.Is(err, sparql.ErrMemory) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.query, err)
		}
	}
}

// TestLinksCancelled: a query ends with its context, at whichever call of the graph.
func TestLinksCancelled(t *testing.T) {
	src, web, options := pagesWeb(200)
	for _, query := range []string{
		`SELECT * { ?p <x:number> ?n . (?p) links:salsa (?s) }`,
		`SELECT * { ?p <x:number> ?n ; links:distance (?q 3) }`,
		`SELECT * { ?p <x:number> ?n ; links:sample (?q 3) ; links:outDegree ?o }`,
		`SELECT * { ?p links:pagerank ?s }`,
	} {
		web.Calls = 0
		require.NoError(t, drain(t.Context(), src, linksPrefix+query, options))
		for call := range web.Calls {
			ctx, cancel := context.WithCancel(t.Context())
			web.Calls = 0
			web.OnCall = func() {
				if web.Calls == call+1 {
					cancel()
				}
			}
			if err := drain(ctx, src, linksPrefix+query, options); !errors.Is(err, context.Canceled) || web.Calls > call+1 {
				t.Errorf("%s, cancelled at call %d: %v after %d calls", query, call, err, web.Calls)
			}
			web.OnCall = nil
			cancel()
		}
	}
}

// TestLinkErrors: errors of the graph end the query, with the place of the function.
func TestLinkErrors(t *testing.T) {
	src, web, options := pagesWeb(10)
	failed := errors.New("no answer")
	check := func(query, want string, is error, options sparql.Options) {
		t.Helper()
		if err := drain(t.Context(), src, linksPrefix+query, options); !errors.Is(err, is) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
	}
	// 1. Pages that nothing binds.
	for _, query := range []string{
		`SELECT * { ?p links:outDegree ?n }`, `SELECT * { ?p links:sample (?q 1) . ?x <x:number> ?n }`, `SELECT * { ?p links:distance (?q 1) }`,
		`SELECT * { ?p <x:number> ?n MINUS { ?p links:sample (?q 1) } }`,
	} {
		check(query, "nothing binds ?p before it; add a pattern", exec.ErrLinks, options)
	}
	check(`SELECT * { ?x <x:number> ?n . (?p) links:salsa (?s) }`, "invalid call of links:salsa at 1:71: it ranks the solutions of the rest of its group, where nothing binds ?p", exec.ErrLinks, options)
	check(`SELECT * { ?p <x:number> ?n OPTIONAL { (?p) links:salsa (?s) } }`, "nothing binds ?p", exec.ErrLinks, options)
	// 2. No graph, no scores, and no answer.
	for _, query := range []string{`SELECT * { ?p <x:number> ?n . (?p) links:salsa (?s) }`, `SELECT * { ?p links:pagerank ?s } ORDER BY DESC(?s) LIMIT 1`} {
		check(query, "--no-links", exec.ErrNoLinks, sparql.Options{})
		web.Err = failed
		check(query, "links:", failed, options)
		web.Err = nil
	}
	scores := web.Scores
	web.Scores = nil
	check(`SELECT * { ?p links:pagerank ?s }`, "links:pagerank at 1:50", sparqltest.ErrNoScores, options)
	// 3. Scores that change while the best pages are read.
	web.Scores = scores
	src, web, options = pagesWeb(200)
	web.OnCall = func() { web.Scores[uint64(web.Calls)] = 9 }
	check(`SELECT * { ?p links:pagerank ?s }`, "send it again", exec.ErrScores, options)
}

// TestLinkOrdersAreKept: orders kept of a run hold for the next one, whatever the graph says then.
func TestLinkOrdersAreKept(t *testing.T) {
	plain, web, options := pagesWeb(40)
	src := sparqltest.WithColumns(plain)
	var keeper atomic.Pointer[order.Kept]
	kept := options
	kept.Orders = &keeper
	query := linksPrefix + `SELECT ?p ?q ?s { ?p <x:topic> ?t ; <x:number> ?n . ?p links:distance (?q 1) . ?q <x:number> ?m ; <x:topic> ?t ; links:pagerank ?s FILTER(?m < ?n) } ORDER BY DESC(?s) LIMIT 50`
	for run := range 4 {
		web.Out[uint64(4+run)] = []uint64{2}
		web.Scores[2] = 1 + float64(run)
		for page := range uint64(10 * run) {
			delete(web.Scores, 40-page)
		}
		got, _ := sparqltest.Lines(t, src, query, kept)
		want, text := sparqltest.Lines(t, plain, query, options)
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("run %d: %v, want %v\n%s", run, got, want, text)
		}
	}
	if keeper.Load() == nil {
		t.Error("no orders are kept")
	}
}
