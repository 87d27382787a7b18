// Reads of pages: UIDs, URLs and their order.

package linkgraph

import (
	"context"
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// UIDs implements links.Graph.
func (rd *reader) UIDs(ctx context.Context, urls []string) ([]uid.UID, error) {
	// 1. Look in the cells.
	of := func(i int) int { return partitionOfURL(urls[i]) }
	s, err := rd.router.local(ctx, cell.URLStore, len(urls), of)
	var found []uid.UID
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		found, err = s.uids(ctx, urls)
	default:
		var lists links.Lists
		lists, err = gather(ctx, rd.router, request[uid.UID]{
			n: len(urls), of: of, size: urlSize(urls),
			local: func(s *state, items []int) (links.Lists, error) {
				uids, err := s.uids(ctx, pick(urls, items))
				return singles(uids), err
			},
			query: func(items []int) *query { return &query{kind: askUIDs, urls: pick(urls, items)} },
			parse: parseUIDs,
		})
		if found = lists.Items; err == nil && len(found) != len(urls) {
			err = fmt.Errorf("%w: %d UIDs for %d pages", peer.ErrMessage, len(found), len(urls))
		}
	}
	if err != nil {
		return nil, err
	}
	// 2. If a page has no links any more, it is in no cell, but the store has its UID.
	var missing []string
	var places []int
	for i, u := range found {
		if u == 0 {
			missing, places = append(missing, urls[i]), append(places, i)
		}
	}
	f, err := rd.forms.form(ctx)
	if err != nil {
		return nil, err
	}
	rest, err := f.findUIDs(ctx, rd.node, missing)
	for k, u := range rest {
		found[places[k]] = u
	}
	return found, err
}

// singles returns lists of one item each.
func singles[T any](items []T) (l rank.Lists[T]) {
	l.Items, l.Ends = items, make([]int, len(items))
	for i := range l.Ends {
		l.Ends[i] = i + 1
	}
	return l
}

// parseUIDs returns the items of an answer as UIDs.
func parseUIDs(a *answer) ([]uid.UID, error) { return numbersOf[uid.UID](a.items), nil }

// numbersOf converts numbers.
func numbersOf[T ~uint64 | ~uint32 | ~int](items []uint64) []T {
	list := make([]T, len(items))
	for i, n := range items {
		list[i] = T(n)
	}
	return list
}

// uids returns the UIDs of pages that are in the cells, 0 for others. They are looked up in
// batches, because memory accesses then overlap.
func (s *state) uids(ctx context.Context, urls []string) ([]uid.UID, error) {
	s, err := s.with(ctx, cell.URLStore, len(urls), func(i int) int { return partitionOfURL(urls[i]) })
	if err != nil {
		return nil, err
	}
	found := make([]uid.UID, len(urls))
	var hosts [delta.ReaderLen]uint64
	return found, s.eachBatch(ctx, len(urls), func(i, k int) uid.UID {
		hosts[k] = cell.HostHash(urls[i])
		return uid.Make(slotOf(hosts[k]), 1, 0)
	}, func(r *delta.Reader, views []*delta.View, from int) bool {
		r.FindURLs(views, urls[from:from+len(views)], hosts[:len(views)])
		for i := range views {
			found[from+i], _ = r.UID(i)
		}
		return true
	})
}

// slotOf returns the slot of a host from its cell.HostHash, as uid.SlotOf does from its key.
func slotOf(hostHash uint64) uid.Slot { return uid.Slot(hostHash >> (64 - uid.SlotBits)) }

