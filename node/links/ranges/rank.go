package ranges

import (
	"context"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/links/ranking"
)

// LinksWithin implements rank.Source. Where classes matter, pages of the set are told by
// their URLs, so that nothing is looked up of others.
func (g *Graph) LinksWithin(ctx context.Context, set *rank.Set, class sample.Class) (l rank.Lists[uint32], err error) {
	pages := set.UIDs()
	return l, g.readAgain(ctx, func(r *reader) error {
		l = rank.Lists[uint32]{}
		urls, of, err := r.distinct(ctx, pages)
		if err != nil {
			return err
		}
		if class == sample.All {
			return r.allWithin(ctx, set, urls, of, &l)
		}
		number := make(map[string]uint32, len(urls))
		h := hosts{}
		for i, at := range of {
			if at >= 0 {
				number[urls[at]] = uint32(i)
				h.add(pages[i], urls[at])
			}
		}
		found := make([][]uint32, len(urls))
		err = r.targets(ctx, links.Forward, urls, func(i int, end []byte) error {
			if n, ok := number[string(end)]; ok {
				found[i] = append(found[i], n)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, at := range of {
			if at >= 0 {
				classes := sample.ClassesOf(h, pages[i])
				for _, n := range found[at] {
					if classes.Of(pages[n].Extent()) >= class {
						l.Items = append(l.Items, n)
					}
				}
			}
			l.End()
		}
		return nil
	})
}

// withinPages is of how many pages lists are held at a time.
const withinPages = 1 << 13

// allWithin appends the links of pages that lead to pages of a set. Pages are different,
// so that those that are known come in the order of their URLs.
func (r *reader) allWithin(ctx context.Context, set *rank.Set, urls []string, of []int, l *rank.Lists[uint32]) error {
	var found [][]uid.UID
	from := 0
	for _, at := range of {
		if at < 0 {
			l.End()
			continue
		}
		if at < from || at >= from+len(found) {
			from = at
			var err error
			if found, err = r.lists(ctx, links.Forward, urls[at:min(at+withinPages, len(urls))]); err != nil {
				return err
			}
		}
		l.Items = set.AppendWithin(l.Items, found[at-from], sample.All, sample.Classes{})
		l.End()
	}
	return nil
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
