// Lists, samples and degrees that come from the machines that read the lists' rows.

package ranges

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// askedLists is how many lists one message asks for.
const askedLists = 1 << 12

// asking is what a call asks about the lists of some pages, and what it was told.
type asking struct {
	d     links.Direction
	want  byte
	spec  sample.Spec
	pages []uid.UID // 0 where only the URL is known
	urls  []string  // "" where it was not needed, or there is no such page

	replies []reply
	lists   [][]uid.UID // of those that are known, but were told otherwise
	known   []bool      // what is asked about it: in replies, or in lists
	same    [][2]int    // pages that are asked about again, and where they were
}

func askAbout(d links.Direction, want byte, spec sample.Spec, pages []uid.UID) *asking {
	n := len(pages)
	return &asking{d: d, want: want, spec: spec, pages: pages, urls: make([]string, n),
		replies: make([]reply, n), lists: make([][]uid.UID, n), known: make([]bool, n)}
}

// all returns all pages, as items.
func (a *asking) all() []int {
	items := make([]int, len(a.pages))
	for i := range items {
		items[i] = i
	}
	return items
}

// tell takes a list that was told by others than its owner.
func (a *asking) tell(i int, list []uid.UID) {
	a.lists[i], a.known[i] = list, true
}

// append appends the list, or the sample, of a page.
func (a *asking) append(dst []uid.UID, i int) ([]uid.UID, error) {
	if a.lists[i] != nil {
		return append(dst, a.lists[i]...), nil
	}
	return unpack(dst, a.replies[i].packed)
}

// length returns how long it is, in links; of a sample how long its list is.
func (a *asking) length(i int) int {
	if a.lists[i] != nil {
		return len(a.lists[i])
	}
	return a.replies[i].degree
}

// share is what one machine is asked for.
type share struct {
	owner trie.MachineID
	items []int // of those asked for
}

// sharing divides pages by who reads their lists.
type sharing struct {
	place  map[trie.MachineID]int
	shares []share
}

func (s *sharing) add(owner trie.MachineID, item int) {
	at, ok := s.place[owner]
	if !ok || len(s.shares[at].items) == askedLists {
		if s.place == nil {
			s.place = map[trie.MachineID]int{}
		}
		at = len(s.shares)
		s.place[owner] = at
		s.shares = append(s.shares, share{owner: owner})
	}
	s.shares[at].items = append(s.shares[at].items, item)
}

// listRange returns the rows of a page's list: all keys that begin with two terms, as
// [triple.Pattern.Scan] has them, in one allocation.
func (g *Graph) listRange(d links.Direction, url string) triple.Range {
	page := triple.NewIRI(url)
	key := make([]byte, 0, 2*(len(url)+len(g.predicateTerm)+16))
	if d == links.Backward {
		key = append(append(key, byte(triple.POS)), g.predicateTerm...)
		key, _ = triple.AppendTerm(append(key, 0, 1), page)
	} else {
		key, _ = triple.AppendTerm(append(key, byte(triple.SPO)), page)
		key = append(append(key, 0, 1), g.predicateTerm...)
	}
	key = append(key, 0, 1)
	n := len(key)
	key = append(key, key...)
	key[2*n-1] = 2
	return triple.Range{Lo: key[:n:n], Hi: key[n:]}
}

// fromOwners has the machines that read the ranges of pages' lists answer, and of whole
// lists those that have copies where these are away. rest are the pages, all different
// ones, of which nobody does: their rows have to be read.
func (r *reader) fromOwners(ctx context.Context, a *asking) (rest []int, err error) {
	v := r.graph.ownersView()
	items, err := r.fromPlaces(ctx, v, a)
	if err != nil {
		return nil, err
	}
	if items, err = r.distinct(ctx, a, items); err != nil {
		return nil, err
	}
	for len(items) > 0 {
		if v = r.graph.ownersView(); v == nil {
			rest = append(rest, items...)
			break
		}
		some, later, unsure, err := r.fromOwnersIn(ctx, v, a, items)
		if err != nil {
			return nil, err
		}
		rest = append(rest, some...)
		if items = append(later, unsure...); len(unsure) > 0 && !r.again(ctx) { // reading rows says what is wrong
			return append(rest, items...), ctx.Err()
		}
	}
	return rest, nil
}

// repeated tells pages that are asked about again what they were told before.
func (a *asking) repeated() {
	for _, same := range a.same {
		i, of := same[0], same[1]
		a.replies[i], a.lists[i], a.known[i] = a.replies[of], a.lists[of], a.known[of]
	}
}

