// Tests of the links among the pages of a set, and of samples, of many cells.

package linkgraph

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/rank/ranktest"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// source is a graph as a source of package rank.
type source struct{ *Graph }

func (s source) SampleLinks(ctx context.Context, d rank.Direction, pages []uid.UID, spec sample.Spec) (links.Lists, error) {
	return s.Graph.SampleLinks(ctx, [...]links.Direction{rank.Forward: links.Forward, rank.Backward: links.Backward}[d], pages, spec)
}

// TestSource reads a graph of several cells: short lists and long ones, pages with changed
// lists, and pages in no cell.
func TestSource(t *testing.T) {
	r := random(t)
	w := newWorld(t, machine.Options{})
	change := func(hosts int) (c links.Change) {
		c.Source = pageURL(r.IntN(hosts), r.IntN(10))
		for range r.IntN(1 << r.IntN(9)) {
			c.Targets = append(c.Targets, pageURL(r.IntN(hosts), r.IntN(10)))
		}
		slices.Sort(c.Targets)
		c.Targets = slices.Compact(c.Targets)
		for range c.Targets {
			c.Labels = append(c.Labels, links.Label{Weight: float64(1 + r.IntN(4)), Anchor: "see"})
		}
		if r.IntN(3) == 0 {
			c.Labels = nil
		}
		return c
	}
	var changes []links.Change
	for range 400 {
		changes = append(changes, change(50))
	}
	w.update(changes...)
	w.o = machine.Options{CellPages: 80, Dir: t.TempDir()}
	w.reopen()
	w.update(change(60), change(60), change(60), links.Change{Source: pageURL(1, 1), Targets: []string{pageURL(55, 5)}})
	s, err := w.graph.Board.CaughtUp(ctx)
	if err != nil || len(s.Views) < 3 {
		t.Fatal(len(s.Views), err)
	}
	all, err := w.graph.Pages(ctx, 0, 1000)
	require.NoError(t, err)
	lists, err := w.graph.Links(ctx, links.Forward, all)
	require.NoError(t, err)
	labels, err := w.graph.Labels(ctx, links.Forward, all)
	require.NoError(t, err)
	forward, weights := map[uid.UID][]uid.UID{}, map[[2]uid.UID]float64{}
	inRows, long := 0, 0
	for i, u := range all {
		forward[u] = slices.Clone(lists.At(i))
		for k, to := range forward[u] {
			weights[[2]uid.UID{u, to}] = labels.At(i)[k].Weight
		}
		if _, ok := s.View(u).Cell().Ordinal(u); !ok {
			inRows++
		}
		if len(forward[u]) > 64 {
			long++
		}
	}
	if inRows == 0 || long == 0 {
		t.Fatalf("%d pages in no cell, %d long lists", inRows, long)
	}
	ranktest.CheckSource(t, r.Uint64(), source{w.graph}, forward,
		func(from, to uid.UID) float64 { return weights[[2]uid.UID{from, to}] }, w.graph.hosts.ForCall())

	for _, d := range []links.Direction{links.Forward, links.Backward} {
		degrees, err := w.graph.Degrees(ctx, d, all)
		if err != nil || len(degrees) != len(all) {
			t.Fatal(len(degrees), err)
		}
		for i, u := range all {
			if want := s.View(u).Degree(d, u); degrees[i] != want {
				t.Fatalf("%s has %d %s links, want %d", u, degrees[i], d, want)
			}
		}
	}
}

// BenchmarkRank ranks a result set of 2,800 pages.
func BenchmarkRank(b *testing.B) {
	w, _, uids := benchWorld(b, 100_000)
	r := random(b)
	roots := make([]uid.UID, 2800)
	for i := range roots {
		roots[i] = uids[r.IntN(len(uids))]
	}
	for _, algorithm := range []links.Algorithm{links.SALSA, links.HITS, "weighted"} {
		b.Run(fmt.Sprint(algorithm), func(b *testing.B) {
			weighted := algorithm == "weighted"
			if weighted {
				algorithm = links.SALSA
			}
			b.ReportAllocs()
			var ranking links.Ranking
			for b.Loop() {
				var err error
				ranking, err = w.graph.Rank(ctx, links.RankRequest{Algorithm: algorithm, Pages: roots, In: 10, Out: 10, Mode: sample.ModeConsistent, Top: 10, Weighted: weighted})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(ranking.Vertices), "pages")
			b.ReportMetric(float64(ranking.Edges), "links")
		})
	}
}
