// As many lists as there is room for.

package ranges

import (
	"context"
	"slices"

	"github.com/trefoildb/trefoil/links"
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
	pages = pages[:min(len(pages), upToPages)]
	all := pages
	err = g.readAgain(ctx, func(r *reader) error {
		l, pages = links.Lists{}, all
		for n := min(len(pages), firstPages); n > 0; {
			a, some, err := r.upTo(ctx, d, pages[:n], most-len(l.Items))
			if err != nil {
				return err
			}
			if err := a.appendTo(&l, some); err != nil || some < n {
				return err
			}
			pages = pages[n:]
			average := len(l.Items)/l.Len() + 1
			n = min(len(pages), (most-len(l.Items))/average)
		}
		return nil
	})
	return l, err
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