// distinct looks the URLs of some pages up, and returns those that are known, each once:
// the others have no links.
func (r *reader) distinct(ctx context.Context, a *asking, items []int) (left []int, err error) {
	var pages []uid.UID
	for _, i := range items {
		if a.urls[i] == "" {
			pages = append(pages, a.pages[i])
		}
	}
	urls, err := r.urls(ctx, pages)
	if err != nil {
		return nil, err
	}
	type once struct {
		url  string
		page uid.UID // of a sample, which depends on it
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

// fromPlaces asks those machines that were asked about a page under this view before, by
// UIDs alone, and returns of which pages they told nothing.
func (r *reader) fromPlaces(ctx context.Context, v *view.View, a *asking) (left []int, err error) {
	if v == nil {
		return a.all(), nil
	}
	var s sharing
	places, now := r.graph.placesOf(v), r.graph.standing(v)
	places.find(a.d, a.pages, func(i int, owner trie.MachineID) {
		if owner == 0 || now.away[owner] {
			left = append(left, i)
		} else {
			s.add(owner, i)
		}
	})
	answers := make([]answered, len(s.shares))
	if err := r.askShares(ctx, v, a, s.shares, false, answers); err != nil {
		return nil, err
	}
	for i := range answers {
		left = append(append(left, answers[i].nothing...), answers[i].later...)
	}
	return left, nil
}

// answered is what a machine did not answer.
type answered struct {
	nothing, later []int
	failed         bool // all of it, but it may be different a moment later
}

// askShares asks machines, with the URLs of pages or by their UIDs alone.
func (r *reader) askShares(ctx context.Context, v *view.View, a *asking, shares []share, urls bool, answers []answered) error {
	places := r.graph.placesOf(v)
	return atOnce(ctx, len(shares), max(1, len(shares)), func(ctx context.Context, i int) error {
		s, out := &shares[i], &answers[i]
		q := &question{epoch: v.Epoch, d: a.d, want: a.want, spec: a.spec, lists: make([]askedList, len(s.items))}
		for j, item := range s.items {
			if q.lists[j].page = a.pages[item]; urls {
				q.lists[j].url = a.urls[item]
			}
		}
		replies, err := r.graph.askOwner(ctx, s.owner, q)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			out.failed, out.nothing = passing(err), s.items
			return nil
		}
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

// fromOwnersIn is one try, under a view. For some there was no room, but of others; of
// those that are unsure others may know more a moment later.
func (r *reader) fromOwnersIn(ctx context.Context, v *view.View, a *asking, items []int) (rest, later, unsure []int, err error) {
	g := r.graph
	var s sharing
	var away []copiedRange
	var cut, parts []int
	now := g.standing(v)
	for _, i := range items {
		keys := g.listRange(a.d, a.urls[i])
		switch owner, live, ok := now.readerOf(keys); {
		case ok && live:
			s.add(owner, i)
		case ok:
			away = append(away, copiedRange{keys, owner, i})
		case now.there(keys):
			parts = append(parts, i)
		default:
			cut = append(cut, i)
		}
	}
	answers := make([]answered, len(s.shares))
	if err := r.askShares(ctx, v, a, s.shares, true, answers); err != nil {
		return nil, nil, nil, err
	}
	for i := range answers {
		later = append(later, answers[i].later...)
		for _, item := range answers[i].nothing {
			switch {
			case !answers[i].failed: // it is too long, or there is another reason that stays
				rest = append(rest, item)
			case g.isAway(s.shares[i].owner):
				away = append(away, copiedRange{g.listRange(a.d, a.urls[item]), s.shares[i].owner, item})
			case g.o.Copies != 0: // another view, maybe
				unsure = append(unsure, item)
			default:
				rest = append(rest, item)
			}
		}
	}
	if a.want != wantLists { // of whole lists others tell
		for _, one := range away {
			rest = append(rest, one.item)
		}
		some, err := r.fromParts(ctx, v, a, parts)
		return append(append(rest, cut...), some...), later, unsure, err
	}
	rest = append(rest, parts...)
	some, moreUnsure, err := r.fromThoseAway(ctx, v, a, away, cut)
	return append(rest, some...), later, append(unsure, moreUnsure...), err
}

// fromThoseAway has lists told whose readers are away, all of them or some: by copies.
func (r *reader) fromThoseAway(ctx context.Context, v *view.View, a *asking, away []copiedRange, cut []int) (rest, unsure []int, err error) {
	answered, uncertain, err := r.fromCopies(ctx, v, copiedList, away, func(item int, d *peer.Decoder) error {
		packed := d.Bytes()
		list, err := unpack(make([]uid.UID, 0, packedDegree(packed)), packed)
		if err == nil {
			a.tell(item, list)
		}
		return err
	})
	for _, one := range away {
		switch {
		case answered[one.item]:
		case uncertain[one.item]:
			unsure = append(unsure, one.item)
		default:
			rest = append(rest, one.item)
		}
	}
	if err != nil || len(cut) == 0 || r.graph.o.Copies == 0 {
		return append(rest, cut...), unsure, err
	}
	more, moreUnsure, err := r.cutLists(ctx, v, a, cut)
	return append(rest, more...), append(unsure, moreUnsure...), err
}

// passing reports whether what an owner refused it may grant a moment later, under another
// view maybe.
func passing(err error) bool {
	if unreachable(err) {
		return true
	}
	var refusal *peer.Refusal
	if !errors.As(err, &refusal) {
		return false
	}
	switch refusal.Code {
	case peer.CodeEpoch, peer.CodeLease, peer.CodeUnavailable, peer.CodeNotOwner, peer.CodeClosing, peer.CodeBusy:
		return true
	}
	return false
}
