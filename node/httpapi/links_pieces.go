// Lists of links as they are read: in pieces, so that memory is bounded.

package httpapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
)

// piece returns how many of the first pages have no more than most links together, at
// least one, and how many links these are.
func piece(bounds []int, most int) (pages, links int) {
	for pages < len(bounds) && (pages == 0 || links+bounds[pages] <= most) {
		links += bounds[pages]
		pages++
	}
	return pages, links
}

// hold counts the links that are about to be held.
func (c *linksCall) hold(a *account, links int, bytes int64) error {
	if need := int64(links) * bytes; need > c.options.MemoryBytes {
		return errorf(KindTooLarge, "", "a page has %d links, which take %d MiB; requests together may hold %d MiB (ask for a sample)",
			links, need>>20, c.options.MemoryBytes>>20)
	}
	return a.grow(int64(links) * bytes)
}

// streamLists answers with lists that read returns. bounds are how long they are.
func (c *linksCall) streamLists(pages []uid.UID, bounds []int, read func([]uid.UID) (links.Lists, error)) error {
	return c.stream(wire.Lists, len(pages), func(out linksAnswer) error {
		for len(pages) > 0 {
			n, count := piece(bounds, c.pieceLinks)
			if err := c.listPiece(out, pages[:n], count, read); err != nil {
				return err
			}
			pages, bounds = pages[n:], bounds[n:]
		}
		return nil
	})
}

// listPiece answers with the lists of some pages, which have about count links.
func (c *linksCall) listPiece(out linksAnswer, pages []uid.UID, count int, read func([]uid.UID) (links.Lists, error)) error {
	held := account{budget: &c.memory, client: clientOf(c.r.Request)}
	defer held.release()
	if err := c.hold(&held, count, bytesALink); err != nil {
		return err
	}
	lists, err := read(pages)
	if err == nil {
		err = answered("lists", lists.Len(), len(pages))
	}
	if err == nil {
		err = c.checkEpoch()
	}
	if err == nil && len(lists.Items) > count { // they have grown since they were counted
		err = c.hold(&held, len(lists.Items)-count, bytesALink)
	}
	if err != nil {
		return err
	}
	return c.writeLists(out, lists)
}

// writeLists writes lists to an answer.
func (c *linksCall) writeLists(out linksAnswer, lists links.Lists) error {
	c.served(lists.Len(), len(lists.Items))
	if c.asked.asURLs {
		return c.writeURLLists(out, lists, nil)
	}
	for i := range lists.Len() {
		out.List(lists.At(i))
	}
	return out.Err()
}

// boundedGraph is a graph that reads as many lists as there is room for.
type boundedGraph interface {
	// LinksUpTo returns the links of the first of some pages: of as many, or fewer, as
	// have no more than most links together; of none where the first one alone may have
	// more.
	LinksUpTo(ctx context.Context, d links.Direction, pages []uid.UID, most int) (links.Lists, error)
}

// packedGraph is a boundedGraph that has lists as answers in the binary form do.
type packedGraph interface {
	// PackedUpTo is LinksUpTo with how long the lists are, and of each the differences of
	// its UIDs as uvarints, the first one's from 0. The error is errors.ErrUnsupported where
	// it has not, for now.
	PackedUpTo(ctx context.Context, d links.Direction, pages []uid.UID, most int) (lengths []int, lists rank.Lists[byte], err error)
}

// streamUpTo answers with lists, without asking how long they are before.
func (c *linksCall) streamUpTo(graph boundedGraph) error {
	pages, err := c.askedPages()
	if err != nil {
		return err
	}
	if err := c.checkEarly(); err != nil {
		return err
	}
	read := func(asked []uid.UID) (links.Lists, error) {
		return c.graph.Links(c.ctx, c.asked.direction, asked)
	}
	return c.stream(wire.Lists, len(pages), func(out linksAnswer) error {
		for len(pages) > 0 {
			n, err := c.pieceUpTo(out, graph, pages)
			if err != nil {
				return err
			}
			if n == 0 { // a long list
				degrees, err := c.graph.Degrees(c.ctx, c.asked.direction, pages[:1])
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

// pieceUpTo answers with the lists of the first of some pages, and returns of how many.
func (c *linksCall) pieceUpTo(out linksAnswer, graph boundedGraph, pages []uid.UID) (n int, err error) {
	held := account{budget: &c.memory, client: clientOf(c.r.Request)}
	defer held.release()
	if err := held.grow(int64(c.pieceLinks) * bytesALink); err != nil {
		return 0, err
	}
	if packed, ok := graph.(packedGraph); ok && c.binary && !c.asked.asURLs {
		n, err := c.packedUpTo(out, packed, pages)
		if !errors.Is(err, errors.ErrUnsupported) {
			return n, err
		}
	}
	lists, err := graph.LinksUpTo(c.ctx, c.asked.direction, pages, c.pieceLinks)
	if err == nil && lists.Len() > len(pages) {
		err = answered("lists", lists.Len(), len(pages))
	}
	if err == nil {
		err = c.checkEpoch()
	}
	if err != nil {
		return 0, err
	}
	return lists.Len(), c.writeLists(out, lists)
}

// packedUpTo is pieceUpTo where lists need not be taken apart.
func (c *linksCall) packedUpTo(out linksAnswer, graph packedGraph, pages []uid.UID) (n int, err error) {
	w, ok := out.(*wire.Writer)
	if !ok {
		return 0, fmt.Errorf("%T is no answer of the binary form", out)
	}
	lengths, lists, err := graph.PackedUpTo(c.ctx, c.asked.direction, pages, c.pieceLinks)
	if err == nil && (lists.Len() > len(pages) || lists.Len() != len(lengths)) {
		err = answered("lists", lists.Len(), len(pages))
	}
	if err == nil {
		err = c.checkEpoch()
	}
	if err != nil {
		return 0, err
	}
	count := 0
	for i, n := range lengths {
		w.PackedList(n, lists.At(i))
		count += n
	}
	c.served(len(lengths), count)
	return len(lengths), w.Err()
}

// bytesALink is what a link takes in a slice that grew.
const bytesALink = 16
