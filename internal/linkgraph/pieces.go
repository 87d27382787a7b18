// Pieces: requests and answers between machines have a bounded size.

package linkgraph

import (
	"context"
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
)

// A message has about Options.MessageBytes, whatever the lists are:
//
//   - A request has a prefix of the items, as far as they fit. The next request has the next ones.
//   - An answer has the lists of a prefix of these items, one at least.
//   - If a prefix of the items will do, the query bounds the links of the answer.
//   - A list that alone is longer comes in parts, by UID: the answer has the last UID of a part as
//     number, and the next request has it as after. So a link that exists all the time is in
//     exactly one part, whatever is added and deleted meanwhile.

// linkBytes is the memory of a link in a message.
const linkBytes = 8

// messageLinks is the number of links that a message may have.
func (o *Options) messageLinks() int { return max(o.MessageBytes/linkBytes, 1) }

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

// askPieces returns the lists of the first n items from another machine, in pieces. n is less than
// their number only if a prefix will do, or with an error: another machine may have the rest then.
func askPieces[T any](ctx context.Context, g *router, at feed.Position, m trie.MachineID, items []int, r *request[T]) (lists rank.Lists[T], n int, err error) {
	after := uint64(0) // the last UID of a list of which lists has a part
	whole := 0         // items of lists in whole lists
	share := r.share(items)
	for n < len(items) {
		// 1. Request as many items as fit.
		some := items[n:]
		some = some[:fit(some, r.size, g.o.MessageBytes)]
		q := r.query(some)
		q.at, q.after = at, after
		if r.bounded {
			q.most = uint64(share)
		}
		a, err := g.send(ctx, m, q)
		var list []T
		if err == nil {
			err = a.check(len(some), r.cut, after)
		}
		if err == nil {
			list, err = r.parse(a)
		}
		if err == nil && a.ends[len(a.ends)-1] != len(list) {
			err = fmt.Errorf("%w: lists of %d items, which are %d", peer.ErrMessage, a.ends[len(a.ends)-1], len(list))
		}
		if err != nil {
			lists.Items = lists.Items[:whole]
			return lists, n, err
		}
		// 2. Add the lists. The last one may be a part.
		start := len(lists.Items)
		lists.Items = append(lists.Items, list...)
		if after = a.more; after != 0 {
			a.ends = a.ends[:len(a.ends)-1]
		}
		for _, end := range a.ends {
			whole = start + end
			lists.Ends = append(lists.Ends, whole)
			n++
		}
		// 3. If a prefix will do, the first answer with a whole list is enough. A long first list may
		// take several answers, up to the share.
		if r.bounded && (n > 0 || len(lists.Items) >= share) {
			break
		}
	}
	lists.Items = lists.Items[:whole]
	return lists, n, nil
}

// check returns an error unless the answer has the lists of some of n items. If cut is set, the last
// one may be a part, which ends behind after.
func (a *answer) check(n int, cut bool, after uint64) error {
	last := 0
	for _, end := range a.ends {
		if end < last {
			return fmt.Errorf("%w: the lists are not one after the other", peer.ErrMessage)
		}
		last = end
	}
	switch {
	case len(a.ends) == 0, len(a.ends) > n, last != len(a.items)+len(a.texts):
		return fmt.Errorf("%w: %d lists with %d items for %d pages", peer.ErrMessage, len(a.ends), len(a.items)+len(a.texts), n)
	case a.more != 0 && (!cut || a.more <= after):
		return fmt.Errorf("%w: a list ends at %d", peer.ErrMessage, a.more)
	}
	return nil
}

// pageSize is the size of a page in a request.
func pageSize(int) int { return linkBytes }

// noSize is for requests that are not divided: an answer depends on all of its items.
func noSize(int) int { return 0 }

// urlSize returns the sizes of URLs in a request.
func urlSize(urls []string) func(i int) int {
	return func(i int) int { return linkBytes + len(urls[i]) }
}

