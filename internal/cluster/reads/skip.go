// Offsets: owners skip rows of a range, and send none of them.

package reads

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/triple"
)

// maxSkip bounds the rows of one request to skip, about half a second of an owner's time. After a
// failure only the last request is repeated.
const maxSkip = 1 << 20

// scanBehind returns an iterator over the rows of r that pass f, without the first offset rows.
func (sn *Snapshot) scanBehind(ctx context.Context, r triple.Range, reverse bool, f *filter, offset, limit int64) (*scan, error) {
	shown := 0
	if offset > 0 {
		var err error
		if r, shown, err = sn.skip(ctx, r, reverse, f, offset); err != nil {
			return nil, err
		}
	}
	s, err := sn.scan(ctx, r, reverse, f, limit)
	if err == nil && offset > 0 {
		// The skipped rows are a part of the answer: a load that is published now must end it.
		s.returned, s.shown = true, shown
	}
	return s, err
}

// skip returns the part of a range behind its first n rows that pass f, in the direction of the
// read. shown is the number of published loads that the skipped rows include.
func (sn *Snapshot) skip(ctx context.Context, all triple.Range, reverse bool, f *filter, n int64) (rest triple.Range, shown int, err error) {
	if err := sn.begin(ctx); err != nil {
		return all, 0, err
	}
	t, ctx := sn.retries(ctx)
	rest = all
	var under *view.View // of pieces
	var parts []piece    // of rest; only in reverse, because the last one cannot be found alone
	for left := n; left > 0 && !rest.Empty(); {
		// 1. Plan under the present view. If a load was published, no skipped part may lack it.
		v, err := sn.plannable(rest)
		if v != under || err != nil {
			if v != nil && v.Shown() != shown {
				shown, rest, left = v.Shown(), all, n
			}
			under, parts = v, nil
		}
		var p piece
		if err == nil && reverse {
			if len(parts) == 0 {
				parts = pieces(v.Joint(), rest)
			}
			p = parts[len(parts)-1]
			if p.Range = rest.Intersect(p.Range); p.Empty() { // the last skipped row was its first one
				parts = parts[:len(parts)-1]
				continue
			}
		} else if err == nil {
			p = nextPiece(v.Joint(), rest)
		}
		// 2. Skip in the next piece.
		var skipped int64
		var last []byte
		if err == nil {
			skipped, last, err = sn.skipPiece(ctx, v, p, reverse, f, left)
		}
		if err != nil {
			if err := t.wait(ctx, v, err); err != nil {
				return rest, shown, err
			}
			under = nil
			continue
		}
		// 3. Go on behind the last skipped row, or behind the piece.
		if left -= skipped; last != nil {
			rest = rangeAfter(rest, last, reverse)
		} else {
			rest, parts = rangeWithout(rest, p.Range, reverse), parts[:max(len(parts)-1, 0)]
		}
		t.progress()
	}
	return rest, shown, ctx.Err()
}

// skipPiece skips at most limit rows of a piece. last is the key of the last skipped row if rows may
// follow it in the piece, otherwise nil.
func (sn *Snapshot) skipPiece(ctx context.Context, v *view.View, p piece, reverse bool, f *filter, limit int64) (n int64, last []byte, err error) {
	if p.live {
		tick, err := sn.tick(ctx, v)
		if err != nil {
			return 0, nil, err
		}
		q := &request{epoch: v.Epoch, view: v, reverse: reverse, filter: f, limit: min(limit, maxSkip), wait: sn.wait, tick: tick, ranges: []triple.Range{p.Range}}
		if p.owner == sn.reads.self {
			n, last, err = sn.reads.countLocal(ctx, q)
		} else {
			err = turns.Wait(ctx, func() (err error) {
				n, last, err = sn.reads.skipRemote(turns.Detach(ctx), q, p.owner)
				return err
			})
		}
		if err == nil {
			err = sn.returns(tick)
		}
		return n, last, sn.failed(tick, err)
	}
	// The owner is down: read the rows and drop them.
	s, err := sn.scan(ctx, p.Range, reverse, f, 0)
	if err != nil {
		return 0, nil, err
	}
	defer s.Close()
	for n < limit && s.Next() {
		n++
	}
	if n == limit {
		key, _ := s.Row()
		last = bytes.Clone(key)
	}
	return n, last, s.Err()
}
