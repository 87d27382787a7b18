// Lists that several machines own, some of them down.

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
	"github.com/trefoildb/trefoil/triple"
)

// fetchSplit reads lists with some down readers. Their parts come from copies, and the other
// parts from the rows of live machines.
func (g *Reader) fetchSplit(ctx context.Context, r *rowreader.Reader, v *view.View, a *request, items []int) (rest, unsure []int, err error) {
	// 1. Divide each list into pieces of live and of down readers.
	var away []ownership.OwnedRange
	var rows []linkkeys.Wanted
	now := g.Owners(v)
	of := []int{} // by piece: its list's item
	for _, item := range items {
		pieces, live := now.Pieces(g.Keys.List(a.d, a.urls[item]), 0)
		for i, piece := range pieces {
			piece.Item = len(of)
			of = append(of, item)
			if live[i] {
				rows = append(rows, linkkeys.Wanted{Range: piece.Range, Item: piece.Item})
			} else {
				away = append(away, piece)
			}
		}
	}
	// 2. Fetch the pieces of down readers from copies.
	lists := make([][]uid.UID, len(of))
	answered, uncertain, err := r.FetchCopied(ctx, v, rowreader.CopiedList, away, func(piece int, d *peer.Decoder) (err error) {
		lists[piece], err = linkkeys.Unpack(nil, d.Bytes())
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	failed, again := map[int]bool{}, map[int]bool{} // by item
	for _, one := range away {
		switch {
		case answered[one.Item]:
		case uncertain[one.Item]:
			again[of[one.Item]] = true
		default:
			failed[of[one.Item]] = true
		}
	}
	// 3. Read the rows of the other pieces, unless the list has failed already.
	rows = slices.DeleteFunc(rows, func(w linkkeys.Wanted) bool { return failed[of[w.Item]] || again[of[w.Item]] })
	e := endCollector{graph: g, reader: r, lists: lists, known: map[string]uint32{}}
	other := linkkeys.OtherEnd(a.d)
	looked, err := r.LookUpWatched(ctx, v, rows, nil, func(piece int, row *linkkeys.Row) error {
		page, ok := row.Iri(triple.Subject + triple.Object - other)
		if !ok || string(page) != a.urls[of[piece]] {
			return nil
		}
		if end, ok := row.Iri(other); ok {
			return e.add(ctx, piece, end)
		}
		return nil
	})
	if looked && err == nil {
		err = e.flush(ctx)
	}
	// If an owner turned out to be down, all items are retried instead of failing.
	if looked && err != nil {
		return nil, nil, err
	}
	if !looked {
		return nil, items, nil
	}
	// 4. Join the pieces. A link at a boundary may be in both, so duplicates are removed.
	whole := map[int][]uid.UID{}
	for piece, item := range of {
		whole[item] = append(whole[item], lists[piece]...)
	}
	for _, item := range items {
		switch {
		case failed[item]:
			rest = append(rest, item)
		case again[item]:
			unsure = append(unsure, item)
		default:
			slices.Sort(whole[item])
			a.setList(item, slices.Compact(whole[item]))
		}
	}
	return rest, unsure, nil
}

// CopiedTargets is [Reader.Targets] for pages whose readers are down. It returns the indexes of
// the pages that are left.
func (g *Reader) CopiedTargets(ctx context.Context, r *rowreader.Reader, d links.Direction, urls []string, each func(item int, end []byte) error) (left []int, err error) {
	var now *ownership.Owners
	if v := g.Store.View(); v != nil && r.Retries && g.Copies != 0 {
		now = g.Owners(v)
	}
	// 1. Select the pages with a down reader. If the call does not retry, none are selected.
	var items []int
	var away []string
	for i, url := range urls {
		if now == nil || now.AllUp(g.Keys.List(d, url)) {
			left = append(left, i)
		} else {
			items, away = append(items, i), append(away, url)
		}
	}
	if len(items) == 0 {
		return left, nil
	}
	// 2. Fetch their lists. Pages that are not known must be read from rows.
	a := newRequest(d, wantLists, sample.Spec{}, make([]uid.UID, len(items)))
	a.urls = away
	rest, err := g.fetchFromOwners(ctx, r, a)
	if err != nil {
		return nil, err
	}
	for _, i := range rest {
		left = append(left, items[i])
	}
	a.fillRepeated()
	// 3. Pass on the URLs of the links.
	var list []uid.UID
	for i := range items {
		if !a.known[i] {
			continue
		}
		if list, err = a.append(list[:0], i); err != nil {
			return nil, err
		}
		ends, err := g.uids.LookUpURLs(ctx, r, list)
		if err != nil {
			return nil, err
		}
		for _, end := range ends {
			if end == "" {
				continue
			}
			if err := each(items[i], []byte(end)); err != nil {
				return nil, err
			}
		}
	}
	return left, nil
}
