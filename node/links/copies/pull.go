package copies

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// copyPause is between two messages of a copy that is made: it may take its time.
	copyPause = 5 * time.Millisecond
	// refreshed is how many ranges one message asks for.
	refreshed = 1 << 10
	// heldBack bounds the bytes of rows of one range that are kept until it is whole.
	heldBack = 256 << 20
)

// affected returns the ranges of copied rows that an operation on the triple with a key
// in SPO changes: those of the rows that begin with its subject and predicate, and with
// its predicate and object.
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
	rest := whole
	c.mu.Lock()
	for _, old := range c.old { // a range that has come back
		if old.id == h.id {
			old.covered = old.covered.without(cover{whole}).cutFrom(old.covered)
		}
	}
	c.mu.Unlock()
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

// extend notes that a range is copied, which was read under a view.
func (c *Copies) extend(v *view.View, h *held, r triple.Range) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen != v.Epoch {
		return fmt.Errorf("%w: another view has come", node.ErrUnavailable)
	}
	h.covered = h.covered.with(r)
	return nil
}

// refresh copies again what operations have changed. Each range is replaced at once.
func (c *Copies) refresh(ctx context.Context, v *view.View, h *held, entries []node.JournalEntry) error {
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

// refreshSome copies the first of some ranges again, one at least.
func (c *Copies) refreshSome(ctx context.Context, v *view.View, h *held, ranges []triple.Range) (int, error) {
	rows, done, at, err := c.pull(ctx, v.Epoch, h.owner, ranges)
	if err != nil {
		return 0, err
	}
	size := bytesOf(rows)
	for done == 0 { // a long one: all of it is had before anything is replaced
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
