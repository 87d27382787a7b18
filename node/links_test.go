// The functions of links in queries, as a client of a served node and a program with a store send them.

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/results"
	"github.com/trefoildb/trefoil/triple"
)

// linkWeb returns pages, links between them, and a topic of every second one.
func linkWeb() (urls []string, changes []links.Change, topics []triple.Triple) {
	const pages = 60
	for i := range pages {
		urls = append(urls, fmt.Sprintf("http://host%d.example/%02d", i%3, i))
	}
	for i, url := range urls {
		change := links.Change{Source: url}
		for k := range 1 + i%14 {
			change.Targets = append(change.Targets, urls[(i*3+k*k)%pages])
		}
		changes = append(changes, change)
		if i%2 == 0 {
			topics = append(topics, triple.Triple{Subject: triple.NewIRI(url), Predicate: triple.NewIRI("http://ex/topic"), Object: triple.NewString("rdf")})
		}
	}
	return urls, changes, topics
}

// checkLinkQueries compares queries with what a graph says by itself. There must be scores of PageRank.
func checkLinkQueries(t *testing.T, g links.Graph, query func(text string) ([]results.Solution, error)) {
	t.Helper()
	ctx := t.Context()
	urls, _, _ := linkWeb()
	var topics []string
	for i := 0; i < len(urls); i += 2 {
		topics = append(topics, urls[i])
	}
	pages, err := g.UIDs(ctx, topics)
	require.NoError(t, err)
	slices.Sort(pages)
	ranked := func(r links.RankRequest) (lines []string) {
		r.Mode = sample.ModeConsistent
		ranking, err := g.Rank(ctx, r)
		require.NoError(t, err)
		for _, one := range ranking.Authorities {
			names, err := g.URLs(ctx, []uid.UID{one.UID})
			require.NoError(t, err)
			lines = append(lines, fmt.Sprintf("%s %.9f", names[0], one.Score))
		}
		return lines
	}
	linked, err := g.UIDs(ctx, urls[15:16]) // urls[5] links to it
	require.NoError(t, err)
	sampled, err := g.SampleLinks(ctx, links.Backward, linked, sample.Spec{N: 2, Mode: sample.ModeConsistent})
	require.NoError(t, err)
	near, err := g.URLs(ctx, sampled.Items)
	require.NoError(t, err)
	for text, want := range map[string][]string{
		`SELECT ?p ?s { ?p <http://ex/topic> "rdf" . (?p) links:salsa (?s) }`:                               ranked(links.RankRequest{Algorithm: links.SALSA, Pages: pages, In: 10, Out: 10}),
		`SELECT ?p ?s { ?p <http://ex/topic> "rdf" . (?p) links:hits (?s ?h 2 3) }`:                         ranked(links.RankRequest{Algorithm: links.HITS, Pages: pages, In: 2, Out: 3}),
		`SELECT ?p ?s { ?p <http://ex/topic> "rdf" ; links:pagerank ?s }`:                                   ranked(links.RankRequest{Algorithm: links.PageRank, Pages: pages}),
		`SELECT ?p ?s { ?p links:pagerank ?s } ORDER BY DESC(?s) LIMIT 7`:                                   ranked(links.RankRequest{Algorithm: links.PageRank, All: true, Top: 7}),
		`SELECT ?p (1 AS ?s) { <` + urls[15] + `> links:sampleBackward (?p 2) }`:                            withScore(near),
		`SELECT ?p (1 AS ?s) { ?p links:distance (<` + urls[0] + `> 1 ?d) FILTER(?p = <` + urls[0] + `>) }`: withScore(urls[:1]),
	} {
		solutions, err := query("PREFIX links: <urn:trefoil:links:> " + text)
		require.NoError(t, err)
		var got []string
		for _, s := range solutions {
			var score float64
			if _, err := fmt.Sscan(s.Term("s").Value(), &score); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %.9f", s.Term("p").Value(), score))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s\ngot  %v\nwant %v", text, got, want)
		}
	}
}

func withScore(urls []string) (lines []string) {
	for _, url := range urls {
		lines = append(lines, url+" 1.000000000")
	}
	return lines
}

// rankPages runs a job of PageRank to its end.
func rankPages(t *testing.T, g links.Graph) {
	t.Helper()
	require.NoError(t, g.StartPageRank(t.Context(), links.PageRankOptions{}))
	for {
		job, err := g.PageRank(t.Context())
		require.NoError(t, err)
		if job.State == "done" {
			return
		}
		if job.State != "running" {
			t.Fatalf("%+v", job)
		}
	}
}

