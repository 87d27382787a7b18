// Tests of weighted PageRank, and of the size of messages.

package rank_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/rank"
)

// Links must share a page's score by their weights, whatever pieces they come in, and on any
// number of machines.
func TestPageRankWeighted(t *testing.T) {
	r := random(t)
	for range 50 {
		n := 1 + r.IntN(40)
		lists, weights := aGraph(r, n), make([][]float64, n)
		given := make([][]float64, n) // to the job
		for page, list := range lists {
			for range list {
				w := []float64{0, 1, r.Float64(), 1e3 * r.Float64()}[r.IntN(4)]
				weights[page] = append(weights[page], w)
				if w == 0 { // as weights that are no numbers of times count
					w = []float64{0, -1, math.NaN(), math.Inf(1)}[r.IntN(4)]
				}
				given[page] = append(given[page], w)
			}
			switch r.IntN(8) {
			case 0: // a page without labels
				weights[page], given[page] = slices.Repeat([]float64{1}, len(list)), nil
			case 1: // only ratios count
				for i, w := range weights[page] {
					weights[page][i], given[page][i] = w, w*1e305
				}
			}
		}
		want := powerIteration(lists, weights, 0.85)
		pages := cuts(r, n, 1+r.IntN(5))
		piece, machines := r.IntN(3), 1+r.IntN(3)
		parts := split(lists, pages)
		for i, p := range parts {
			p := p.(*partition)
			p.piece = piece
			for page := range pages[i] {
				p.weights = append(p.weights, p.inOrder(page, lists[int(p.first)+page], given[int(p.first)+page]))
			}
		}
		scores, errs := onMachines(parts, newWireOf(pages, machines), machines, func(_ int, o *rank.Options) {
			o.Weighted, o.Tolerance, o.MaxRounds, o.CopyBytes, o.Workers = true, 1e-14, 5000, int64(r.IntN(2))<<18, 1+r.IntN(3)
		})
		require.NoError(t, errors.Join(errs...))
		checkNear(t, [][]float64{slices.Concat(scores...)}, [][]float64{want}, 1e-11)
	}
	p := split([][]uint32{{0}, {0}}, []int{2})[0].(*partition)
	p.weights = [][]float64{{1}, {1, 1}}
	if _, err := rank.PageRank(ctx, []rank.Partition{p}, rank.Options{Weighted: true}); !errors.Is(err, rank.ErrGraph) {
		t.Errorf("two weights of a link: %v", err)
	}
}

// inOrder returns the weights of a page's links in the order of Scan: locals, then ghosts.
func (p *partition) inOrder(page int, list []uint32, weights []float64) (ordered []float64) {
	for _, ghosts := range []bool{false, true} {
		for i, w := range weights {
			if p.Range().Contains(uidOf(list[i])) != ghosts {
				ordered = append(ordered, w)
			}
		}
	}
	return ordered
}

// The messages of a round must have one number for each page that a machine's links lead to on
// another one, however many of its partitions have such links.
func TestPageRankSendsATargetOnce(t *testing.T) {
	// Pages 0 and 1 are of one machine, and 2 and 3 of the other. Page 7 is none.
	lists := [][]uint32{{2, 3, 7}, {2}, {0}, {0}}
	pages := []int{1, 1, 1, 1}
	w := newWire(2, []int{0, 1, 0, 1})
	parts := split(lists, pages)
	parts[1], parts[2] = parts[2], parts[1] // so that both of a machine link to page 2
	w.owners = []int{0, 0, 1, 1}
	rounds := 0
	_, errs := onMachines(parts, w, 2, func(m int, o *rank.Options) {
		if m == 0 {
			o.Progress = func(rank.Round) { rounds++ }
		}
	})
	require.NoError(t, errors.Join(errs...))
	// Each round has a head of 16 bytes each way, two numbers one way and one the other.
	greetings := w.bytes - (rounds+1)*(2*16+3*8)
	if greetings < 0 || greetings > 30 {
		t.Errorf("%d bytes in %d rounds, %d of them for greetings", w.bytes, rounds, greetings)
	}
}
