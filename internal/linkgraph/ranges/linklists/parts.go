// Lists that several machines own: each answers about its part.

package linklists

import (
	"context"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
)

// fetchParts requests lists whose parts have several owners. A consistent sample is the
// smallest links of all parts. Other samples cannot be merged, so they are returned in rest.
func (g *Reader) fetchParts(ctx context.Context, r *rowreader.Reader, v *view.View, a *request, items []int) (rest []int, err error) {
	if len(items) == 0 || a.want == wantSamples && a.spec.Mode != sample.ModeConsistent {
		return items, nil
	}
	now := g.Owners(v)
	byOwner := map[trie.MachineID][]partRequest{}
	// 1. Divide each list into pieces, and group them by owner.
	byPart := make([][]reply, len(items)) // of each item, by part
	for n, item := range items {
		pieces, _ := now.Pieces(g.Keys.List(a.d, a.urls[item]), 0)
		byPart[n] = make([]reply, len(pieces))
		for i, p := range pieces {
			byOwner[p.Owner] = append(byOwner[p.Owner], partRequest{
				listRequest{a.pages[item], a.urls[item], p.Range}, &byPart[n][i]})
		}
	}
	// 2. Request from all owners in parallel. An owner that fails leaves its parts unknown.
	var asking sync.WaitGroup
	for owner, parts := range byOwner {
		asking.Go(func() { g.requestParts(ctx, v, a, owner, parts) })
	}
	asking.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// 3. Merge the lists with complete replies.
	for n, item := range items {
		whole, ok := merge(byPart[n], a.spec.N)
		if !ok {
			rest = append(rest, item)
			continue
		}
		a.replies[item], a.known[item] = whole, true
	}
	return rest, nil
}

// partRequest is a part of a list, and its reply.
type partRequest struct {
	listRequest
	replyTo *reply
}

// requestParts requests parts of lists from a machine. If it fails, they stay unknown.
func (g *Reader) requestParts(ctx context.Context, v *view.View, a *request, owner trie.MachineID, parts []partRequest) {
	for len(parts) > 0 {
		q := &question{epoch: v.Epoch, d: a.d, want: a.want, spec: a.spec}
		for i := range parts[:min(len(parts), maxRequestLists)] {
			q.lists = append(q.lists, parts[i].listRequest)
		}
		replies, err := g.requestOwner(ctx, owner, q)
		if err != nil {
			g.Log.Debug("parts of lists are not answered", "machine", owner, "error", err)
			return
		}
		var later []partRequest
		for i, p := range parts[:len(replies)] {
			if *p.replyTo = replies[i]; replies[i].state == repliedLater {
				later = append(later, p)
			}
		}
		parts = append(later, parts[len(replies):]...)
	}
}

// merge returns the whole of a list's parts, in their order, and false if a part is unknown. A
// link that ends one part and begins the next one counts once.
func merge(parts []reply, n int) (whole reply, ok bool) {
	var drawn []uid.UID
	last := ""
	for i := range parts {
		p := &parts[i]
		if p.state != repliedKnown {
			return whole, false
		}
		if p.degree == 0 {
			continue
		}
		if whole.degree += p.degree; p.ends[0] == last {
			whole.degree--
		}
		last = p.ends[1]
		var err error
		if drawn, err = linkkeys.Unpack(drawn, p.packed); err != nil {
			return whole, false
		}
	}
	slices.Sort(drawn)
	drawn = slices.Compact(drawn)
	whole.packed = linkkeys.AppendPacked(nil, sample.Consistent(nil, drawn, n, sample.All, sample.Classes{}))
	whole.state = repliedKnown
	return whole, true
}