// TestServeLinkQueries: a served node answers the functions of links over HTTP, and says what is missing.
func TestServeLinkQueries(t *testing.T) {
	seed.Slow(t)
	for _, none := range []bool{false, true} {
		t.Run(fmt.Sprintf("no links %t", none), func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			dir, ready, ended := t.TempDir(), make(chan string, 1), make(chan error, 1)
			go func() {
				ended <- Serve(ctx, dir, ServeOptions{Options: Options{MinFreeBytes: -1, NoLinks: none}, Listen: "127.0.0.1:0", Ready: func(url string) { ready <- url }})
			}()
			select {
			case url := <-ready:
				defer func() {
					stop()
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}()
				serveLinkQueries(t, url, none)
			case err := <-ended:
				stop()
				t.Fatal(err)
			}
		})
	}
}

func serveLinkQueries(t *testing.T, url string, none bool) {
	t.Helper()
	c, err := client.New(url, client.Options{})
	require.NoError(t, err)
	defer c.Close()
	query := func(text string) (all []results.Solution, err error) {
		for s, err := range c.Query(t.Context(), text, client.QueryOptions{}) {
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		return all, nil
	}
	_, changes, topics := linkWeb()
	if _, err := c.Add(t.Context(), topics); err != nil {
		t.Fatal(err)
	}
	wrong := func(text, want string) {
		t.Helper()
		if _, err := query("PREFIX links: <urn:trefoil:links:> " + text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	// 1. Without a graph, and without scores.
	if none {
		wrong(`SELECT * { ?p <http://ex/topic> "rdf" . (?p) links:salsa (?s) }`, "--no-links")
		return
	}
	if _, err := c.Links.Update(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	wrong(`SELECT * { ?p links:pagerank ?s }`, "POST /links/pagerank")
	wrong(`SELECT * { ?p links:pageRank ?s }`, "did you mean pagerank?")
	wrong(`SELECT * { ?p links:outDegree ?s }`, "nothing binds ?p")
	// 2. With both.
	rankPages(t, c.Links)
	checkLinkQueries(t, c.Links, query)
	plan, err := c.Explain(t.Context(), `PREFIX links: <urn:trefoil:links:> SELECT * { ?p <http://ex/topic> "rdf" . (?p) links:salsa (?s) }`, false, client.QueryOptions{})
	if err != nil || !strings.Contains(plan.Plan.Text(false), "link ranking ?p links:salsa (?s)") {
		t.Errorf("%+v, %v", plan, err)
	}
	// 3. In an update.
	result, err := c.Update(t.Context(), `PREFIX links: <urn:trefoil:links:> INSERT { ?p <http://ex/score> ?s } WHERE { ?p <http://ex/topic> "rdf" . (?p) links:salsa (?s) }`, client.QueryOptions{})
	if err != nil || result.Added != int64(len(topics)) {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestLinkQueries: a program's store opens its graph of links with the first query that needs it.
func TestLinkQueries(t *testing.T) {
	s, err := Open(t.TempDir(), Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer s.Close()
	_, changes, triples := linkWeb()
	for _, c := range changes {
		for _, target := range c.Targets {
			triples = append(triples, triple.Triple{Subject: triple.NewIRI(c.Source), Predicate: triple.NewIRI(links.DefaultPredicate), Object: triple.NewIRI(target)})
		}
	}
	if _, err := s.Add(t.Context(), triples); err != nil {
		t.Fatal(err)
	}
	query := func(text string) (all []results.Solution, err error) {
		for s, err := range s.Query(t.Context(), text, QueryOptions{}) {
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		return all, nil
	}
	ranked, err := query(`PREFIX links: <urn:trefoil:links:> SELECT ?p { ?p <http://ex/topic> "rdf" . (?p) links:salsa (?s) }`)
	if err != nil || len(ranked) != 30 {
		t.Errorf("%d pages, %v", len(ranked), err)
	}
	g, err := s.Links(t.Context())
	require.NoError(t, err)
	rankPages(t, g)
	checkLinkQueries(t, g, query)
	// Without links there are no functions.
	none, err := Open(t.TempDir(), Options{MinFreeBytes: -1, NoLinks: true})
	require.NoError(t, err)
	defer none.Close()
	if _, err := none.Ask(t.Context(), `ASK { <http://a/> <urn:trefoil:links:outDegree> ?n }`, QueryOptions{}); !errors.Is(err, exec.ErrNoLinks) {
		t.Errorf("without links: %v", err)
	}
}
