// The functions of links in queries of a cluster.

package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// ask returns the rows of a query that a machine answers, sorted.
func (w *web) ask(m *machine, text string) (lines []string, err error) {
	e, err := engine.New(m.node, engine.Options{Links: func(context.Context) (links.Graph, error) { return w.graphs[m], nil }, Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	q, err := e.Prepare(w.t.Context(), "PREFIX links: <urn:trefoil:links:> "+text, engine.Params{})
	if err != nil {
		return nil, err
	}
	answer, err := q.Run(w.t.Context())
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	for row, err := range answer.Rows() {
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprint(row))
	}
	slices.Sort(lines)
	return lines, nil
}

// TestLinkQueries: every machine answers the functions of links as the links are, also right after one is dead,
// or with an error.
func TestLinkQueries(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer func() { web.end() }()
		for range 15 {
			web.change()
		}
		var topics []triple.Triple
		for _, source := range web.sources() {
			topics = append(topics, triple.Triple{Subject: triple.NewIRI(source), Predicate: triple.NewIRI("x:topic"), Object: triple.NewString("rdf")})
		}
		if _, err := store.Add(t.Context(), w.any().node, topics); err != nil {
			t.Fatal(err)
		}
		web.check(web.some())
		check := func(m *machine) error {
			for _, check := range []func(*machine) error{web.checkDegrees, web.checkReached, web.checkRanked} {
				if err := check(m); err != nil {
					return err
				}
			}
			return nil
		}
		for _, m := range w.up() {
			if err := check(m); err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
		}
		// Scores are there on all machines.
		m := w.any()
		web.pageRank(web.graphs[m])
		var best []string
		for _, other := range w.up() {
			lines, err := web.ask(other, `SELECT ?p ?s { ?p links:pagerank ?s } ORDER BY DESC(?s) LIMIT 5`)
			if err != nil || len(lines) != 5 || best != nil && !slices.Equal(lines, best) {
				t.Errorf("%s: %v, %v; others say %v", other.name, lines, err, best)
			}
			best = lines
		}
		// A dead machine's part is answered again soon; until then there are errors, and nothing wrong.
		victim := w.any()
		defer func(closed func() error) { _ = closed() }(web.graphs[victim].Close)
		delete(web.graphs, victim)
		victim.kill()
		w.until("links are answered", func() bool { return check(w.up()[0]) == nil })
	})
}

// sources returns the pages with links, sorted.
func (w *web) sources() []string {
	all := slices.Sorted(maps.Keys(w.links))
	return slices.DeleteFunc(all, func(source string) bool { return len(w.links[source]) == 0 })
}

// checkDegrees compares the degrees of all pages with links.
func (w *web) checkDegrees(m *machine) error {
	got, err := w.ask(m, `SELECT ?p ?n { ?p <x:topic> "rdf" ; links:outDegree ?n }`)
	if err != nil {
		return err
	}
	var want []string
	for _, source := range w.sources() {
		want = append(want, fmt.Sprint([]triple.Term{triple.NewIRI(source), triple.NewTyped(fmt.Sprint(len(w.links[source])), triple.XSDInteger)}))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: degrees %v, want %v", m.name, got, want)
	}
	return nil
}

// checkReached compares the pages at most two links away from one.
func (w *web) checkReached(m *machine) error {
	start := w.sources()[0]
	got, err := w.ask(m, fmt.Sprintf(`SELECT ?p ?d { <%s> links:distance (?p 2 ?d) }`, start))
	if err != nil {
		return err
	}
	distances, from := map[string]int{start: 0}, []string{start}
	for step := 1; step <= 2; step++ {
		var next []string
		for _, source := range from {
			for target := range w.links[source] {
				if _, ok := distances[target]; !ok {
					distances[target] = step
					next = append(next, target)
				}
			}
		}
		from = next
	}
	var want []string
	for url, d := range distances {
		want = append(want, fmt.Sprint([]triple.Term{triple.NewIRI(url), triple.NewTyped(fmt.Sprint(d), triple.XSDInteger)}))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: reached %v, want %v", m.name, got, want)
	}
	return nil
}

// checkRanked compares the order of pages by SALSA with a ranking of the machine's graph.
func (w *web) checkRanked(m *machine) error {
	got, err := w.ask(m, `SELECT ?p ?s { ?p <x:topic> "rdf" . (?p) links:salsa (?s 3 3) }`)
	if err != nil {
		return err
	}
	pages, err := w.graphs[m].UIDs(w.t.Context(), w.sources())
	if err != nil {
		return err
	}
	slices.Sort(pages)
	ranking, err := w.graphs[m].Rank(w.t.Context(), links.RankRequest{Algorithm: links.SALSA, Pages: pages, In: 3, Out: 3, Mode: sample.ModeConsistent})
	if err != nil {
		return err
	}
	if len(got) != len(ranking.Authorities) {
		w.t.Errorf("%s: %d pages, want %d", m.name, len(got), len(ranking.Authorities))
		return nil
	}
	for _, one := range ranking.Authorities {
		urls, err := w.graphs[m].URLs(w.t.Context(), []uid.UID{one.UID})
		if err != nil {
			return err
		}
		line, ok := slices.BinarySearchFunc(got, "[<"+urls[0]+">", func(row, start string) int { return strings.Compare(row[:min(len(row), len(start))], start) })
		var score float64
		if ok {
			_, err = fmt.Sscanf(got[line][strings.IndexByte(got[line], '"')+1:], "%g", &score)
		}
		if !ok || err != nil || score-one.Score > 1e-12 || one.Score-score > 1e-12 {
			w.t.Errorf("%s: the score of %s is %v in %v, %v; want %v", m.name, urls[0], score, got, err, one.Score)
		}
	}
	return nil
}
