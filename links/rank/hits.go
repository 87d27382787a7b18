// This file holds HITS.

package rank

import (
	"context"
	"math"
)

// HITSOptions are those of [HITS]. The zero value is ready for use.
type HITSOptions struct {
	// Tolerance ends the iteration: when neither vector changes by as much in a
	// round, in L2. 0 means 1e-9.
	Tolerance float64
	// MaxRounds ends it without convergence. 0 means 100.
	MaxRounds int
}

// HITSResult is what [HITS] returns.
type HITSResult struct {
	Scores
	Rounds    int
	Change    float64 // of the vector that changed more in the last round, L2
	Converged bool
}

// HITS computes hubs and authorities (Kleinberg, Authoritative Sources in a
// Hyperlinked Environment, JACM 1999) from all vertices alike: in turns, an
// authority's score is the sum of those of the hubs that link to it, and a
// hub's that of the authorities that it links to. Both vectors have L2 norm 1,
// or are 0 for a graph without edges. The error is that of the context.
func HITS(ctx context.Context, g *Graph, o HITSOptions) (*HITSResult, error) {
	if o.Tolerance == 0 {
		o.Tolerance = 1e-9
	}
	if o.MaxRounds == 0 {
		o.MaxRounds = 100
	}
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
	targets := g.ascending() // sums are the same bits, in whatever order edges came
	for r.Rounds < o.MaxRounds && !r.Converged {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		clear(authority)
		start := 0
		for v, end := range g.ends {
			score := r.Hub[v]
			for _, to := range targets[start:end] {
				authority[to] += score
			}
			start = end
		}
		normalise(authority)
		start = 0
		for v, end := range g.ends {
			score := 0.0
			for _, to := range targets[start:end] {
				score += authority[to]
			}
			hub[v] = score
			start = end
		}
		normalise(hub)
		r.Change = max(distance(authority, r.Authority), distance(hub, r.Hub))
		r.Authority, authority = authority, r.Authority
		r.Hub, hub = hub, r.Hub
		r.Rounds++
		r.Converged = r.Change < o.Tolerance
	}
	return r, nil
}

// normalise divides by the L2 norm, which is not 0 in a graph with edges.
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
