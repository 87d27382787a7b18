// Going through ranges of POS of which a part was read by machines that are away.

package ranges

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/links/copies"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// methodWalk asks a machine that keeps copies what they have of the beginning of a range of
// POS:
//
//	request: epoch uvarint, kind byte, most uvarint, lower and upper bound (length uvarint and bytes)
//	answer:  0 where it has no copies, 2 where it cannot be told now, or 1, where the part ends (length
//	         uvarint and bytes) and
//
//	kind 0, pages      length uvarint and packed list of their UIDs
//	kind 1, links      uvarint: how many there are of lists that are wholly in the range
const methodWalk = "links/walk"

// The kinds of what is gone through.
const (
	walkedPages byte = iota
	walkedLinks
)

// walkedMost bounds the rows of copies that one message goes through.
const walkedMost = 1 << 13

// walked is a range that was read by a machine that is away under a view.
type walked struct {
	triple.Range
	view  *view.View
	owner trie.MachineID
	kind  byte
	most  int
}

// eachPiece goes through a range by pieces: rows is called with those whose readers are
// there, away with the beginning of others, of which it returns where it ended, nil for
// enough. rows reports whether it wants more. What is in vain is tried again for a while,
// from the beginning of its piece.
func (r *reader) eachPiece(ctx context.Context, keys triple.Range, rows func(ctx context.Context, piece triple.Range) (more bool, err error), away func(away walked) (upTo []byte, err error)) error {
	g := r.graph
	for !keys.Empty() {
		v := g.ownersView()
		if v == nil || g.o.Copies == 0 {
			_, err := rows(ctx, keys)
			return err
		}
		upTo, err := r.onePiece(ctx, v, keys, rows, away)
		switch {
		case err == nil && upTo == nil:
			return nil
		case err == nil:
			keys.Lo = upTo
			r.further()
		case !errors.Is(err, node.ErrUnavailable) || !r.again(ctx):
			return err
		}
	}
	return nil
}

// onePiece is eachPiece for the first piece of a range under a view.
func (r *reader) onePiece(ctx context.Context, v *view.View, keys triple.Range, rows func(ctx context.Context, piece triple.Range) (bool, error), away func(walked) ([]byte, error)) (upTo []byte, err error) {
	g := r.graph
	piece, live := g.standing(v).first(keys)
	if !live {
		upTo, err := away(walked{Range: piece.Range, view: v, owner: piece.owner})
		if err == nil {
			r.copied.Store(true)
		}
		return upTo, err
	}
	more := false
	looked, err := g.watched(ctx, v, []wanted{{piece.Range, 0}}, nil, func(ctx context.Context) (err error) {
		more, err = rows(ctx, piece.Range)
		return err
	})
	switch {
	case !looked:
		return nil, fmt.Errorf("%w: %w", node.ErrUnavailable, errAway)
	case err != nil || !more:
		return nil, err
	}
	return piece.Hi, nil
}

// first returns the first piece of a range: as much of it as machines read that are there,
// or one that is away.
func (s *standing) first(keys triple.Range) (piece copiedRange, live bool) {
	for part := range s.joint.Reads().Trie.Range(keys.Lo, keys.Hi) {
		owner, lives := s.joint.ReaderOf(part)
		lives = lives && !s.away[owner]
		if piece.owner != 0 && (lives != live || !live && owner != piece.owner) {
			break
		}
		if piece.owner == 0 {
			piece, live = copiedRange{Range: triple.Range{Lo: keys.Lo}, owner: owner}, lives
		}
		piece.Hi = keys.Intersect(triple.Range{Lo: part.Lo, Hi: part.Hi}).Hi
	}
	return piece, live
}

