// Ranking by the links around a result set, and by the scores of a job.

package linkgraph

import (
	"context"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranking"
	"github.com/trefoildb/trefoil/links"
)

// labelsAtOnce is the number of scores that are written concurrently.
const labelsAtOnce = 256

// Rank implements links.Graph.
func (g *Graph) Rank(ctx context.Context, r links.RankRequest) (ranked links.Ranking, err error) {
	if err := ranking.Check(&r); err != nil {
		return ranked, err
	}
	if r.Algorithm == links.PageRank {
		return g.ranks.rank(r)
	}
	return ranking.Rank(ctx, g, r)
}
