// Package ranking answers requests to rank a result set by the links around it, from any source
// of links (package rank has the algorithms).
package ranking

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

const (
	// maxRoots bounds a result set, and maxAround the sample for one page of it.
	maxRoots  = 100_000
	maxAround = 10_000
	// maxVertices bounds a neighbourhood graph.
	maxVertices = 20_000_000
)

// Check returns links.ErrInvalid with the reason if a request is invalid.
func Check(r *links.RankRequest) error {
	switch {
	case r.Algorithm != links.SALSA && r.Algorithm != links.HITS && r.Algorithm != links.PageRank:
		return fmt.Errorf("%w: there is no algorithm %q; there are %s, %s and %s", links.ErrInvalid, r.Algorithm, links.SALSA, links.HITS, links.PageRank)
	case len(r.Pages) > maxRoots:
		return fmt.Errorf("%w: %d pages to rank; %d are the most", links.ErrInvalid, len(r.Pages), maxRoots)
	case r.In < 0 || r.Out < 0 || r.In > maxAround || r.Out > maxAround:
		return fmt.Errorf("%w: %d and %d pages around each; 0 to %d", links.ErrInvalid, r.In, r.Out, maxAround)
	case len(r.Pages)*(1+r.In+r.Out) > maxVertices:
		return fmt.Errorf("%w: up to %d pages in all; %d are the most", links.ErrInvalid, len(r.Pages)*(1+r.In+r.Out), maxVertices)
	case r.Weighted && r.Algorithm == links.PageRank:
		return fmt.Errorf("%w: a ranking by %s has the weights of its job; weighted is for %s and %s", links.ErrInvalid, links.PageRank, links.SALSA, links.HITS)
	case r.Top < 0:
		return fmt.Errorf("%w: the best %d", links.ErrInvalid, r.Top)
	}
	return nil
}

// Source is a graph whose links are ranked: rank.Source, with the directions of package links.
type Source interface {
	SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, s sample.Spec) (rank.Lists[uid.UID], error)
	LinksWithin(ctx context.Context, s *rank.Set, c sample.Class) (rank.Lists[uint32], error)
	WeightsWithin(ctx context.Context, s *rank.Set, c sample.Class) (rank.Lists[rank.WeightedLink], error)
}

// directed converts directions of package rank into those of package links.
type directed struct{ Source }

// SampleLinks implements rank.Source.
func (s directed) SampleLinks(ctx context.Context, d rank.Direction, pages []uid.UID, spec sample.Spec) (rank.Lists[uid.UID], error) {
	direction := links.Forward
	if d == rank.Backward {
		direction = links.Backward
	}
	return s.Source.SampleLinks(ctx, direction, pages, spec)
}

// Rank answers a request for SALSA or HITS. The request must pass [Check].
func Rank(ctx context.Context, source Source, r links.RankRequest) (ranking links.Ranking, err error) {
	// 1. Sample the links around the roots.
	n, err := rank.NewNeighbourhood(ctx, directed{source}, r.Pages, rank.NeighbourhoodOptions{
		In: r.In, Out: r.Out, Mode: r.Mode, Class: r.Class, Seed: r.Seed, Weighted: r.Weighted})
	if err != nil {
		return ranking, err
	}
	// 2. Score the graph.
	var scores rank.Scores
	switch r.Algorithm {
	case links.SALSA:
		scores = rank.SALSA(n.Graph)
		ranking.Converged = true // it is in closed form
	case links.HITS:
		result, err := rank.HITS(ctx, n.Graph, rank.HITSOptions{})
		if err != nil {
			return ranking, err
		}
		scores, ranking.Rounds, ranking.Converged = result.Scores, result.Rounds, result.Converged
	}
	// 3. Take the best pages: of the roots only, unless all are requested.
	ranking.Vertices, ranking.Edges = n.Graph.Len(), n.Graph.NumEdges()
	top, best := r.Top, n.TopRoots
	if r.All {
		best = n.Top
	}
	if top == 0 {
		top = ranking.Vertices
	}
	ranking.Authorities, ranking.Hubs = best(top, scores.Authority), best(top, scores.Hub)
	return ranking, nil
}