// chunkURLs yields parts of a list of URLs with at most most bytes and n URLs.
func chunkURLs(urls []string, n, most int) iter.Seq[[]string] {
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

// linksPiece returns the links of a prefix of pages with at most most links. If the first page alone
// exceeds that, or after is set, the result is a part of its list: the links behind after. more is
// the last UID of the part if others follow.
func (s *state) linksPiece(ctx context.Context, d links.Direction, pages []uid.UID, after uid.UID, most int) (l links.Lists, more uid.UID, err error) {
	if s, err = s.with(ctx, cell.StoreOf(d), len(pages), ofPages(pages)); err != nil {
		return l, 0, err
	}
	if after == 0 {
		if l, err = s.links(ctx, d, pages, most); err != nil || l.Len() > 0 {
			return l, 0, err
		}
	}
	for u := range s.view(pages[0]).Links(d, pages[0]) {
		if u <= after {
			continue
		}
		if len(l.Items) == most {
			more = l.Items[most-1]
			break
		}
		l.Items = append(l.Items, u)
	}
	l.End()
	return l, more, ctx.Err()
}

// labelsPiece returns the labels of the links of a prefix of pages, as texts of about most bytes. A
// list that is longer is cut as by linksPiece.
func (s *state) labelsPiece(ctx context.Context, pages []uid.UID, after uid.UID, most int) (l rank.Lists[string], more uid.UID, err error) {
	if s, err = s.with(ctx, cell.ForwardStore, len(pages), ofPages(pages)); err != nil {
		return l, 0, err
	}
	var labels []cell.Label
	size := 0
	for i, u := range pages {
		if i > 0 && (after != 0 || size >= most) {
			break
		}
		if i%checkPages == 0 && ctx.Err() != nil {
			return l, 0, context.Cause(ctx)
		}
		// 1. Read the labels, and with them the targets, which say where to cut.
		v := s.view(u)
		labels = v.AppendLabels(labels[:0], u)
		start, last, k := len(l.Items), uid.UID(0), 0
		for to := range v.Links(cell.Forward, u) {
			if k++; to <= after {
				continue
			}
			if size >= most {
				more = last
				break
			}
			l.Items = appendLabels(l.Items, labels[k-1:k])
			size += linkBytes + len(l.Items[len(l.Items)-1])
			last = to
		}
		// 2. Only the first list may be cut. Another one is for the next answer.
		if more != 0 && i > 0 {
			l.Items, more = l.Items[:start], 0
			break
		}
		l.End()
	}
	return l, more, ctx.Err()
}

// samplesPiece returns samples of the links of a prefix of pages with at most most links, or of one
// page.
func (sm *sampler) samplesPiece(ctx context.Context, s *state, q *query, most int) (l links.Lists, err error) {
	for pages := q.pages; len(pages) > 0; {
		// The pages must fit even if each sample is full.
		n := max(q.spec.N, 1)
		n = min((most-len(l.Items))/n, len(pages))
		if n == 0 {
			if l.Len() > 0 {
				break
			}
			n = 1
		}
		some, err := sm.sampleAll(ctx, s, q.direction, pages[:n], q.spec)
		if err != nil {
			return l, err
		}
		for i := range some.Len() {
			l.Items = append(l.Items, some.At(i)...)
			l.End()
		}
		pages = pages[n:]
	}
	return l, nil
}

// urlsPiece returns the URLs of a prefix of pages with about most bytes.
func (s *state) urlsPiece(ctx context.Context, pages []uid.UID, most int) (urls []string, err error) {
	size, n := 0, 1
	for len(pages) > 0 && size < most {
		some, err := s.urls(ctx, pages[:min(n, len(pages))])
		if err != nil {
			return nil, err
		}
		pages = pages[len(some):]
		// Short URLs are read many at a time, because that is faster. Long ones might be too much.
		read := 0
		for _, url := range some {
			read += linkBytes + len(url)
		}
		if n = min(2*n, checkPages); read/len(some)*n > most-size {
			n = 1
		}
		urls, size = append(urls, some...), size+read
	}
	return urls, nil
}
