// Walk: the beginning of a long range, read from copies.

package copies

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// Part is what the copies have of the beginning of a range.
type Part struct {
	// Known is set if the beginning is copied.
	Known bool
	// UpTo is the end of the part: the end of the range, or a boundary between keys of two
	// terms.
	UpTo []byte
	Found
}

// Walk returns what the copies have of the beginning of a range, as Look does: about most rows
// and changes. If a row begins before the range with the same two terms as its first key, it is
// included.
func (c *Copies) Walk(ctx context.Context, epoch uint64, r triple.Range, most int) (p Part, err error) {
	// 1. Find the copies that reach furthest.
	v := c.member.View()
	if v == nil || v.Epoch != epoch {
		return p, fmt.Errorf("%w: epoch %d is not the adopted one", store.ErrUnavailable, epoch)
	}
	c.mu.RLock()
	h, upTo := c.reaching(r)
	c.mu.RUnlock()
	if h == nil {
		return p, nil
	}
	// If others copied a part of a list, its rows may have more than is covered.
	if pair, ok := triple.KeyPair(upTo); ok && bytes.Compare(upTo, r.Hi) < 0 {
		if upTo = PairRange(pair).Lo; bytes.Compare(upTo, r.Lo) <= 0 {
			return p, nil
		}
	}
	// 2. Read the journals, then the rows. Either may end the part early.
	p.Known = true
	err = c.gather(ctx, v, h, func() { p.Changed, p.UpTo = h.changedIn(triple.Range{Lo: r.Lo, Hi: upTo}, most) })
	if err != nil {
		return p, err
	}
	if p.Rows, p.UpTo, err = c.readPart(ctx, h, triple.Range{Lo: r.Lo, Hi: p.UpTo}, most); err != nil {
		return p, err
	}
	// 3. Drop the changes behind the end, and check the lease last.
	order := triple.Order(r.Lo[0])
	p.Changed = slices.DeleteFunc(p.Changed, func(one Change) bool {
		both, err := affected(one.Key)
		return err != nil || bytes.Compare(both[pairOf(order)].Lo, p.UpTo) >= 0
	})
	if err := c.member.MayAnswer(epoch); err != nil {
		return p, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return p, nil
}

// pairOf returns the index in [affected] of the range of an order.
func pairOf(o triple.Order) int {
	if o == triple.POS {
		return 1
	}
	return 0
}

// changedIn returns about most changes at the beginning of a range, and their end. It scans all
// changes: up to maxChanges, in some 50 ms.
func (h *held) changedIn(r triple.Range, most int) (changed []Change, upTo []byte) {
	from := string(begins(r.Lo))
	var los []string
	for lo := range h.changed {
		if lo >= from && lo < string(r.Hi) {
			los = append(los, lo)
		}
	}
	slices.Sort(los)
	for _, lo := range los {
		if len(changed) >= most {
			return changed, []byte(lo)
		}
		for _, one := range h.changed[lo] {
			one.Settled = one.Settled && one.Stamp.Epoch >= h.epoch // see Look
			changed = append(changed, one)
		}
	}
	return changed, r.Hi
}

// readPart reads rows at the beginning of a range, if that is still covered, and returns their
// end.
func (c *Copies) readPart(ctx context.Context, h *held, r triple.Range, most int) (rows []Row, upTo []byte, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.shelf == nil {
		return nil, nil, errClosed
	}
	if !h.covered.has(r) {
		return nil, nil, fmt.Errorf("%w: copies are being put in order for another view", store.ErrUnavailable)
	}
	total := 0
	var pair []byte
	upTo = r.Hi
	err = c.shelf.walk(ctx, h.id, h.covered.reaches(r), func(row Row) bool {
		now, _ := triple.KeyPair(row.Key)
		if !bytes.Equal(now, pair) {
			if len(rows) >= most || total > lookBytes {
				upTo = PairRange(now).Lo
				return false
			}
			pair = bytes.Clone(now)
		}
		total += len(row.Key) + len(row.Value)
		rows = append(rows, Row{bytes.Clone(row.Key), bytes.Clone(row.Value)})
		return true
	})
	return rows, upTo, err
}

// reaches returns a covered range, extended to the front by keys with the same two terms. It is
// needed because a part of a list may begin in front of the range.
func (c cover) reaches(r triple.Range) triple.Range {
	covered, _ := c.at(r.Lo)
	lo := begins(r.Lo)
	if bytes.Compare(lo, covered.Lo) < 0 {
		lo = covered.Lo
	}
	return triple.Range{Lo: lo, Hi: r.Hi}
}
