// Rankings of result sets.

package ranges

import (
	"context"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linklists"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranking"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// LinksWithin implements rank.Source.
func (g *Graph) LinksWithin(ctx context.Context, set *rank.Set, class sample.Class) (l rank.Lists[uint32], err error) {
	pages := set.UIDs()
	return l, g.reads.ReadRetrying(ctx, func(r *rowreader.Reader) error {
		l = rank.Lists[uint32]{}
		var classes sample.Classes
		h := linklists.Hosts{} // of the set only: no other page counts
		if class != sample.All {
			if err := g.hosts.Add(ctx, r, h, pages); err != nil {
				return err
			}
		}
		return g.lists.ForEach(ctx, r, links.Forward, pages, func(i int, list []uid.UID) error {
			if class != sample.All {
				classes = sample.ClassesOf(h, pages[i])
			}
			l.Items = set.AppendWithin(l.Items, list, class, classes)
			l.End()
			return nil
		})
	})
}

// Rank implements links.Graph. PageRank is answered from the scores of the last job.
func (g *Graph) Rank(ctx context.Context, r links.RankRequest) (ranked links.Ranking, err error) {
	if err := ranking.Check(&r); err != nil {
		return ranked, err
	}
	if r.Algorithm == links.PageRank {
		return g.ranker.Ranks.Rank(r)
	}
	return ranking.Rank(ctx, g, r)
}
