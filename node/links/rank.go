// Ranking by the links around a result set, and by the scores of a job.

package links

import (
	"context"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node/links/ranking"
)

// labelsAtOnce is how many scores are being noted at a time.
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
