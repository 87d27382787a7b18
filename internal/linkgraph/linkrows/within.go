// Links among the pages of a set, for rankings.

package linkrows

import (
	"context"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/weburl"
)

// eachWithin calls do with the forward links of a class between pages of a set, by their numbers in it. It returns the
// URLs of the pages, and their numbers by URL.
func (g *Graph) eachWithin(ctx context.Context, set *rank.Set, class sample.Class, do func(from, to uint32)) (urls []string, numbers map[string]uint32, err error) {
	if urls, err = g.names.URLs(ctx, set.UIDs()); err != nil {
		return nil, nil, err
	}
	numbers = make(map[string]uint32, len(urls))
	for i, url := range urls {
		numbers[url] = uint32(i)
	}
	return urls, numbers, g.eachLink(ctx, links.Forward, urls, func(i int, other string) error {
		if to, ok := numbers[other]; ok && sample.Class(weburl.Class(urls[i], other)) >= class {
			do(uint32(i), to)
		}
		return nil
	})
}

// LinksWithin returns the forward links of a class between pages of a set, as package rank's Source.
func (g *Graph) LinksWithin(ctx context.Context, set *rank.Set, class sample.Class) (l rank.Lists[uint32], err error) {
	found := make([][]uint32, set.Len())
	if _, _, err = g.eachWithin(ctx, set, class, func(from, to uint32) { found[from] = append(found[from], to) }); err != nil {
		return l, err
	}
	for _, list := range found {
		l.Items = append(l.Items, list...)
		l.End()
	}
	return l, nil
}

// WeightsWithin returns the same links with their weights, 1 if a link has none. It reads labels of pages with such
// links only.
func (g *Graph) WeightsWithin(ctx context.Context, set *rank.Set, class sample.Class) (l rank.Lists[rank.WeightedLink], err error) {
	// 1. The links, because most pages of a set may have none there.
	found := make([]map[uint32]bool, set.Len())
	urls, numbers, err := g.eachWithin(ctx, set, class, func(from, to uint32) {
		if found[from] == nil {
			found[from] = map[uint32]bool{}
		}
		found[from][to] = true
	})
	if err != nil {
		return l, err
	}
	// 2. A label is an annotation of its row, which look-ups do not read.
	for i, list := range found {
		if len(list) > 0 {
			labels, err := g.labels(ctx, links.Forward, urls[i], func(other string) bool {
				to, ok := numbers[other]
				return ok && list[to]
			})
			if err != nil {
				return l, err
			}
			for _, other := range slices.Sorted(maps.Keys(labels)) { // in one order, because sums of floats depend on it
				l.Items = append(l.Items, rank.WeightedLink{To: numbers[other], Weight: labels[other].Weight})
			}
		}
		l.End()
	}
	return l, nil
}