// URLs implements links.Graph.
func (rd *reader) URLs(ctx context.Context, pages []uid.UID) ([]string, error) {
	// 1. Look in the cells.
	s, err := rd.router.local(ctx, cell.URLStore, len(pages), ofPages(pages))
	var found []string
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		found, err = s.urls(ctx, pages)
	default:
		var lists rank.Lists[string]
		lists, err = gather(ctx, rd.router, request[string]{
			n: len(pages), of: ofPages(pages), size: pageSize,
			local: func(s *state, items []int) (rank.Lists[string], error) {
				urls, err := s.urls(ctx, pick(pages, items))
				return singles(urls), err
			},
			query: func(items []int) *query { return &query{kind: askURLs, pages: pick(pages, items)} },
			parse: func(a *answer) ([]string, error) { return a.texts, nil },
		})
		if found = lists.Items; err == nil && len(found) != len(pages) {
			err = fmt.Errorf("%w: %d URLs for %d pages", peer.ErrMessage, len(found), len(pages))
		}
	}
	if err != nil {
		return nil, err
	}
	// 2. If a page is in no cell, the store may still have its UID.
	var missing []uid.UID
	var places []int
	for i, url := range found {
		if url == "" && pages[i].Valid() {
			missing, places = append(missing, pages[i]), append(places, i)
		}
	}
	f, err := rd.forms.form(ctx)
	if err != nil {
		return nil, err
	}
	rest, err := f.findURLs(ctx, rd.node, missing)
	for k, url := range rest {
		found[places[k]] = url
	}
	return found, err
}

// urls returns the URLs of pages that are in the cells, "" for others.
func (s *state) urls(ctx context.Context, pages []uid.UID) ([]string, error) {
	s, err := s.with(ctx, cell.URLStore, len(pages), ofPages(pages))
	if err != nil {
		return nil, err
	}
	found := make([]string, len(pages))
	var url []byte
	return found, s.eachBatch(ctx, len(pages), func(i, _ int) uid.UID { return pages[i] },
		func(r *delta.Reader, views []*delta.View, from int) bool {
			r.ReadURLs(views, pages[from:from+len(views)])
			for i := range views {
				var ok bool
				if url, ok = r.AppendURL(url[:0], i); ok {
					found[from+i] = string(url)
				}
			}
			return true
		})
}

// Pages implements links.Graph.
func (rd *reader) Pages(ctx context.Context, after uid.UID, n int) (pages []uid.UID, err error) {
	// One partition after the other, because UIDs ascend with them.
	for p := partitionOf(after); p < numPartitions && len(pages) < n; p++ {
		of := func(int) int { return p }
		s, err := rd.router.local(ctx, 0, 1, of)
		var some []uid.UID
		switch {
		case err != nil:
			return nil, err
		case s != nil:
			some, err = s.pages(ctx, p, after, n-len(pages))
		default:
			var lists links.Lists
			// Another machine holds the partition.
			lists, err = gather(ctx, rd.router, request[uid.UID]{
				n: 1, of: of, size: pageSize,
				local: func(s *state, _ []int) (l links.Lists, err error) {
					l.Items, err = s.pages(ctx, p, after, n-len(pages))
					l.End()
					return l, err
				},
				query: func([]int) *query {
					return &query{kind: askPages, number: uint64(p), pages: []uid.UID{after}, most: uint64(n - len(pages))}
				},
				parse: parseUIDs,
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

// pages returns the next n pages after one in a partition, fewer at its end.
func (s *state) pages(ctx context.Context, partition int, after uid.UID, n int) (pages []uid.UID, err error) {
	// Without the lists it must be known which pages have links.
	for i := range s.partsOf(partition) {
		if !s.views[i].AllLinked() {
			if s, err = s.with(ctx, cell.ListStores, 1, func(int) int { return partition }); err != nil {
				return nil, err
			}
			break
		}
	}
	for i := range s.partsOf(partition) {
		for u := range s.views[i].UIDs(after) {
			if len(pages) >= n {
				return pages, nil
			}
			pages = append(pages, u)
			if len(pages)%checkPages == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
	}
	return pages, nil
}

// partsOf yields the indexes of the parts of a held partition.
func (s *state) partsOf(partition int) iter.Seq[int] {
	return func(yield func(int) bool) {
		r := partitionRange(partition)
		for i := s.find(r.First); i < len(s.parts) && s.parts[i].First <= r.Last; i++ {
			if !yield(i) {
				return
			}
		}
	}
}