// walkCopies asks those who have copies of the beginning of a range. The answer is what of
// its kind follows.
func (r *reader) walkCopies(ctx context.Context, w walked) (upTo []byte, d *peer.Decoder, err error) {
	g := r.graph
	e := peer.NewEncoder(64 + 2*len(w.Lo))
	e.Uvarint(w.view.Epoch)
	e.Byte(w.kind)
	e.Uvarint(uint64(w.most))
	e.Bytes(w.Lo)
	e.Bytes(w.Hi)
	err = errAway
	for _, holder := range copies.Holders(w.view, w.owner, len(w.view.Members)) {
		if g.isAway(holder) {
			continue
		}
		upTo, d, failed := g.askWalk(ctx, holder, e.Data(), w.Range)
		if failed == nil {
			return upTo, d, nil
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		err = errors.Join(err, fmt.Errorf("machine %s: %w", holder, failed))
	}
	return nil, nil, fmt.Errorf("%w: %w", node.ErrUnavailable, err)
}

var errNoCopies = errors.New("it has no copies that can tell")

func (g *Graph) askWalk(ctx context.Context, of trie.MachineID, request []byte, r triple.Range) (upTo []byte, d *peer.Decoder, err error) {
	ctx, cancel := context.WithTimeout(ctx, copiedTime)
	defer cancel()
	var answer []byte
	if of == g.store.MachineID() {
		answer, err = g.handleWalk(ctx, peer.Header{}, request)
	} else {
		answer, err = g.callOwner(ctx, of, methodWalk, request)
	}
	if err != nil {
		return nil, nil, err
	}
	return parseWalked(answer, r)
}

// parseWalked reads an answer about a range, but for what is of its kind.
func parseWalked(answer []byte, r triple.Range) (upTo []byte, d *peer.Decoder, err error) {
	d = peer.NewDecoder(answer)
	if state := d.Byte(); d.Err() == nil && state != copiedKnown {
		return nil, nil, errNoCopies
	}
	if upTo = d.Bytes(); d.Err() == nil && (bytes.Compare(upTo, r.Lo) <= 0 || bytes.Compare(upTo, r.Hi) > 0) {
		return nil, nil, fmt.Errorf("%w: a part that ends outside of its range", peer.ErrMessage)
	}
	return upTo, d, d.Err()
}

// parseWalk reads a request.
func parseWalk(body []byte) (epoch uint64, kind byte, most int, r triple.Range, err error) {
	d := peer.NewDecoder(body)
	epoch, kind = d.Uvarint(), d.Byte()
	most = int(min(max(d.Uvarint(), 1), walkedMost))
	r = triple.Range{Lo: d.Bytes(), Hi: d.Bytes()}
	switch err = d.End(); {
	case err != nil:
	case r.Hi == nil || r.Empty() || len(r.Lo) == 0 || triple.Order(r.Lo[0]) != triple.POS || bytes.Compare(r.Hi, triple.OrderRange(triple.POS).Hi) > 0:
		err = fmt.Errorf("%w: no range of POS", peer.ErrMessage)
	case kind > walkedLinks:
		err = fmt.Errorf("%w: kind %d", peer.ErrMessage, kind)
	}
	return epoch, kind, most, r, err
}

// handleWalk answers from the copies of this machine.
func (g *Graph) handleWalk(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	epoch, kind, most, keys, err := parseWalk(body)
	if err != nil {
		return nil, err
	}
	if g.copies == nil {
		return []byte{copiedNowhere}, nil
	}
	refused := func(err error) error {
		return &peer.Refusal{Code: peer.CodeUnavailable, Epoch: epoch, Message: err.Error()}
	}
	part, err := g.copies.Walk(ctx, epoch, keys, most)
	if err != nil {
		return nil, refused(err)
	}
	if !part.Known {
		return []byte{copiedNowhere}, nil
	}
	r, err := g.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	e := peer.NewEncoder(64 + 4*most)
	e.Byte(copiedKnown)
	e.Bytes(part.UpTo)
	known := false
	if kind == walkedPages {
		known, err = r.appendPages(ctx, e, part.Found)
	} else {
		known, err = r.appendLinks(ctx, e, part.Found)
	}
	if err != nil {
		return nil, refused(err)
	}
	if !known {
		return []byte{copiedUnclear}, nil
	}
	return e.Data(), nil
}

// appendPages appends the UIDs of copied pages as they are now; false where that cannot be
// told.
func (r *reader) appendPages(ctx context.Context, e *peer.Encoder, f copies.Found) (bool, error) {
	all := make([]copied, 1)
	if err := all[0].read(copiedURLs, f, true); err != nil {
		return false, err
	}
	p, err := r.now(ctx, r.graph.store.View(), copiedURLs, all)
	if err != nil {
		return false, err
	}
	_, claims, changed, ok := all[0].changed(copiedURLs, p, triple.POS)
	if !ok {
		return false, nil
	}
	list := make([]uid.UID, 0, len(f.Rows)+len(claims))
	for i := range claims {
		list = append(list, claims[i].uid)
	}
	for i := range f.Rows {
		if changed[string(f.Rows[i].Key)] {
			continue
		}
		_, terms, err := triple.SplitKey(f.Rows[i].Key)
		if err != nil {
			return false, err
		}
		if u, ok := (&row{terms: terms}).uid(); ok {
			list = append(list, u)
		}
	}
	slices.Sort(list)
	e.Bytes(appendPacked(nil, slices.Compact(list)))
	return true, nil
}

// appendLinks appends how many links copied lists have now; false where that cannot be
// told.
func (r *reader) appendLinks(ctx context.Context, e *peer.Encoder, f copies.Found) (bool, error) {
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
	all := make([]copied, len(lists))
	for i := range lists {
		if err := all[i].read(copiedList, lists[i], true); err != nil {
			return false, err
		}
	}
	p, err := r.now(ctx, r.graph.store.View(), copiedList, all)
	if err != nil {
		return false, err
	}
	n := 0
	one := peer.NewEncoder(64)
	for i := range all {
		one.Reset()
		if !all[i].appendList(one, p) {
			return false, nil
		}
		n += packedLen(peer.NewDecoder(one.Data()).Bytes())
	}
	e.Uvarint(uint64(n))
	return true, nil
}

// packedLen returns how many UIDs a packed list has.
func packedLen(packed []byte) (n int) {
	for _, b := range packed {
		if b < 0x80 {
			n++
		}
	}
	return n
}
