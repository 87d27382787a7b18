// Requests to the owners of lists.

package linklists

import (
	"context"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
)

// maxRequestLists is the number of lists in one message.
const maxRequestLists = 1 << 12

// request is a call's question about the lists of some pages, and the replies so far.
type request struct {
	d     links.Direction
	want  byte
	spec  sample.Spec
	pages []uid.UID // 0 if only the URL is known
	urls  []string  // "" if it was not needed, or there is no such page

	replies []reply
	lists   [][]uid.UID // lists that did not come from their owner
	known   []bool      // whether the result is in replies or in lists
	same    [][2]int    // repeated pages, and their first indexes
}

func newRequest(d links.Direction, want byte, spec sample.Spec, pages []uid.UID) *request {
	n := len(pages)
	return &request{d: d, want: want, spec: spec, pages: pages, urls: make([]string, n),
		replies: make([]reply, n), lists: make([][]uid.UID, n), known: make([]bool, n)}
}

// items returns the indexes of all pages.
func (a *request) items() []int {
	items := make([]int, len(a.pages))
	for i := range items {
		items[i] = i
	}
	return items
}

// setList stores a list that did not come from its owner.
func (a *request) setList(i int, list []uid.UID) {
	a.lists[i], a.known[i] = list, true
}

// append appends the list, or the sample, of a page.
func (a *request) append(dst []uid.UID, i int) ([]uid.UID, error) {
	if a.lists[i] != nil {
		return append(dst, a.lists[i]...), nil
	}
	return linkkeys.Unpack(dst, a.replies[i].packed)
}

// length returns the number of links of a page's list, even if only a sample is there.
func (a *request) length(i int) int {
	if a.lists[i] != nil {
		return len(a.lists[i])
	}
	return a.replies[i].degree
}

// share is the part of a request that one machine gets.
type share struct {
	owner trie.MachineID
	items []int // indexes of pages
}

// sharing divides pages by the reader of their lists.
type sharing struct {
	place  map[trie.MachineID]int
	shares []share
}

func (s *sharing) add(owner trie.MachineID, item int) {
	at, ok := s.place[owner]
	if !ok || len(s.shares[at].items) == maxRequestLists {
		if s.place == nil {
			s.place = map[trie.MachineID]int{}
		}
		at = len(s.shares)
		s.place[owner] = at
		s.shares = append(s.shares, share{owner: owner})
	}
	s.shares[at].items = append(s.shares[at].items, item)
}

// fetchFromOwners requests lists from the machines that read their ranges. If one is down,
// whole lists come from copies. rest are the remaining pages, all distinct: their rows must be
// read.
func (g *Reader) fetchFromOwners(ctx context.Context, r *rowreader.Reader, a *request) (rest []int, err error) {
	v := g.View()
	// 1. Request by UID alone if a machine has received the URL under this view.
	items, err := g.fetchByUID(ctx, r, v, a)
	if err != nil {
		return nil, err
	}
	// 2. Resolve the URLs of the other pages.
	if items, err = g.resolveURLs(ctx, r, a, items); err != nil {
		return nil, err
	}
	// 3. Try under the latest view until each list is known or must be read from rows.
	for len(items) > 0 {
		if v = g.View(); v == nil {
			rest = append(rest, items...)
			break
		}
		some, later, unsure, err := g.fetchUnderView(ctx, r, v, a, items)
		if err != nil {
			return nil, err
		}
		rest = append(rest, some...)
		if items = append(later, unsure...); len(unsure) > 0 && !r.WaitRetry(ctx) { // the read of rows reports the error
			return append(rest, items...), ctx.Err()
		}
	}
	return rest, nil
}

// fillRepeated copies the results of repeated pages.
func (a *request) fillRepeated() {
	for _, same := range a.same {
		i, of := same[0], same[1]
		a.replies[i], a.lists[i], a.known[i] = a.replies[of], a.lists[of], a.known[of]
	}
}

