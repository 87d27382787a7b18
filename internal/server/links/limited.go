// Links for users who may read and write some graphs only.

package links

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/linkgraph/linkrows"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranking"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// reader is what calls read of a graph: names and lists. The rest has no rights by graph.
type reader interface {
	linkrows.Names
	links.ListReader
}

// limit answers the call from the rows of the user's graphs, because the cells have the links of all. They have no
// epoch: that of the cells changes with other graphs, too.
func (c *linksCall) limit(pinned bool) error {
	if pinned {
		return problem.Errorf(problem.KindForbidden, "epoch", "an epoch is of all graphs, and this user may read some only; leave it out")
	}
	rows, err := c.Store.Reader()
	if err != nil {
		return err
	}
	response.SetSource(c.w, rows)
	c.rows = graphrights.Filter(c.ctx, rows)
	c.graph, c.has = linkrows.New(c.API.graph, c.rows, c.predicate), links.Capabilities{}
	return nil
}

// rank ranks by the links that the user may read.
func (c *linksCall) rank(r links.RankRequest) (links.Ranking, error) {
	switch {
	case c.rows == nil:
		return c.API.graph.Rank(c.ctx, r)
	case r.Algorithm == links.PageRank:
		return links.Ranking{}, problem.Errorf(problem.KindForbidden, "algorithm", "scores of PageRank are of all graphs, and this user may read some only; take %s or %s", links.SALSA, links.HITS)
	}
	if err := ranking.Check(&r); err != nil {
		return links.Ranking{}, err
	}
	return ranking.Rank(c.ctx, paidRows{linkrows.New(c.API.graph, c.rows, c.predicate), c}, r)
}

// paidRows pays for the lists that samples are drawn from, because these are read whole.
type paidRows struct {
	*linkrows.Graph
	c *linksCall
}

// SampleLinks implements [ranking.Source].
func (p paidRows) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, spec sample.Spec) (all links.Lists, err error) {
	degrees, err := p.Degrees(ctx, d, pages)
	if err != nil {
		return all, err
	}
	held := p.c.API.Account(p.c.r)
	defer held.Release()
	for len(pages) > 0 {
		n, count := piece(degrees, p.c.PieceLinks)
		if err := p.c.hold(held, count, bytesALink); err != nil {
			return all, err
		}
		some, err := p.Graph.SampleLinks(ctx, d, pages[:n], spec)
		if err != nil {
			return all, err
		}
		for i := range some.Len() {
			all.Items = append(all.Items, some.At(i)...)
			all.End()
		}
		held.Release()
		pages, degrees = pages[n:], degrees[n:]
	}
	return all, nil
}

// mayUpdate returns an error if the request may not change the default graph, which has all links of updates.
func mayUpdate(ctx context.Context) error {
	if err := graphrights.CheckGraph(ctx, triple.Term{}); err != nil {
		return fmt.Errorf("/links/update changes the default graph only: %w; POST and DELETE /triples change links of other graphs", err)
	}
	return nil
}
