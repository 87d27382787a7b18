// Links for users who may read and write some graphs only.

package links

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/linkgraph/linkrows"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/links"
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

// mayUpdate returns an error if the request may not change the default graph, which has all links of updates.
func mayUpdate(ctx context.Context) error {
	if err := graphrights.CheckGraph(ctx, triple.Term{}); err != nil {
		return fmt.Errorf("/links/update changes the default graph only: %w; POST and DELETE /triples change links of other graphs", err)
	}
	return nil
}
