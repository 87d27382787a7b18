// Tests of paths over the cells of a graph of hyperlinks.

package path_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/path"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// cells is a graph of the links of triples. After some calls it fails.
type cells struct {
	exec.LinkGraph
	urls  []string // by page - 1
	lists [2][][]uint64
	calls int // until it fails; negative: never
	fails bool
}

var errCells = errors.New("no cells")

func newCells(all []triple.Triple, calls int) *cells {
	c := &cells{calls: calls}
	page := func(t triple.Term) uint64 {
		i := slices.Index(c.urls, t.Value())
		if i < 0 {
			i = len(c.urls)
			c.urls = append(c.urls, t.Value())
			c.lists[0], c.lists[1] = append(c.lists[0], nil), append(c.lists[1], nil)
		}
		return uint64(i + 1)
	}
	for _, t := range all {
		from, to := page(t.Subject), page(t.Object)
		c.lists[0][from-1] = append(c.lists[0][from-1], to)
		c.lists[1][to-1] = append(c.lists[1][to-1], from)
	}
	return c
}

func (c *cells) call() error {
	if c.fails = c.calls == 0; c.fails {
		return errCells
	}
	c.calls--
	return nil
}

func (c *cells) Pages(_ context.Context, urls []string) ([]uint64, error) {
	pages := make([]uint64, len(urls))
	for i, url := range urls {
		pages[i] = uint64(slices.Index(c.urls, url) + 1)
	}
	return pages, c.call()
}

func (c *cells) URLs(_ context.Context, pages []uint64) ([]string, error) {
	urls := make([]string, len(pages))
	for i, page := range pages {
		urls[i] = c.urls[page-1]
	}
	return urls, nil // a page keeps its URL, so this needs no cells
}

func side(backward bool) int {
	if backward {
		return 1
	}
	return 0
}

// Links returns lists up to a number of links, which is small here.
func (c *cells) Links(_ context.Context, r exec.LinkRequest) (lists [][]uint64, err error) {
	left := 10
	for _, page := range r.Pages {
		list := c.lists[side(r.Backward)][page-1]
		if left -= len(list); left < 0 && r.Most > 0 {
			break
		}
		lists = append(lists, list)
	}
	return lists, c.call()
}

func (c *cells) Degrees(_ context.Context, pages []uint64, backward bool) (degrees []int, err error) {
	for _, page := range pages {
		degrees = append(degrees, len(c.lists[side(backward)][page-1]))
	}
	return degrees, c.call()
}

// TestPathCells compares paths that read cells with paths that read rows. If the cells fail at any call, the path
// goes on with rows.
func TestPathCells(t *testing.T) {
	random := seed.Rand(t)
	// 1. Links, one page with many of them, and a topic of some pages.
	name := func(i int) triple.Term { return sparqltest.IRI(fmt.Sprintf("p%d", i)) }
	link := map[triple.Triple]bool{}
	for range 60 {
		link[triple.Triple{Subject: name(random.IntN(40)), Predicate: sparqltest.IRI("link"), Object: name(random.IntN(40))}] = true
	}
	for i := range 20 {
		link[triple.Triple{Subject: name(1), Predicate: sparqltest.IRI("link"), Object: name(i)}] = true
	}
	var links, all []triple.Triple
	for t := range link {
		links = append(links, t)
	}
	all = append(all, links...)
	for i := range 30 {
		all = append(all, triple.Triple{Subject: name(i + 20), Predicate: sparqltest.IRI("topic"), Object: name(i % 3)})
	}
	src := memsource.New(all)
	// 2. Each query, with cells that fail after some calls.
	for _, query := range []string{
		`SELECT ?b { <x:p1> <x:link>+ ?b }`, `SELECT ?b { <x:p1> ^<x:link>* ?b }`, `SELECT * { ?a <x:topic> <x:p2> . ?a <x:link>* ?b }`,
		`SELECT * { ?a <x:topic> ?t . ?a <x:link>+ ?t }`, `SELECT ?b { <x:p1> <x:link>?/<x:link>? ?b }`, `SELECT (COUNT(*) AS ?n) { ?a <x:topic> ?t . ?a (<x:link>/<x:link>)* ?b }`,
	} {
		want, _ := sparqltest.Lines(t, src, query, sparql.Options{})
		for calls := -1; calls < 12; calls++ {
			graph := newCells(links, calls)
			var opts sparql.Options
			opts.LinkPredicate, opts.LinkEdges = "x:link", func(context.Context) (exec.LinkGraph, error) { return graph, nil }
			got, plan := sparqltest.Lines(t, src, query, opts)
			if !slices.Equal(got, want) {
				t.Errorf("%s, %d calls: %d rows, want %d", query, calls, len(got), len(want))
			}
			if read := strings.Contains(plan, path.CellsName); read == graph.fails && !strings.Contains(query, "?/") {
				t.Errorf("%s, %d calls, failed %t: the plan is\n%s", query, calls, graph.fails, plan)
			}
		}
	}
}

// TestPathCellsMemory: a search that reaches more pages than it may hold is an error.
func TestPathCellsMemory(t *testing.T) {
	var ring []triple.Triple
	for i := range 3000 {
		ring = append(ring, triple.Triple{Subject: sparqltest.IRI(fmt.Sprintf("n%d", i)), Predicate: sparqltest.IRI("p"), Object: sparqltest.IRI(fmt.Sprintf("n%d", (i+1)%3000))})
	}
	var opts sparql.Options
	opts.Memory = 64 << 10
	opts.LinkPredicate, opts.LinkEdges = "x:p", func(context.Context) (exec.LinkGraph, error) { return newCells(ring, -1), nil }
	if n, _, err := sparqltest.Count(context.Background(), memsource.New(ring), `SELECT * { <x:n0> <x:p>+ ?b }`, opts); !errors.Is(err, sparql.ErrMemory) {
		t.Errorf("with little memory %d rows, %v", n, err)
	}
}