// resolveURLs looks up the URLs of pages, and returns those with a URL, each once. A page
// without a URL has no links.
func (g *Reader) resolveURLs(ctx context.Context, r *rowreader.Reader, a *request, items []int) (left []int, err error) {
	// 1. Look up the URLs that are not known yet.
	var pages []uid.UID
	for _, i := range items {
		if a.urls[i] == "" {
			pages = append(pages, a.pages[i])
		}
	}
	urls, err := g.uids.LookUpURLs(ctx, r, pages)
	if err != nil {
		return nil, err
	}
	// 2. Drop repeated pages. For samples the page is part of the key, because they depend on
	// it.
	type once struct {
		url  string
		page uid.UID // only for a sample, because it depends on the page
	}
	first := make(map[once]int, len(items))
	for _, i := range items {
		if a.urls[i] == "" {
			a.urls[i], urls = urls[0], urls[1:]
		}
		if a.urls[i] == "" {
			a.replies[i], a.known[i] = reply{state: repliedKnown}, true
			continue
		}
		one := once{url: a.urls[i]}
		if a.want == wantSamples {
			one.page = a.pages[i]
		}
		if of, ok := first[one]; ok {
			a.same = append(a.same, [2]int{i, of})
			continue
		}
		first[one] = i
		left = append(left, i)
	}
	return left, nil
}

// fetchByUID sends UIDs alone to the machines that have received the URLs under this view. It
// returns the pages without a reply.
func (g *Reader) fetchByUID(ctx context.Context, r *rowreader.Reader, v *view.View, a *request) (left []int, err error) {
	if v == nil {
		return a.items(), nil
	}
	var s sharing
	places, now := g.placesUnder(v), g.Owners(v)
	places.find(a.d, a.pages, func(i int, owner trie.MachineID) {
		if owner == 0 || now.Down[owner] {
			left = append(left, i)
		} else {
			s.add(owner, i)
		}
	})
	answers := make([]unanswered, len(s.shares))
	if err := g.requestShares(ctx, r, v, a, s.shares, false, answers); err != nil {
		return nil, err
	}
	for i := range answers {
		left = append(append(left, answers[i].nothing...), answers[i].later...)
	}
	return left, nil
}

// unanswered is what a machine did not reply to.
type unanswered struct {
	nothing, later []int
	failed         bool // all of it failed, but a retry may succeed
}

// requestShares sends requests to machines, with the URLs of pages or by their UIDs alone.
func (g *Reader) requestShares(ctx context.Context, r *rowreader.Reader, v *view.View, a *request, shares []share, urls bool, answers []unanswered) error {
	places := g.placesUnder(v)
	return ownership.Parallel(ctx, len(shares), max(1, len(shares)), func(ctx context.Context, i int) error {
		s, out := &shares[i], &answers[i]
		// 1. Build the question. A URL is sent only if the machine may not have it.
		q := &question{epoch: v.Epoch, d: a.d, want: a.want, spec: a.spec, lists: make([]listRequest, len(s.items))}
		for j, item := range s.items {
			if q.lists[j].page = a.pages[item]; urls {
				q.lists[j].url = a.urls[item]
			}
		}
		// 2. Send it. A failure is recorded and not returned, because other sources may have
		// the list.
		replies, err := g.requestOwner(ctx, s.owner, q)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			out.failed, out.nothing = ownership.MayPass(err), s.items
			return nil
		}
		// 3. Remember the reader, so that the next request under this view needs no URLs.
		if urls && places.epoch == v.Epoch {
			places.put(a.d, q.lists, replies, s.owner)
		}
		for j, item := range s.items {
			switch replies[j].state {
			case repliedKnown:
				a.replies[item], a.known[item] = replies[j], true
			case repliedLater:
				out.later = append(out.later, item)
			default:
				out.nothing = append(out.nothing, item)
			}
		}
		return nil
	})
}

