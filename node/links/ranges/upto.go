// As many lists as there is room for.

package ranges

import (
	"context"
	"slices"

	"github.com/trefoildb/trefoil/links"
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
			whole, err := r.upTo(ctx, d, pages[:n], most, &l)
			if err != nil || !whole {
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

// upTo appends the lists of pages; whole is false where most links are not enough for all.
func (r *reader) upTo(ctx context.Context, d links.Direction, pages []uid.UID, most int, l *links.Lists) (whole bool, err error) {
	urls, of, err := r.distinct(ctx, pages)
	if err != nil {
		return false, err
	}
	found := make([][]uid.UID, len(urls))
	rest, err := r.fromOwners(ctx, d, urls, found)
	if err != nil {
		return false, err
	}
	long, err := r.restUpTo(ctx, d, urls, rest, most, found)
	if err != nil {
		return false, err
	}
	for _, at := range of {
		if at >= 0 {
			if long[at] || len(l.Items)+len(found[at]) > most {
				return false, nil
			}
			l.Items = append(l.Items, found[at]...)
		}
		l.End()
	}
	return true, nil
}

// restUpTo reads the lists of the rest of some pages, where they have no more than most
// links together; the others are long.
func (r *reader) restUpTo(ctx context.Context, d links.Direction, urls []string, rest []int, most int, found [][]uid.UID) (long map[int]bool, err error) {
	if len(rest) == 0 {
		return nil, nil
	}
	slices.Sort(rest) // the first pages come first
	left := make([]string, len(rest))
	for i, item := range rest {
		left[i] = urls[item]
	}
	counts := make([]int, len(rest))
	err = r.targets(ctx, d, left, func(i int, _ []byte) error {
		counts[i]++
		return nil
	})
	if err != nil {
		return nil, err
	}
	long = map[int]bool{}
	var short []string
	var items []int
	for i, item := range rest {
		if long[item] = counts[i] > most; long[item] {
			continue
		}
		most -= counts[i]
		short, items = append(short, urls[item]), append(items, item)
	}
	read, err := r.listsByRows(ctx, d, short, nil)
	for i, item := range items {
		found[item] = read[i]
	}
	return long, err
}
