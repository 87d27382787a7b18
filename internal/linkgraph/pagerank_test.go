// PageRank of a lone node against the same on plain lists.

package linkgraph

import (
	"math"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// TestPageRankScores compares scores with a power iteration on the lists and labels of the graph. Labels are on links
// within a cell and on those to pages before and behind it.
func TestPageRankScores(t *testing.T) {
	rng := random(t)
	w, _ := rankWorld(t, rng)
	var changes []links.Change
	for host := range 8 {
		c := links.Change{Source: pageURL(host, 0)}
		for dst := range 30 {
			if rng.IntN(3) > 0 {
				c.Targets = append(c.Targets, pageURL(dst%8, dst/8))
				c.Labels = append(c.Labels, cell.Label{Weight: []float64{0, 0.5, 1, 2, 1e6, -1, math.NaN()}[rng.IntN(7)], Anchor: "a"})
			}
		}
		changes = append(changes, c)
	}
	w.update(changes...)
	for _, weighted := range []bool{false, true} {
		w.startPageRank(links.PageRankOptions{Weighted: weighted, Tolerance: 1e-13})
		w.ended()
		got := w.ranked()
		distance := 0.0
		for u, score := range w.powerIteration(got, weighted) {
			distance += math.Abs(got[u] - score)
		}
		if !(distance < 1e-11) {
			t.Errorf("weighted %t: the distance is %g", weighted, distance)
		}
	}
}

// powerIteration returns the scores of pages by the lists and labels that the graph answers with.
func (w *world) powerIteration(of map[uid.UID]float64, weighted bool) map[uid.UID]float64 {
	w.t.Helper()
	var pages []uid.UID
	scores := map[uid.UID]float64{}
	for u := range of {
		pages = append(pages, u)
		scores[u] = 1 / float64(len(of))
	}
	lists, err := w.graph.Links(ctx, links.Forward, pages)
	require.NoError(w.t, err)
	labels, err := w.graph.Labels(ctx, links.Forward, pages)
	require.NoError(w.t, err)
	weight := func(l cell.Label) float64 {
		switch {
		case !weighted:
			return 1
		case l.Weight > 0:
			return l.Weight
		}
		return 0
	}
	for range 400 {
		next, lost := map[uid.UID]float64{}, 0.0
		for i, u := range pages {
			total := 0.0
			for _, l := range labels.At(i) {
				total += weight(l)
			}
			if total == 0 {
				lost += scores[u]
				continue
			}
			for k, to := range lists.At(i) {
				next[to] += scores[u] * weight(labels.At(i)[k]) / total
			}
		}
		for _, u := range pages {
			next[u] = (0.15+0.85*lost)/float64(len(pages)) + 0.85*next[u]
		}
		scores = next
	}
	return scores
}
