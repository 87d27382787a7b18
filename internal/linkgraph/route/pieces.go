// Pieces: requests and answers between machines have a bounded size.

package route

import (
	"context"
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/trie"
)

// fit returns the number of items whose sizes add up to at most most bytes, at least one.
func fit(items []int, size func(i int) int, most int) (n int) {
	total := 0
	for n < len(items) {
		if total += size(items[n]); total > most && n > 0 {
			break
		}
		n++
	}
	return n
}

// queryPieces returns the lists of the first n items from another machine, in pieces. n is less than
// their number only if a prefix will do, or with an error: another machine may have the rest then.
func queryPieces[T any](ctx context.Context, g *Router, at feed.Position, m trie.MachineID, items []int, r *Request[T]) (lists rank.Lists[T], n int, err error) {
	after := uint64(0) // the last UID of a list of which lists has a part
	whole := 0         // items of lists in whole lists
	share := r.Share(items)
	for n < len(items) {
		// 1. Request as many items as fit.
		some := items[n:]
		some = some[:fit(some, r.Size, g.Options.MessageBytes)]
		q := r.Query(some)
		q.At, q.After = at, after
		if r.Bounded {
			q.Most = uint64(share)
		}
		a, err := g.Send(ctx, m, q)
		var list []T
		if err == nil {
			err = a.check(len(some), r.Cut, after)
		}
		if err == nil {
			list, err = r.Parse(a)
		}
		if err == nil && a.Ends[len(a.Ends)-1] != len(list) {
			err = fmt.Errorf("%w: lists of %d items, which are %d", peer.ErrMessage, a.Ends[len(a.Ends)-1], len(list))
		}
		if err != nil {
			lists.Items = lists.Items[:whole]
			return lists, n, err
		}
		// 2. Add the lists. The last one may be a part.
		start := len(lists.Items)
		lists.Items = append(lists.Items, list...)
		if after = a.More; after != 0 {
			a.Ends = a.Ends[:len(a.Ends)-1]
		}
		for _, end := range a.Ends {
			whole = start + end
			lists.Ends = append(lists.Ends, whole)
			n++
		}
		// 3. If a prefix will do, the first answer with a whole list is enough. A long first list may
		// take several answers, up to the share.
		if r.Bounded && (n > 0 || len(lists.Items) >= share) {
			break
		}
	}
	lists.Items = lists.Items[:whole]
	return lists, n, nil
}

// check returns an error unless the answer has the lists of some of n items. If cut is set, the last
// one may be a part, which ends behind after.
func (a *Answer) check(n int, cut bool, after uint64) error {
	last := 0
	for _, end := range a.Ends {
		if end < last {
			return fmt.Errorf("%w: the lists are not one after the other", peer.ErrMessage)
		}
		last = end
	}
	switch {
	case len(a.Ends) == 0, len(a.Ends) > n, last != len(a.Items)+len(a.Texts):
		return fmt.Errorf("%w: %d lists with %d items for %d pages", peer.ErrMessage, len(a.Ends), len(a.Items)+len(a.Texts), n)
	case a.More != 0 && (!cut || a.More <= after):
		return fmt.Errorf("%w: a list ends at %d", peer.ErrMessage, a.More)
	}
	return nil
}

// PageSize is the size of a page in a request.
func PageSize(int) int { return machine.LinkBytes }

// NoSize is for requests that are not divided: an answer depends on all of its items.
func NoSize(int) int { return 0 }

// URLSize returns the sizes of URLs in a request.
func URLSize(urls []string) func(i int) int {
	return func(i int) int { return machine.LinkBytes + len(urls[i]) }
}

// ChunkURLs yields parts of a list of URLs with at most most bytes and n URLs.
func ChunkURLs(urls []string, n, most int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		from, bytes := 0, 0
		for i, url := range urls {
			if i > from && (i-from >= n || bytes+len(url) > most) {
				if !yield(urls[from:i:i]) {
					return
				}
				from, bytes = i, 0
			}
			bytes += len(url)
		}
		if from < len(urls) {
			yield(urls[from:])
		}
	}
}
