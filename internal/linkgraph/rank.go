// Ranking by the links around a result set, and by the scores of a job.

package linkgraph

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranking"
	"github.com/trefoildb/trefoil/links"
)

// Rank implements links.Graph.
func (g *Graph) Rank(ctx context.Context, r links.RankRequest) (ranked links.Ranking, err error) {
	if err := ranking.Check(&r); err != nil {
		return ranked, err
	}
	if r.Algorithm == links.PageRank {
		ranked, err = g.ranker.Ranks.Rank(r)
		if errors.Is(err, links.ErrNoJob) {
			// A member that has just joined may not know of a job yet.
			if _, err := g.PageRank(ctx); err != nil {
				return ranked, err
			}
			ranked, err = g.ranker.Ranks.Rank(r)
		}
		return ranked, err
	}
	return ranking.Rank(ctx, g, r)
}
