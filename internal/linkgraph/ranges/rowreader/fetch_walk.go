// Long ranges piece by piece, of which down machines own a part.

package rowreader

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// MethodWalk requests what a machine's copies have of the beginning of a range of POS:
//
//	request: epoch uvarint, kind byte, most uvarint, lower and upper bound (length uvarint and bytes)
//	answer:  0 if it has no copies, 2 if it cannot answer now, or 1, the key at which the part ends
//	         (length uvarint and bytes) and
//
//	kind 0, pages      length uvarint and packed list of their UIDs
//	kind 1, links      uvarint: the number of links of lists that are wholly in the range
const MethodWalk = "links/walk"

// The kinds of walks.
const (
	WalkPages byte = iota
	WalkLinks
)

// MaxWalkRows bounds the rows of copies that one message reads.
const MaxWalkRows = 1 << 13

// Walk is a range whose reader under a view is down.
type Walk struct {
	triple.Range
	View  *view.View
	Owner trie.MachineID
	Kind  byte
	Most  int
}

// ForEachPiece reads a range in pieces. It calls rows with a piece if its reader is up, and
// away with the beginning of a piece if it is down. rows reports if it wants more. away returns
// the key at which it ended, nil if it has enough. If a machine is down, the piece is retried
// from its beginning for a while.
func (r *Reader) ForEachPiece(ctx context.Context, keys triple.Range, rows func(ctx context.Context, piece triple.Range) (more bool, err error), away func(away Walk) (upTo []byte, err error)) error {
	g := r.Readers
	for !keys.Empty() {
		v := g.View()
		if v == nil || g.Copies == 0 {
			_, err := rows(ctx, keys)
			return err
		}
		upTo, err := r.readPiece(ctx, v, keys, rows, away)
		switch {
		case err == nil && upTo == nil:
			return nil
		case err == nil:
			keys.Lo = upTo
			r.ResetRetry()
		case !errors.Is(err, store.ErrUnavailable) || !r.WaitRetry(ctx):
			return err
		}
	}
	return nil
}

// readPiece is ForEachPiece for the first piece of a range under a view.
func (r *Reader) readPiece(ctx context.Context, v *view.View, keys triple.Range, rows func(ctx context.Context, piece triple.Range) (bool, error), away func(Walk) ([]byte, error)) (upTo []byte, err error) {
	g := r.Readers
	piece, live := g.Owners(v).FirstPiece(keys)
	if !live {
		upTo, err := away(Walk{Range: piece.Range, View: v, Owner: piece.Owner})
		if err == nil {
			r.usedCopies.Store(true)
		}
		return upTo, err
	}
	more := false
	looked, err := g.Watch(ctx, v, []linkkeys.Wanted{{Range: piece.Range, Item: 0}}, nil, func(ctx context.Context) (err error) {
		more, err = rows(ctx, piece.Range)
		return err
	})
	switch {
	case !looked:
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, ownership.ErrDown)
	case err != nil || !more:
		return nil, err
	}
	return piece.Hi, nil
}

// FetchWalk requests the beginning of a range from machines with copies. The decoder is at the
// data of the walk's kind.
func (r *Reader) FetchWalk(ctx context.Context, w Walk) (upTo []byte, d *peer.Decoder, err error) {
	g := r.Readers
	e := peer.NewEncoder(64 + 2*len(w.Lo))
	e.Uvarint(w.View.Epoch)
	e.Byte(w.Kind)
	e.Uvarint(uint64(w.Most))
	e.Bytes(w.Lo)
	e.Bytes(w.Hi)
	err = ownership.ErrDown
	for _, holder := range copies.Holders(w.View, w.Owner, len(w.View.Members)) {
		if g.IsDown(holder) {
			continue
		}
		// Any holder will do. The errors of all are joined, because each may have another
		// reason.
		upTo, d, failed := g.requestWalk(ctx, holder, e.Data(), w.Range)
		if failed == nil {
			return upTo, d, nil
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		err = errors.Join(err, fmt.Errorf("machine %s: %w", holder, failed))
	}
	return nil, nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

var errNoCopies = errors.New("it has no copies that can tell")

func (g *Readers) requestWalk(ctx context.Context, of trie.MachineID, request []byte, r triple.Range) (upTo []byte, d *peer.Decoder, err error) {
	ctx, cancel := context.WithTimeout(ctx, CopyTimeout)
	defer cancel()
	var answer []byte
	if of == g.Store.MachineID() {
		answer, err = g.LocalWalk(ctx, peer.Header{}, request)
	} else {
		answer, err = g.CallOwner(ctx, of, MethodWalk, request)
	}
	if err != nil {
		return nil, nil, err
	}
	return ParseWalked(answer, r)
}

// ParseWalked decodes the common part of an answer about a range. The data of its kind follows
// in the decoder.
func ParseWalked(answer []byte, r triple.Range) (upTo []byte, d *peer.Decoder, err error) {
	d = peer.NewDecoder(answer)
	if state := d.Byte(); d.Err() == nil && state != CopiedKnown {
		return nil, nil, errNoCopies
	}
	if upTo = d.Bytes(); d.Err() == nil && (bytes.Compare(upTo, r.Lo) <= 0 || bytes.Compare(upTo, r.Hi) > 0) {
		return nil, nil, fmt.Errorf("%w: a part that ends outside of its range", peer.ErrMessage)
	}
	return upTo, d, d.Err()
}