// fetchUnderView makes one try under a view. If a message had no room for some lists, they are
// in later. Lists in unsure may be known after a moment.
func (g *Reader) fetchUnderView(ctx context.Context, r *rowreader.Reader, v *view.View, a *request, items []int) (rest, later, unsure []int, err error) {
	var s sharing
	var away []ownership.OwnedRange
	var cut, parts []int
	now := g.Owners(v)
	// 1. Divide the lists: a live owner, a down owner, several live owners, some of them down.
	for _, i := range items {
		keys := g.Keys.List(a.d, a.urls[i])
		switch owner, live, ok := now.Of(keys); {
		case ok && live:
			s.add(owner, i)
		case ok:
			away = append(away, ownership.OwnedRange{Range: keys, Owner: owner, Item: i})
		case now.AllUp(keys):
			parts = append(parts, i)
		default:
			cut = append(cut, i)
		}
	}
	// 2. Request from live owners. Failures go to copies if the owner is down by now.
	answers := make([]unanswered, len(s.shares))
	if err := g.requestShares(ctx, r, v, a, s.shares, true, answers); err != nil {
		return nil, nil, nil, err
	}
	for i := range answers {
		later = append(later, answers[i].later...)
		for _, item := range answers[i].nothing {
			switch {
			case !answers[i].failed: // it is too long, or there is another permanent reason
				rest = append(rest, item)
			case g.IsDown(s.shares[i].owner):
				away = append(away, ownership.OwnedRange{Range: g.Keys.List(a.d, a.urls[item]), Owner: s.shares[i].owner, Item: item})
			case g.Copies != 0: // a newer view may have another owner
				unsure = append(unsure, item)
			default:
				rest = append(rest, item)
			}
		}
	}
	if a.want != wantLists { // copies have whole lists only
		for _, one := range away {
			rest = append(rest, one.Item)
		}
		some, err := g.fetchParts(ctx, r, v, a, parts)
		return append(append(rest, cut...), some...), later, unsure, err
	}
	// 3. Whole lists of down owners come from copies.
	rest = append(rest, parts...)
	some, moreUnsure, err := g.fetchCopied(ctx, r, v, a, away, cut)
	return append(rest, some...), later, append(unsure, moreUnsure...), err
}

// fetchCopied fetches lists from copies if all of their readers are down, or some (cut).
func (g *Reader) fetchCopied(ctx context.Context, r *rowreader.Reader, v *view.View, a *request, away []ownership.OwnedRange, cut []int) (rest, unsure []int, err error) {
	answered, uncertain, err := r.FetchCopied(ctx, v, rowreader.CopiedList, away, func(item int, d *peer.Decoder) error {
		packed := d.Bytes()
		list, err := linkkeys.Unpack(make([]uid.UID, 0, linkkeys.PackedDegree(packed)), packed)
		if err == nil {
			a.setList(item, list)
		}
		return err
	})
	for _, one := range away {
		switch {
		case answered[one.Item]:
		case uncertain[one.Item]:
			unsure = append(unsure, one.Item)
		default:
			rest = append(rest, one.Item)
		}
	}
	if err != nil || len(cut) == 0 || g.Copies == 0 {
		return append(rest, cut...), unsure, err
	}
	more, moreUnsure, err := g.fetchSplit(ctx, r, v, a, cut)
	return append(rest, more...), append(unsure, moreUnsure...), err
}

// requestOwner requests lists from a machine. If it is this one, no message is sent.
func (g *Reader) requestOwner(ctx context.Context, owner trie.MachineID, q *question) ([]reply, error) {
	if owner == g.Store.MachineID() {
		return g.owned.reply(ctx, q)
	}
	answer, err := g.CallOwner(ctx, owner, MethodOwned, peer.Encode(q.size(), q.fields))
	if err != nil {
		return nil, err
	}
	return q.parseReplies(answer)
}

// AppendTo appends the lists of the first n pages.
func (a *request) AppendTo(l *links.Lists, n int) (err error) {
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
