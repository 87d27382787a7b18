// Answers about long ranges of POS, from copies.

package copyserver

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// parseWalk decodes a request. The range must lie within POS.
func parseWalk(body []byte) (epoch uint64, kind byte, most int, r triple.Range, err error) {
	d := peer.NewDecoder(body)
	epoch, kind = d.Uvarint(), d.Byte()
	most = int(min(max(d.Uvarint(), 1), rowreader.MaxWalkRows))
	r = triple.Range{Lo: d.Bytes(), Hi: d.Bytes()}
	switch err = d.End(); {
	case err != nil:
	case r.Hi == nil || r.Empty() || len(r.Lo) == 0 || triple.Order(r.Lo[0]) != triple.POS || bytes.Compare(r.Hi, triple.OrderRange(triple.POS).Hi) > 0:
		err = fmt.Errorf("%w: no range of POS", peer.ErrMessage)
	case kind > rowreader.WalkLinks:
		err = fmt.Errorf("%w: kind %d", peer.ErrMessage, kind)
	}
	return epoch, kind, most, r, err
}

// HandleWalk handles links/walk: it answers from the copies of this machine.
func (g *Server) HandleWalk(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	epoch, kind, most, keys, err := parseWalk(body)
	if err != nil {
		return nil, err
	}
	if g.Copies == nil {
		return []byte{rowreader.CopiedNowhere}, nil
	}
	// 1. Find the rows at the beginning of the range.
	refused := func(err error) error {
		return &peer.Refusal{Code: peer.CodeUnavailable, Epoch: epoch, Message: err.Error()}
	}
	part, err := g.Copies.Walk(ctx, epoch, keys, most)
	if err != nil {
		return nil, refused(err)
	}
	// If the beginning is not copied, another machine may have it.
	if !part.Known {
		return []byte{rowreader.CopiedNowhere}, nil
	}
	r, err := g.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// 2. Encode their present state. If it is not known, the caller may retry.
	e := peer.NewEncoder(64 + 4*most)
	e.Byte(rowreader.CopiedKnown)
	e.Bytes(part.UpTo)
	known := false
	if kind == rowreader.WalkPages {
		known, err = g.appendPages(ctx, r, e, part.Found)
	} else {
		known, err = g.appendLinks(ctx, r, e, part.Found)
	}
	if err != nil {
		return nil, refused(err)
	}
	if !known {
		return []byte{rowreader.CopiedUnclear}, nil
	}
	return e.Data(), nil
}

// appendPages appends the UIDs of the pages that exist now. It returns false if that is not
// known.
func (g *Server) appendPages(ctx context.Context, r *rowreader.Reader, e *peer.Encoder, f copies.Found) (bool, error) {
	// 1. Find the present state of changed pages.
	all := make([]copiedList, 1)
	if err := all[0].decode(rowreader.CopiedURLs, f, true); err != nil {
		return false, err
	}
	p, err := g.presentState(ctx, r, g.Store.View(), rowreader.CopiedURLs, all)
	if err != nil {
		return false, err
	}
	_, claims, changed, ok := all[0].changedClaims(rowreader.CopiedURLs, p, triple.POS)
	if !ok {
		return false, nil
	}
	// 2. Merge them with the unchanged rows of the copy.
	list := make([]uid.UID, 0, len(f.Rows)+len(claims))
	for i := range claims {
		list = append(list, claims[i].UID)
	}
	for i := range f.Rows {
		if changed[string(f.Rows[i].Key)] {
			continue
		}
		_, terms, err := triple.SplitKey(f.Rows[i].Key)
		if err != nil {
			return false, err
		}
		if u, ok := (&linkkeys.Row{Terms: terms}).UID(); ok {
			list = append(list, u)
		}
	}
	slices.Sort(list)
	e.Bytes(linkkeys.AppendPacked(nil, slices.Compact(list)))
	return true, nil
}

// appendLinks appends the number of links that copied lists have now. It returns false if that
// is not known.
func (g *Server) appendLinks(ctx context.Context, r *rowreader.Reader, e *peer.Encoder, f copies.Found) (bool, error) {
	// 1. Divide rows and changes by list.
	var lists []copies.Found
	place := map[string]int{}
	of := func(key []byte) *copies.Found {
		pair, _ := triple.KeyPair(key)
		at, ok := place[string(pair)]
		if !ok {
			at = len(lists)
			place[string(pair)] = at
			lists = append(lists, copies.Found{})
		}
		return &lists[at]
	}
	for _, row := range f.Rows {
		l := of(row.Key)
		l.Rows = append(l.Rows, row)
	}
	for _, c := range f.Changed {
		_, terms, err := triple.SplitKey(c.Key)
		if err != nil {
			return false, err
		}
		l := of(triple.AppendKeyOf(nil, triple.POS, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], nil))
		l.Changed = append(l.Changed, c)
	}
	// 2. Find the present state of all changed links at once.
	all := make([]copiedList, len(lists))
	for i := range lists {
		if err := all[i].decode(rowreader.CopiedList, lists[i], true); err != nil {
			return false, err
		}
	}
	p, err := g.presentState(ctx, r, g.Store.View(), rowreader.CopiedList, all)
	if err != nil {
		return false, err
	}
	// 3. Count the present links of each list.
	n := 0
	one := peer.NewEncoder(64)
	for i := range all {
		one.Reset()
		if !all[i].appendList(one, p) {
			return false, nil
		}
		n += linkkeys.PackedDegree(peer.NewDecoder(one.Data()).Bytes())
	}
	e.Uvarint(uint64(n))
	return true, nil
}
