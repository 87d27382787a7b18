// Reads of links count as reads of their triples.

package links

import (
	"github.com/trefoildb/trefoil/internal/readcount"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// readPages is the number of pages whose URLs are read in one call.
const readPages = 4096

// countReads counts a read for each page whose links were answered: of the pattern with the page as
// subject or, backward, as object. rows returns the number of its links. Pages are counted by their
// URLs, which costs a call while a subscription needs it. Unknown pages have no triples.
func (c *linksCall) countReads(d links.Direction, pages []uid.UID, rows func(i int) int) {
	if !c.Reads.Active() {
		return
	}
	// 1. Pages are counted by their URLs, so that the pattern is that of the triples.
	for from := 0; from < len(pages); from += readPages {
		part := pages[from:min(from+readPages, len(pages))]
		urls, err := c.API.graph.URLs(c.ctx, part)
		if err == nil {
			err = answered("URLs", len(urls), len(part))
		}
		if err != nil {
			return // the client has gone, or the graph; the answer fails, too
		}
		// 2. A page without a URL is unknown: it has no triples.
		c.Reads.Count(endpoint.ReadsAs(c.r), func(yield func(readcount.Pattern, int64) bool) {
			for i, url := range urls {
				if url == "" {
					continue
				}
				p := triple.Pattern{Predicate: c.predicate}
				if d == links.Forward {
					p.Subject = triple.NewIRI(url)
				} else {
					p.Object = triple.NewIRI(url)
				}
				if !yield(readcount.PatternOf(p), int64(rows(from+i))) {
					return
				}
			}
		})
	}
}
