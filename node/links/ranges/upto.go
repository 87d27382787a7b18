// As many lists as there is room for.

package ranges

import (
	"context"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

const (
	// upToPages is how many pages LinksUpTo reads at most, and firstPages at first, when
	// it is not known yet how long their lists are.
	upToPages  = 1 << 13
	firstPages = 1 << 8
)

// LinksUpTo returns the links of the first of some pages: of as many, or fewer, as have no
// more than most links together; of none where the first one alone may have more.
func (g *Graph) LinksUpTo(ctx context.Context, d links.Direction, pages []uid.UID, most int) (l links.Lists, err error) {
	err = g.linksUpTo(ctx, d, pages, most, func() { l = links.Lists{} }, func(a *asking, some int) error { return a.appendTo(&l, some) })
	return l, err
}

// PackedUpTo is LinksUpTo with how long the lists are, and of each the differences of its
// UIDs as uvarints, the first one's from 0.
func (g *Graph) PackedUpTo(ctx context.Context, d links.Direction, pages []uid.UID, most int) (lengths []int, l rank.Lists[byte], err error) {
	err = g.linksUpTo(ctx, d, pages, most, func() { lengths, l = nil, rank.Lists[byte]{} }, func(a *asking, some int) error {
		lengths, l.Ends = slices.Grow(lengths, some), slices.Grow(l.Ends, some)
		for i := range some {
			lengths = append(lengths, a.length(i))
			if a.lists[i] != nil {
				l.Items = appendPacked(l.Items, a.lists[i])
			} else {
				l.Items = append(l.Items, a.replies[i].packed...)
			}
			l.End()
		}
		return nil
	})
	return lengths, l, err
}

// linksUpTo calls take with the lists of the first pages, part by part; begin is called
// before, and where it begins anew.
func (g *Graph) linksUpTo(ctx context.Context, d links.Direction, pages []uid.UID, most int, begin func(), take func(a *asking, some int) error) error {
	pages = pages[:min(len(pages), upToPages)]
	return g.readAgain(ctx, func(r *reader) error {
		begin()
		rest, held := pages, 0
		for n := min(len(rest), firstPages); n > 0; {
			a, some, err := r.upTo(ctx, d, rest[:n], most-held)
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

// upTo reads the lists of the first of some pages, of as many as have no more than most
// links together.
func (r *reader) upTo(ctx context.Context, d links.Direction, pages []uid.UID, most int) (a *asking, some int, err error) {
	a = askAbout(d, wantLists, sample.Spec{}, pages)
	rest, err := r.fromOwners(ctx, a)
	if err != nil {
		return nil, 0, err
	}
	if err := r.restUpTo(ctx, a, rest, most); err != nil {
		return nil, 0, err
	}
	a.repeated()
	for held := 0; some < len(pages) && a.known[some]; some++ {
		if held += a.length(some); held > most {
			break
		}
	}
	return a, some, nil
}

// restUpTo reads the lists of the rest of some pages, where they have no more than most
// links together; the others stay unknown.
func (r *reader) restUpTo(ctx context.Context, a *asking, rest []int, most int) error {
	if len(rest) == 0 {
		return nil
	}
	slices.Sort(rest) // the first pages come first
	left := make([]string, len(rest))
	for i, item := range rest {
		left[i] = a.urls[item]
	}
	counts := make([]int, len(rest))
	err := r.targets(ctx, a.d, left, func(i int, _ []byte) error {
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
	return r.rowsOf(ctx, a, short)
}

// appendTo appends the lists of the first n pages.
func (a *asking) appendTo(l *links.Lists, n int) (err error) {
	size := 0
	for i := range n {
		size += a.length(i)
	}
	l.Items, l.Ends = slices.Grow(l.Items, size), slices.Grow(l.Ends, n)
	for i := range n {
		if l.Items, err = a.append(l.Items, i); err != nil {
			return err
		}
		l.End()
	}
	return nil
}
