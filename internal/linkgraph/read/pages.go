// Reads of pages: UIDs, URLs and their order.

package read

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// UIDs implements links.Graph.
func (rd *Reader) UIDs(ctx context.Context, urls []string) ([]uid.UID, error) {
	of := func(i int) int { return machine.PartitionOfURL(urls[i]) }
	s, err := rd.Router.Local(ctx, cell.URLStore, len(urls), of)
	var found []uid.UID
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		found, err = s.UIDs(ctx, urls)
	default:
		var lists links.Lists
		lists, err = route.Gather(ctx, rd.Router, route.Request[uid.UID]{
			N: len(urls), Of: of, Size: route.URLSize(urls),
			Local: func(s *state.State, items []int) (links.Lists, error) {
				uids, err := s.UIDs(ctx, route.Pick(urls, items))
				return route.Singles(uids), err
			},
			Query: func(items []int) *route.Query {
				return &route.Query{Kind: route.QueryUIDs, URLs: route.Pick(urls, items)}
			},
			Parse: route.ParseUIDs,
		})
		if found = lists.Items; err == nil && len(found) != len(urls) {
			err = fmt.Errorf("%w: %d UIDs for %d pages", peer.ErrMessage, len(found), len(urls))
		}
	}
	if err != nil {
		return nil, err
	}
	// If a page has no links any more, it is in no cell, but the store has its UID.
	var missing []string
	var places []int
	for i, u := range found {
		if u == 0 {
			missing, places = append(missing, urls[i]), append(places, i)
		}
	}
	rest, err := pagerows.FindUIDs(ctx, rd.Node, missing)
	for k, u := range rest {
		found[places[k]] = u
	}
	return found, err
}

// URLs implements links.Graph.
func (rd *Reader) URLs(ctx context.Context, pages []uid.UID) ([]string, error) {
	s, err := rd.Router.Local(ctx, cell.URLStore, len(pages), state.OfPages(pages))
	var found []string
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		found, err = s.URLs(ctx, pages)
	default:
		var lists rank.Lists[string]
		lists, err = route.Gather(ctx, rd.Router, route.Request[string]{
			N: len(pages), Of: state.OfPages(pages), Size: route.PageSize,
			Local: func(s *state.State, items []int) (rank.Lists[string], error) {
				urls, err := s.URLs(ctx, route.Pick(pages, items))
				return route.Singles(urls), err
			},
			Query: func(items []int) *route.Query {
				return &route.Query{Kind: route.QueryURLs, Pages: route.Pick(pages, items)}
			},
			Parse: func(a *route.Answer) ([]string, error) { return a.Texts, nil },
		})
		if found = lists.Items; err == nil && len(found) != len(pages) {
			err = fmt.Errorf("%w: %d URLs for %d pages", peer.ErrMessage, len(found), len(pages))
		}
	}
	if err != nil {
		return nil, err
	}
	// If a page is in no cell, the store may still have its UID.
	var missing []uid.UID
	var places []int
	for i, url := range found {
		if url == "" && pages[i].Valid() {
			missing, places = append(missing, pages[i]), append(places, i)
		}
	}
	rest, err := pagerows.FindURLs(ctx, rd.Node, missing)
	for k, url := range rest {
		found[places[k]] = url
	}
	return found, err
}

// Pages implements links.Graph.
func (rd *Reader) Pages(ctx context.Context, after uid.UID, n int) (pages []uid.UID, err error) {
	// One partition after the other, because UIDs ascend with them.
	for p := machine.PartitionOf(after); p < machine.NumPartitions && len(pages) < n; p++ {
		of := func(int) int { return p }
		s, err := rd.Router.Local(ctx, 0, 1, of)
		var some []uid.UID
		switch {
		case err != nil:
			return nil, err
		case s != nil:
			some, err = s.Pages(ctx, p, after, n-len(pages))
		default:
			var lists links.Lists
			// Another machine holds the partition.
			lists, err = route.Gather(ctx, rd.Router, route.Request[uid.UID]{
				N: 1, Of: of, Size: route.PageSize,
				Local: func(s *state.State, _ []int) (l links.Lists, err error) {
					l.Items, err = s.Pages(ctx, p, after, n-len(pages))
					l.End()
					return l, err
				},
				Query: func([]int) *route.Query {
					return &route.Query{Kind: route.QueryPages, Number: uint64(p), Pages: []uid.UID{after}, Most: uint64(n - len(pages))}
				},
				Parse: route.ParseUIDs,
			})
			some = lists.Items
		}
		if err != nil {
			return nil, err
		}
		pages = append(pages, some...)
	}
	return pages, nil
}
