// Pull: how ranges are copied, and copied again after changes.

package copies

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// copyPause is the pause between two messages of a new copy, because it is not urgent.
	copyPause = 5 * time.Millisecond
	// refreshed is the number of ranges in one message.
	refreshed = 1 << 10
	// heldBack bounds the bytes of rows of one range that are held until it is complete.
	heldBack = 256 << 20
)

// affected returns the ranges of copied rows that an operation changes. The triple's key is in
// SPO. The ranges are the rows that begin with its subject and predicate, and with its
// predicate and object.
func affected(key []byte) (ranges [2]triple.Range, err error) {
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		return ranges, err
	}
	pos := triple.AppendKeyOf(nil, triple.POS, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], nil)
	for i, key := range [2][]byte{key, pos} {
		pair, ok := triple.KeyPair(key)
		if !ok {
			return ranges, fmt.Errorf("%w: a key of a triple without two terms", triple.ErrCorrupt)
		}
		ranges[i] = PairRange(pair)
	}
	return ranges, nil
}

// PairRange returns the range of the keys that begin with an order and two terms; see
// triple.KeyPair.
func PairRange(pair []byte) triple.Range {
	both := make([]byte, 0, 2*(len(pair)+2))
	both = append(append(both, pair...), 0, 1)
	n := len(both)
	both = append(append(both, pair...), 0, 2)
	return triple.Range{Lo: both[:n:n], Hi: both[n:]}
}

// copy copies a range that is not copied yet.
func (c *Copies) copy(ctx context.Context, v *view.View, h *held, whole triple.Range) error {
	// 1. If old copies have the same rows, they must not cover the range any more.
	rest := whole
	c.mu.Lock()
	for _, old := range c.old { // a range that has come back
		if old.id == h.id {
			old.covered = old.covered.without(cover{whole}).cutFrom(old.covered)
		}
	}
	c.mu.Unlock()
	// 2. Delete leftovers, and copy piece by piece. A piece is covered only when its rows are
	// written.
	if err := c.shelf.replace(h.id, cover{whole}, nil); err != nil {
		return err
	}
	for {
		rows, done, at, err := c.pull(ctx, v.Epoch, h.owner, []triple.Range{rest})
		if err != nil {
			return err
		}
		if err := c.shelf.replace(h.id, nil, rows); err != nil {
			return err
		}
		if done == 1 {
			at = rest.Hi
		} else if bytes.Compare(at, rest.Lo) <= 0 {
			return fmt.Errorf("machine %s does not get further than %q", h.owner, rest.Lo)
		}
		if err := c.extend(v, h, triple.Range{Lo: rest.Lo, Hi: at}); err != nil || done == 1 {
			return err
		}
		rest.Lo = at
		timer := time.NewTimer(copyPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// extend records that a range is copied. It fails if the view has changed since it was read.
func (c *Copies) extend(v *view.View, h *held, r triple.Range) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen != v.Epoch {
		return fmt.Errorf("%w: another view has come", store.ErrUnavailable)
	}
	h.covered = h.covered.with(r)
	return nil
}

// refresh copies again what operations have changed. Each range is replaced in one batch.
func (c *Copies) refresh(ctx context.Context, v *view.View, h *held, entries []replica.JournalEntry) error {
	// 1. Collect the covered ranges that the operations affect.
	var ranges []triple.Range
	for i := range entries {
		both, err := affected(entries[i].Key)
		if err != nil {
			return err
		}
		for _, r := range both {
			if h.covered.has(r) {
				ranges = append(ranges, r)
			} else if some := h.covered.and(cover{r}); len(some) > 0 { // a list that is cut in two
				ranges = append(ranges, some...)
			}
		}
	}
	ranges = newCover(ranges)
	// 2. Copy them in messages of limited size.
	for len(ranges) > 0 {
		part := ranges[:min(len(ranges), refreshed)]
		n, err := c.refreshSome(ctx, v, h, part)
		if err != nil {
			return err
		}
		ranges = ranges[n:]
	}
	return nil
}

// refreshSome copies the first of some ranges again, at least one. It returns their number.
func (c *Copies) refreshSome(ctx context.Context, v *view.View, h *held, ranges []triple.Range) (int, error) {
	rows, done, at, err := c.pull(ctx, v.Epoch, h.owner, ranges)
	if err != nil {
		return 0, err
	}
	size := bytesOf(rows)
	for done == 0 { // a long one must be complete before anything is replaced
		if at == nil || size > heldBack {
			return 1, c.drop(h, cover{ranges[0]})
		}
		more, n, next, err := c.pull(ctx, v.Epoch, h.owner, []triple.Range{{Lo: at, Hi: ranges[0].Hi}})
		if err != nil {
			return 0, err
		}
		size += bytesOf(more)
		if rows = append(rows, more...); n == 1 {
			done = 1
			break
		}
		if bytes.Compare(next, at) <= 0 {
			next = nil
		}
		at = next
	}
	// Replace the complete ranges in one batch. The rows of an incomplete last range are
	// dropped.
	whole := ranges[:done]
	last := whole[done-1]
	rows = slices.DeleteFunc(rows, func(r Row) bool { return bytes.Compare(r.Key, last.Hi) >= 0 })
	return done, c.shelf.replace(h.id, whole, rows)
}

func bytesOf(rows []Row) (n int) {
	for _, r := range rows {
		n += len(r.Key) + len(r.Value)
	}
	return n
}
