// Ranking by the links around a result set, and by the scores of a job.

package links

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// source is the graph as package rank asks for neighbourhoods; its directions have the
// same values.
type source struct{ *Graph }

// SampleLinks implements rank.Source.
func (s source) SampleLinks(ctx context.Context, d rank.Direction, pages []uid.UID, spec sample.Spec) (rank.Lists[uid.UID], error) {
	direction := links.Forward
	if d == rank.Backward {
		direction = links.Backward
	}
	return s.Graph.SampleLinks(ctx, direction, pages, spec)
}

const (
	// maxRoots bounds a result set, and maxAround what is drawn for one page of it.
	maxRoots  = 100_000
	maxAround = 10_000
	// maxVertices bounds a neighbourhood graph.
	maxVertices = 20_000_000
)

// Rank implements links.Graph.
func (g *Graph) Rank(ctx context.Context, r links.RankRequest) (ranking links.Ranking, err error) {
	if err := checkRank(&r); err != nil {
		return ranking, err
	}
	if r.Algorithm == links.PageRank {
		return g.ranks.rank(r)
	}
	n, err := rank.NewNeighbourhood(ctx, source{g}, r.Pages, rank.NeighbourhoodOptions{
		In: r.In, Out: r.Out, Mode: r.Mode, Class: r.Class, Seed: r.Seed})
	if err != nil {
		return ranking, err
	}
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

func checkRank(r *links.RankRequest) error {
	switch {
	case r.Algorithm != links.SALSA && r.Algorithm != links.HITS && r.Algorithm != links.PageRank:
		return fmt.Errorf("%w: there is no algorithm %q; there are %s, %s and %s", links.ErrInvalid, r.Algorithm, links.SALSA, links.HITS, links.PageRank)
	case len(r.Pages) > maxRoots:
		return fmt.Errorf("%w: %d pages to rank; %d are the most", links.ErrInvalid, len(r.Pages), maxRoots)
	case r.In < 0 || r.Out < 0 || r.In > maxAround || r.Out > maxAround:
		return fmt.Errorf("%w: %d and %d pages around each; 0 to %d", links.ErrInvalid, r.In, r.Out, maxAround)
	case len(r.Pages)*(1+r.In+r.Out) > maxVertices:
		return fmt.Errorf("%w: up to %d pages in all; %d are the most", links.ErrInvalid, len(r.Pages)*(1+r.In+r.Out), maxVertices)
	case r.Top < 0:
		return fmt.Errorf("%w: the best %d", links.ErrInvalid, r.Top)
	}
	return nil
}
