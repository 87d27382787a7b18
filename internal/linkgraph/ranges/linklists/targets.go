// The other ends of links, as URLs.

package linklists

import (
	"context"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links"
)

// Targets calls each with the other ends of the links of pages, each once. The ends of one page
// come together, but pages in any order. An end is valid only during the call.
func (g *Reader) Targets(ctx context.Context, r *rowreader.Reader, d links.Direction, urls []string, each func(item int, end []byte) error) error {
	direct, err := g.CopiedTargets(ctx, r, d, urls, each)
	if err != nil {
		return err
	}
	var all []linkkeys.Wanted
	for _, i := range direct {
		if _, ok := linkkeys.NewIRI(urls[i]); ok {
			all = append(all, linkkeys.Wanted{Range: g.Keys.List(d, urls[i]), Item: i})
		}
	}
	return r.ScanTargets(ctx, d, all, func(i int) string { return urls[i] }, each)
}
