// Lists of links in pieces, because memory is bounded.

package links

import (
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
)

// piece returns the size of a prefix of pages and its sum of links. The sum is at most most, unless
// the prefix is a single page.
func piece(bounds []int, most int) (pages, links int) {
	for pages < len(bounds) && (pages == 0 || links+bounds[pages] <= most) {
		links += bounds[pages]
		pages++
	}
	return pages, links
}

// hold counts links before they are read. It fails if they can never fit, or do not fit now.
func (c *linksCall) hold(a *limits.Account, links int, bytes int64) error {
	if need := int64(links) * bytes; need > c.Memory.Max {
		advice := " (ask for a sample)"
		if c.rows != nil { // its sample takes as much
			advice = ""
		}
		return problem.Errorf(problem.KindTooLarge, "", "a page has %d links, which take %d MiB; requests together may hold %d MiB%s",
			links, need>>20, c.Memory.Max>>20, advice)
	}
	return a.Grow(int64(links) * bytes)
}

// streamLists answers with the lists from read. bounds are their lengths, or upper bounds of them.
func (c *linksCall) streamLists(pages []uid.UID, bounds []int, read func([]uid.UID) (links.Lists, error)) error {
	return c.stream(wire.Lists, len(pages), func(out linksAnswer) error {
		for len(pages) > 0 {
			n, count := piece(bounds, c.PieceLinks)
			if err := c.listPiece(out, pages[:n], count, read); err != nil {
				return err
			}
			pages, bounds = pages[n:], bounds[n:]
		}
		return nil
	})
}

// listPiece answers with the lists of some pages. They have about count links.
func (c *linksCall) listPiece(out linksAnswer, pages []uid.UID, count int, read func([]uid.UID) (links.Lists, error)) error {
	held := c.API.Account(c.r)
	defer held.Release()
	if err := c.hold(held, count, bytesALink); err != nil {
		return err
	}
	lists, err := read(pages)
	if err == nil {
		err = answered("lists", lists.Len(), len(pages))
	}
	if err == nil {
		err = c.checkEpoch()
	}
	if err == nil && len(lists.Items) > count { // because lists may grow after they are counted
		err = c.hold(held, len(lists.Items)-count, bytesALink)
	}
	if err != nil {
		return err
	}
	return c.writeLists(out, pages, lists)
}

// writeLists writes the lists of the first pages to an answer.
func (c *linksCall) writeLists(out linksAnswer, pages []uid.UID, lists links.Lists) error {
	c.served(lists.Len(), len(lists.Items))
	c.countReads(c.query.direction, pages[:lists.Len()], func(i int) int { return len(lists.At(i)) })
	if c.query.asURLs {
		return c.writeURLLists(out, lists, nil)
	}
	for i := range lists.Len() {
		if err := out.List(lists.At(i), nil); err != nil {
			return err
		}
	}
	return nil
}

// streamUpTo answers with lists, without a call for their lengths before.
func (c *linksCall) streamUpTo() error {
	// 1. Find the pages, and check the epoch if that costs nothing.
	pages, err := c.requestedPages()
	if err != nil {
		return err
	}
	if err := c.checkEarly(); err != nil {
		return err
	}
	read := func(some []uid.UID) (links.Lists, error) {
		return c.graph.Links(c.ctx, c.query.direction, some)
	}
	// 2. Answer with a prefix of the pages at a time. If the prefix is empty, its first list is
	// long, and must be counted and held alone.
	return c.stream(wire.Lists, len(pages), func(out linksAnswer) error {
		for len(pages) > 0 {
			n, err := c.pieceUpTo(out, pages)
			if err != nil {
				return err
			}
			if n == 0 { // a long list
				degrees, err := c.graph.Degrees(c.ctx, c.query.direction, pages[:1])
				if err == nil {
					err = answered("degrees", len(degrees), 1)
				}
				if err != nil {
					return err
				}
				if n = 1; len(degrees) == 1 {
					if err := c.listPiece(out, pages[:1], degrees[0], read); err != nil {
						return err
					}
				}
			}
			pages = pages[n:]
		}
		return nil
	})
}

// pieceUpTo answers with the lists of a prefix of pages, and returns its size; 0 if the first list
// alone exceeds a piece.
func (c *linksCall) pieceUpTo(out linksAnswer, pages []uid.UID) (n int, err error) {
	held := c.API.Account(c.r)
	defer held.Release()
	if err := held.Grow(int64(c.PieceLinks) * bytesAGatheredLink); err != nil {
		return 0, err
	}
	lists, err := c.has.Prefix.LinksPrefix(c.ctx, c.query.direction, pages, c.PieceLinks)
	if err == nil && lists.Len() > len(pages) {
		err = answered("lists", lists.Len(), len(pages))
	}
	if err == nil {
		err = c.checkEpoch()
	}
	if err != nil {
		return 0, err
	}
	return lists.Len(), c.writeLists(out, pages, lists)
}

const (
	// bytesALink is the memory of a link in a slice that grew.
	bytesALink = 16
	// bytesAGatheredLink is the memory for a link of a prefix: the machines of a cluster answer with
	// somewhat more than twice the links, which are then merged.
	bytesAGatheredLink = 32
)
