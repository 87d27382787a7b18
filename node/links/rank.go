// Ranking by the links around a result set, and by the scores of a job.

package links

import (
	"context"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/links/ranking"
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
	return ranking.Rank(ctx, source{g}, r)
}
