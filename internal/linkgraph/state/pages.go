// Pages: UIDs, URLs and their order.

package state

import (
	"context"
	"iter"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/uid"
)

// URLsPiece returns the URLs of a prefix of pages with about most bytes.
func (s *State) URLsPiece(ctx context.Context, pages []uid.UID, most int) (urls []string, err error) {
	size, n := 0, 1
	for len(pages) > 0 && size < most {
		some, err := s.URLs(ctx, pages[:min(n, len(pages))])
		if err != nil {
			return nil, err
		}
		pages = pages[len(some):]
		// Short URLs are read many at a time, because that is faster. Long ones might be too much.
		read := 0
		for _, url := range some {
			read += machine.LinkBytes + len(url)
		}
		if n = min(2*n, checkPages); read/len(some)*n > most-size {
			n = 1
		}
		urls, size = append(urls, some...), size+read
	}
	return urls, nil
}

// UIDs returns the UIDs of pages that are in the cells, 0 for others. They are looked up in
// batches, because memory accesses then overlap.
func (s *State) UIDs(ctx context.Context, urls []string) ([]uid.UID, error) {
	s, err := s.With(ctx, cell.URLStore, len(urls), func(i int) int { return machine.PartitionOfURL(urls[i]) })
	if err != nil {
		return nil, err
	}
	found := make([]uid.UID, len(urls))
	var hosts [delta.ReaderLen]uint64
	return found, s.eachBatch(ctx, len(urls), func(i, k int) uid.UID {
		hosts[k] = cell.HostHash(urls[i])
		return uid.Make(SlotOf(hosts[k]), 1, 0)
	}, func(r *delta.Reader, views []*delta.View, from int) bool {
		r.FindURLs(views, urls[from:from+len(views)], hosts[:len(views)])
		for i := range views {
			found[from+i], _ = r.UID(i)
		}
		return true
	})
}

// SlotOf returns the slot of a host from its cell.HostHash, as uid.SlotOf does from its key.
func SlotOf(hostHash uint64) uid.Slot { return uid.Slot(hostHash >> (64 - uid.SlotBits)) }

// URLs returns the URLs of pages that are in the cells, "" for others.
func (s *State) URLs(ctx context.Context, pages []uid.UID) ([]string, error) {
	s, err := s.With(ctx, cell.URLStore, len(pages), OfPages(pages))
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

// Pages returns the next n pages after one in a partition, fewer at its end.
func (s *State) Pages(ctx context.Context, partition int, after uid.UID, n int) (pages []uid.UID, err error) {
	// Without the lists it must be known which pages have links.
	for i := range s.PartsOf(partition) {
		if !s.Views[i].AllLinked() {
			if s, err = s.With(ctx, cell.ListStores, 1, func(int) int { return partition }); err != nil {
				return nil, err
			}
			break
		}
	}
	for i := range s.PartsOf(partition) {
		for u := range s.Views[i].UIDs(after) {
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

// PartsOf yields the indexes of the parts of a held partition.
func (s *State) PartsOf(partition int) iter.Seq[int] {
	return func(yield func(int) bool) {
		r := machine.PartitionRange(partition)
		for i := s.Find(r.First); i < len(s.Parts) && s.Parts[i].First <= r.Last; i++ {
			if !yield(i) {
				return
			}
		}
	}
}
