package ranges

import (
	"context"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/links/ranking"
)

// LinksWithin implements rank.Source.
func (g *Graph) LinksWithin(ctx context.Context, set *rank.Set, class sample.Class) (l rank.Lists[uint32], err error) {
	pages := set.UIDs()
	return l, g.readAgain(ctx, func(r *reader) error {
		l = rank.Lists[uint32]{}
		var classes sample.Classes
		h := hosts{} // of the set: no other page counts
		if class != sample.All {
			if err := r.learn(ctx, h, pages); err != nil {
				return err
			}
		}
		return r.eachList(ctx, links.Forward, pages, func(i int, list []uid.UID) error {
			if class != sample.All {
				classes = sample.ClassesOf(h, pages[i])
			}
			l.Items = set.AppendWithin(l.Items, list, class, classes)
			l.End()
			return nil
		})
	})
}

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
