// Messages of assigning, decoded and checked.

package assign

import (
	"math"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/links/uid"
)

// codeAssign codes a request for UIDs (MethodAssign): the URLs of pages. It rejects URLs that are
// no IRIs.
func codeAssign(pages *[]page) func(*peer.Coder) {
	asked := 0
	return func(c *peer.Coder) {
		peer.List(c, pages, 1, func(p *page, c *peer.Coder) {
			if c.String(&p.url); !c.Reading() {
				return
			}
			if asked++; asked > MaxAssigned {
				c.Fail("more than %d pages", MaxAssigned)
			} else if _, ok := linkkeys.NewIRI(p.url); !ok {
				c.Fail("%q is no IRI", p.url)
			}
		})
	}
}

// codeAssigned codes the UIDs of the given number of pages.
func codeAssigned(uids *[]uid.UID, asked int) func(*peer.Coder) {
	return func(c *peer.Coder) {
		peer.List(c, uids, 1, func(u *uid.UID, c *peer.Coder) {
			if peer.Number(c, u, math.MaxUint64); !u.Valid() {
				c.Fail("the UID %d", *u)
			}
		})
		if len(*uids) != asked {
			c.Fail("%d UIDs for %d pages", len(*uids), asked)
		}
	}
}

// CodeURLs codes the pages that copies have for a UID.
func CodeURLs(c *peer.Coder, urls *[]string) {
	peer.List(c, urls, 1, func(url *string, c *peer.Coder) { c.String(url) })
}
