// Prefixes: the lists of the first pages, up to a total length.

package linklists

import (
	"context"
	"slices"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

const (
	// upToPages is the greatest number of pages that LinksPrefix reads. It begins with
	// firstPages, because the length of their lists is not known yet.
	upToPages  = 1 << 13
	firstPages = 1 << 8
)

// LinksPrefix returns the links of a prefix of pages whose total is at most most. The prefix is
// empty if the first page alone may exceed it.
func (g *Reader) LinksPrefix(ctx context.Context, d links.Direction, pages []uid.UID, most int) (l links.Lists, err error) {
	err = g.linksPrefix(ctx, d, pages, most, func() { l = links.Lists{} }, func(a *request, some int) error { return a.AppendTo(&l, some) })
	return l, err
}

// PackedPrefix is LinksPrefix in packed form: the lengths of the lists, and for each list the
// differences of its UIDs as uvarints, the first one's from 0.
func (g *Reader) PackedPrefix(ctx context.Context, d links.Direction, pages []uid.UID, most int) (lengths []int, l rank.Lists[byte], err error) {
	err = g.linksPrefix(ctx, d, pages, most, func() { lengths, l = nil, rank.Lists[byte]{} }, func(a *request, some int) error {
		lengths, l.Ends = slices.Grow(lengths, some), slices.Grow(l.Ends, some)
		for i := range some {
			lengths = append(lengths, a.length(i))
			if a.lists[i] != nil {
				l.Items = linkkeys.AppendPacked(l.Items, a.lists[i])
			} else {
				l.Items = append(l.Items, a.replies[i].packed...)
			}
			l.End()
		}
		return nil
	})
	return lengths, l, err
}

// linksPrefix calls take with the lists of the first pages, part by part. It calls begin before
// each attempt, because a retry must start with empty results.
func (g *Reader) linksPrefix(ctx context.Context, d links.Direction, pages []uid.UID, most int, begin func(), take func(a *request, some int) error) error {
	pages = pages[:min(len(pages), upToPages)]
	return g.ReadRetrying(ctx, func(r *rowreader.Reader) error {
		begin()
		rest, held := pages, 0
		for n := min(len(rest), firstPages); n > 0; {
			a, some, err := g.readPrefix(ctx, r, d, rest[:n], most-held)
			if err != nil {
				return err
			}
			for i := range some {
				held += a.length(i)
			}
			if err := take(a, some); err != nil || some < n {
				return err
			}
			rest = rest[n:]
			average := held/(len(pages)-len(rest)) + 1
			n = min(len(rest), (most-held)/average)
		}
		return nil
	})
}

// readPrefix reads the lists of a prefix of pages whose total is at most most links.
func (g *Reader) readPrefix(ctx context.Context, r *rowreader.Reader, d links.Direction, pages []uid.UID, most int) (a *request, some int, err error) {
	a = newRequest(d, wantLists, sample.Spec{}, pages)
	rest, err := g.fetchFromOwners(ctx, r, a)
	if err != nil {
		return nil, 0, err
	}
	if err := g.readShortRest(ctx, r, a, rest, most); err != nil {
		return nil, 0, err
	}
	a.fillRepeated()
	for held := 0; some < len(pages) && a.known[some]; some++ {
		if held += a.length(some); held > most {
			break
		}
	}
	return a, some, nil
}

// readShortRest reads the lists of the rest if they fit into most links together. The others
// stay unknown.
func (g *Reader) readShortRest(ctx context.Context, r *rowreader.Reader, a *request, rest []int, most int) error {
	if len(rest) == 0 {
		return nil
	}
	slices.Sort(rest) // because the prefix needs the first pages
	// Count before reading: only lists that fit are held.
	left := make([]string, len(rest))
	for i, item := range rest {
		left[i] = a.urls[item]
	}
	counts := make([]int, len(rest))
	err := g.Targets(ctx, r, a.d, left, func(i int, _ []byte) error {
		counts[i]++
		return nil
	})
	if err != nil {
		return err
	}
	var short []int
	for i, item := range rest {
		if counts[i] <= most {
			most -= counts[i]
			short = append(short, item)
		}
	}
	return g.readRows(ctx, r, a, short)
}
