// HITS, on a small graph.

package rank

import (
	"context"
	"math"
)

// HITSOptions are the options of [HITS]. The zero value is ready for use.
type HITSOptions struct {
	// Tolerance ends the iteration: it must be above the change of both vectors in a round, in
	// L2. 0 means 1e-9.
	Tolerance float64
	// MaxRounds ends the iteration if it does not converge. 0 means 100.
	MaxRounds int
}

// HITSResult is the result of [HITS].
type HITSResult struct {
	Scores
	Rounds    int
	Change    float64 // the larger change of the two vectors in the last round, L2
	Converged bool
}

// HITS computes hubs and authorities (Kleinberg, Authoritative Sources in a Hyperlinked
// Environment, JACM 1999). All vertices begin with equal scores. In turns, an authority gets the
// sum of the hubs linking to it, and a hub the sum of the authorities it links to. If the graph has
// weights, each term is multiplied by that of its edge (Bharat and Henzinger, Improved Algorithms
// for Topic Distillation in a Hyperlinked Environment, SIGIR 1998). Both vectors have L2 norm 1; if
// the graph has no edges, they are 0. HITS returns an error only if ctx has ended.
func HITS(ctx context.Context, g *Graph, o HITSOptions) (*HITSResult, error) {
	if o.Tolerance == 0 {
		o.Tolerance = 1e-9
	}
	if o.MaxRounds == 0 {
		o.MaxRounds = 100
	}
	// 1. Begin with equal scores. A graph without edges keeps zeros, because normalise must not
	// divide by 0.
	n := g.Len()
	r := &HITSResult{Scores: Scores{make([]float64, n), make([]float64, n)}}
	if g.NumEdges() == 0 {
		r.Converged = true
		return r, nil
	}
	authority, hub := make([]float64, n), make([]float64, n)
	for v := range n {
		r.Authority[v] = 1 / math.Sqrt(float64(n))
		r.Hub[v] = 1 / math.Sqrt(float64(n))
	}
	targets, weights := g.ascending() // ascending, because sums must be the same bits for any order of edges
	for r.Rounds < o.MaxRounds && !r.Converged {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// 2. Authorities sum up their hubs.
		clear(authority)
		start := 0
		for v, end := range g.ends {
			score := r.Hub[v]
			if weights == nil {
				for _, to := range targets[start:end] {
					authority[to] += score
				}
			} else {
				for at := start; at < end; at++ {
					authority[targets[at]] += score * weights[at]
				}
			}
			start = end
		}
		normalise(authority)
		// 3. Hubs sum up their authorities, with the scores of this round.
		start = 0
		for v, end := range g.ends {
			score := 0.0
			if weights == nil {
				for _, to := range targets[start:end] {
					score += authority[to]
				}
			} else {
				for at := start; at < end; at++ {
					score += authority[targets[at]] * weights[at]
				}
			}
			hub[v] = score
			start = end
		}
		normalise(hub)
		// 4. Swap the vectors, because the next round may overwrite the old ones.
		r.Change = max(distance(authority, r.Authority), distance(hub, r.Hub))
		r.Authority, authority = authority, r.Authority
		r.Hub, hub = hub, r.Hub
		r.Rounds++
		r.Converged = r.Change < o.Tolerance
	}
	return r, nil
}

// normalise divides by the L2 norm. The norm must not be 0, and is not if the graph has edges.
func normalise(vector []float64) {
	sum := 0.0
	for _, x := range vector {
		sum += x * x
	}
	norm := math.Sqrt(sum)
	for i := range vector {
		vector[i] /= norm
	}
}

func distance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum)
}
