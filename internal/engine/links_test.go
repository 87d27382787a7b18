// Tests of the functions of links over graphs of package links.

package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

const linksPrefix = "PREFIX links: <urn:trefoil:links:> "

// web is a store of pages with a topic, and a graph of links between them and others.
type web struct {
	*Engine
	db     *store.Store
	graph  *linkstest.Graph
	urls   []string
	topics []string // the pages with the topic rdf
}

func newWeb(t *testing.T, pages int) *web {
	t.Helper()
	// 1. The seed is printed, and TREFOIL_SEED repeats it.
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("TREFOIL_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("TREFOIL_SEED: %v", err)
		}
	}
	t.Logf("TREFOIL_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	// 2. A third of the pages has the topic.
	w := &web{db: openStore(t), graph: linkstest.New()}
	var triples []triple.Triple
	for i := range pages {
		w.urls = append(w.urls, fmt.Sprintf("http://host%d.example/%d", i%7, i))
	}
	var changes []links.Change
	for i, url := range w.urls {
		change := links.Change{Source: url}
		for range r.IntN(9) {
			change.Targets = append(change.Targets, w.urls[r.IntN(pages)])
		}
		changes = append(changes, change)
		if i%3 == 0 {
			w.topics = append(w.topics, url)
			triples = append(triples, triple.Triple{Subject: triple.NewIRI(url), Predicate: triple.NewIRI("ex:topic"), Object: triple.NewString("rdf")})
		}
	}
	if _, err := w.graph.Update(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add(t.Context(), w.db, triples); err != nil {
		t.Fatal(err)
	}
	w.Engine = newEngine(t, w.db, Options{Links: func(context.Context) (links.Graph, error) { return w.graph, nil }})
	return w
}

func (w *web) uids(t *testing.T, urls []string) []uid.UID {
	t.Helper()
	uids, err := w.graph.UIDs(t.Context(), urls)
	require.NoError(t, err)
	return uids
}

// lines returns the rows of a query as sorted lines.
func (w *web) lines(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	for _, row := range rows(t, w.Engine, linksPrefix+text) {
		out = append(out, fmt.Sprint(row))
	}
	slices.Sort(out)
	return out
}

func double(f float64) triple.Term { return expr.FromDouble(f).Term() }

// TestLinkRankings: the scores are those of the graph's own ranking of the same pages.
func TestLinkRankings(t *testing.T) {
	w := newWeb(t, 200)
	require.NoError(t, w.graph.StartPageRank(t.Context(), links.PageRankOptions{}))
	for _, c := range []struct {
		query   string
		request links.RankRequest
		hubs    bool
	}{
		{`SELECT ?p ?s { ?p <ex:topic> "rdf" . (?p) links:salsa (?s) }`, links.RankRequest{Algorithm: links.SALSA, In: 10, Out: 10}, false},
		{`SELECT ?p ?s { ?p <ex:topic> "rdf" . (?p) links:salsa (?s 2 3) }`, links.RankRequest{Algorithm: links.SALSA, In: 2, Out: 3}, false},
		{`SELECT ?p ?a ?h { ?p <ex:topic> "rdf" . (?p) links:hits (?a ?h 4 0) }`, links.RankRequest{Algorithm: links.HITS, In: 4}, true},
		{`SELECT ?p ?s { ?p <ex:topic> "rdf" . (?p) links:weightedSalsa (?s) }`, links.RankRequest{Algorithm: links.SALSA, In: 10, Out: 10, Weighted: true}, false},
		{`SELECT ?p ?a ?h { ?p <ex:topic> "rdf" . (?p) links:weightedHits (?a ?h 4 0) }`, links.RankRequest{Algorithm: links.HITS, In: 4, Weighted: true}, true},
		{`SELECT ?p ?s { ?p <ex:topic> "rdf" ; links:pagerank ?s }`, links.RankRequest{Algorithm: links.PageRank}, false},
	} {
		c.request.Pages = w.uids(t, w.topics)
		slices.Sort(c.request.Pages)
		c.request.Mode = sample.ModeConsistent
		ranking, err := w.graph.Rank(t.Context(), c.request)
		require.NoError(t, err)
		hubs := map[uid.UID]float64{}
		for _, one := range ranking.Hubs {
			hubs[one.UID] = one.Score
		}
		var want []string
		for _, one := range ranking.Authorities {
			urls, err := w.graph.URLs(t.Context(), []uid.UID{one.UID})
			require.NoError(t, err)
			row := []triple.Term{triple.NewIRI(urls[0]), double(one.Score)}
			if c.hubs {
				row = append(row, double(hubs[one.UID]))
			}
			want = append(want, fmt.Sprint(row))
		}
		slices.Sort(want)
		if got := w.lines(t, c.query); !slices.Equal(got, want) || len(got) != len(w.topics) {
			t.Errorf("%s\ngot  %v\nwant %v", c.query, got[:min(3, len(got))], want[:3])
		}
	}
}

// TestLinkLists: samples, degrees and lists are those of the graph, whether it bounds its lists or not.
func TestLinkLists(t *testing.T) {
	w := newWeb(t, 100)
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		name, degree, near := "sample", "outDegree", "<%s> links:distance (?p 1)"
		if d == links.Backward {
			name, degree, near = "sampleBackward", "inDegree", "?p links:distance (<%s> 1)"
		}
		for i, page := range w.uids(t, w.urls[:20]) {
			url := w.urls[i]
			list, err := w.graph.Links(t.Context(), d, []uid.UID{page})
			require.NoError(t, err)
			some, err := w.graph.SampleLinks(t.Context(), d, []uid.UID{page}, sample.Spec{N: 3, Mode: sample.ModeConsistent})
			require.NoError(t, err)
			named := func(pages []uid.UID, more ...string) []string {
				urls, err := w.graph.URLs(t.Context(), pages)
				require.NoError(t, err)
				var out []string
				for _, url := range append(urls, more...) {
					out = append(out, "[<"+url+">]")
				}
				slices.Sort(out)
				return slices.Compact(out)
			}
			if got, want := w.lines(t, fmt.Sprintf(`SELECT ?p { <%s> links:%s (?p 3) }`, url, name)), named(some.At(0)); !slices.Equal(got, want) {
				t.Errorf("sample of %s: %v, want %v", url, got, want)
			}
			if got, want := w.lines(t, "SELECT ?p { "+fmt.Sprintf(near, url)+" }"), named(list.At(0), url); !slices.Equal(got, want) {
				t.Errorf("links of %s: %v, want %v", url, got, want)
			}
			if got := w.lines(t, fmt.Sprintf(`SELECT ?n { <%s> links:%s ?n }`, url, degree)); len(got) != 1 || !strings.HasPrefix(got[0], fmt.Sprintf("[%q^^", strconv.Itoa(len(list.At(0))))) {
				t.Errorf("degree of %s: %v, want %d", url, got, len(list.At(0)))
			}
		}
	}
}

