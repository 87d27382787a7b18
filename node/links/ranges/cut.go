// Lists that several machines read, while some of these are away.

package ranges

import (
	"context"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/triple"
)

// cutLists reads lists of which machines that are away have read a part: from copies, and
// the other parts from the rows of those that are there.
func (r *reader) cutLists(ctx context.Context, v *view.View, a *asking, items []int) (rest, unsure []int, err error) {
	g := r.graph
	var away []copiedRange
	var rows []wanted
	now := g.standing(v)
	of := []int{} // by piece: its list's item
	for _, item := range items {
		pieces, live := now.pieces(g.listRange(a.d, a.urls[item]), 0)
		for i, piece := range pieces {
			piece.item = len(of)
			of = append(of, item)
			if live[i] {
				rows = append(rows, wanted{piece.Range, piece.item})
			} else {
				away = append(away, piece)
			}
		}
	}
	lists := make([][]uid.UID, len(of))
	answered, uncertain, err := r.fromCopies(ctx, v, copiedList, away, func(piece int, d *peer.Decoder) (err error) {
		lists[piece], err = unpack(nil, d.Bytes())
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	failed, again := map[int]bool{}, map[int]bool{} // by item
	for _, one := range away {
		switch {
		case answered[one.item]:
		case uncertain[one.item]:
			again[of[one.item]] = true
		default:
			failed[of[one.item]] = true
		}
	}
	rows = slices.DeleteFunc(rows, func(w wanted) bool { return failed[of[w.item]] || again[of[w.item]] })
	e := ends{reader: r, lists: lists, known: map[string]uint32{}}
	other := far(a.d)
	looked, err := g.lookWatched(ctx, r, v, rows, nil, func(piece int, row *row) error {
		page, ok := row.iri(triple.Subject + triple.Object - other)
		if !ok || string(page) != a.urls[of[piece]] {
			return nil
		}
		if end, ok := row.iri(other); ok {
			return e.add(ctx, piece, end)
		}
		return nil
	})
	if looked && err == nil {
		err = e.flush(ctx)
	}
	if looked && err != nil {
		return nil, nil, err
	}
	if !looked {
		return nil, items, nil
	}
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
			a.tell(item, slices.Compact(whole[item]))
		}
	}
	return rest, unsure, nil
}

// copiedTargets calls each with the other ends of the links of those pages whose readers
// are away, as [reader.targets] does, and returns which pages are left.
func (r *reader) copiedTargets(ctx context.Context, d links.Direction, urls []string, each func(item int, end []byte) error) (left []int, err error) {
	var now *standing
	if v := r.graph.store.View(); v != nil && r.repeated && r.graph.o.Copies != 0 {
		now = r.graph.standing(v)
	}
	var items []int
	var away []string
	for i, url := range urls {
		if now == nil || now.there(r.graph.listRange(d, url)) {
			left = append(left, i)
		} else {
			items, away = append(items, i), append(away, url)
		}
	}
	if len(items) == 0 {
		return left, nil
	}
	a := askAbout(d, wantLists, sample.Spec{}, make([]uid.UID, len(items)))
	a.urls = away
	rest, err := r.fromOwners(ctx, a)
	if err != nil {
		return nil, err
	}
	for _, i := range rest {
		left = append(left, items[i])
	}
	a.repeated()
	var list []uid.UID
	for i := range items {
		if !a.known[i] {
			continue
		}
		if list, err = a.append(list[:0], i); err != nil {
			return nil, err
		}
		ends, err := r.urls(ctx, list)
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