// TestLinkErrors: errors of the graph and of its absence reach the caller with what to do.
func TestLinkErrors(t *testing.T) {
	w := newWeb(t, 10)
	query := linksPrefix + `SELECT * { ?p <ex:topic> "rdf" ; links:pagerank ?s }`
	_, err := tryRows(t, w.Engine, query, Params{})
	if !errors.Is(err, links.ErrNoJob) || !strings.Contains(err.Error(), "POST /links/pagerank") || !strings.Contains(err.Error(), "links:pagerank at 1:") {
		t.Errorf("without a job: %v", err)
	}
	w.graph.Fail(links.ErrLoading)
	if _, err := tryRows(t, w.Engine, query, Params{}); !errors.Is(err, links.ErrLoading) {
		t.Errorf("while the graph loads: %v", err)
	}
	none := newEngine(t, w.db, Options{})
	if _, err := tryRows(t, none, query, Params{}); !errors.Is(err, exec.ErrNoLinks) || !strings.Contains(err.Error(), "--no-links") {
		t.Errorf("without a graph: %v", err)
	}
	if _, err := tryRows(t, w.Engine, linksPrefix+`SELECT * { ?p links:outDegree ?n }`, Params{}); !errors.Is(err, exec.ErrLinks) {
		t.Errorf("without a page: %v", err)
	}
}

// TestLinksPreparedAgain: a kept query is computed anew, over the graph as it is then.
func TestLinksPreparedAgain(t *testing.T) {
	w := newWeb(t, 30)
	query := fmt.Sprintf(`SELECT ?n { ?p <ex:topic> "rdf" ; links:outDegree ?n FILTER(?p = <%s>) }`, w.urls[0])
	for want := range 3 {
		var targets []string
		for i := range want {
			targets = append(targets, w.urls[i+1])
		}
		if _, err := w.graph.Update(t.Context(), []links.Change{{Kind: links.ReplaceLinks, Source: w.urls[0], Targets: targets}}); err != nil {
			t.Fatal(err)
		}
		if got := w.lines(t, query); len(got) != 1 || !strings.HasPrefix(got[0], fmt.Sprintf("[%q^^", strconv.Itoa(want))) {
			t.Errorf("degree %v, want %d", got, want)
		}
	}
	if w.prepared.get(preparedKey{text: linksPrefix + query}) == nil {
		t.Error("the query was not kept")
	}
}

// TestLinksUpdate: the WHERE of an update has the functions, too.
func TestLinksUpdate(t *testing.T) {
	w := newWeb(t, 60)
	result, err := w.Update(t.Context(), linksPrefix+`INSERT { ?p <ex:score> ?s ; <ex:near> ?q } WHERE {
		{ ?p <ex:topic> "rdf" . (?p) links:salsa (?s) } OPTIONAL { ?p links:sample (?q 1) } }`, Params{})
	require.NoError(t, err)
	scores, near := w.lines(t, `SELECT * { ?p <ex:score> ?s }`), w.lines(t, `SELECT * { ?p <ex:near> ?q }`)
	if want := w.lines(t, `SELECT ?p ?s { ?p <ex:topic> "rdf" . (?p) links:salsa (?s) }`); !slices.Equal(scores, want) || len(want) != 20 {
		t.Errorf("stored %v, want %v", scores, want)
	}
	if want := w.lines(t, `SELECT ?p ?q { ?p <ex:topic> "rdf" ; links:sample (?q 1) }`); !slices.Equal(near, want) {
		t.Errorf("stored %v, want %v", near, want)
	}
	if result.Added != int64(len(scores)+len(near)) {
		t.Errorf("%d added, want %d", result.Added, len(scores)+len(near))
	}
}
