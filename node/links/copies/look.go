package copies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Found is what the copies have of a range.
type Found struct {
	// Known reports whether the range is copied at all.
	Known bool
	// Later says that there was no room for the rows: ask again for fewer ranges.
	Later bool
	Rows  []Row
	// Changed are the triples that were added or deleted since the rows were made, or maybe
	// were: they count as they are now.
	Changed []Change
}

// Change is what became of a triple last.
type Change struct {
	Key     []byte // in SPO
	Deleted bool
	Stamp   triple.Stamp
	// Settled is whether that is known to be settled; if not, it is to be found out how the
	// triple is.
	Settled bool
}

// gatherTime bounds how long journals are waited for.
const gatherTime = 2 * time.Second

// begins returns the lower bound of all keys that begin with the two terms of a key; a key
// of less is returned.
func begins(key []byte) []byte {
	if pair, ok := triple.KeyPair(key); ok {
		return PairRange(pair).Lo
	}
	return key
}

// Look returns what the copies have of ranges, which ascend and are each keys that begin
// with the same two terms, all of them ([PairRange]) or those that one machine has read:
// with what Changed tells, all that was acknowledged before the call, and maybe more of
// the keys that begin so. Rows are the caller's. The error is node.ErrUnavailable where
// too few journals can be read to know that.
func (c *Copies) Look(ctx context.Context, epoch uint64, ranges []triple.Range) ([]Found, error) {
	v := c.member.View()
	if v == nil || v.Epoch != epoch {
		return nil, fmt.Errorf("%w: epoch %d is not the adopted one", node.ErrUnavailable, epoch)
	}
	found := make([]Found, len(ranges))
	of := c.holding(ranges)
	changed := make([]map[string]Change, len(ranges))
	for h, pieces := range of {
		err := c.gather(ctx, v, h, func() {
			for _, p := range pieces {
				for key, now := range h.changed[string(begins(ranges[p.item].Lo))] {
					// What was stamped before the epoch of the marks may have come after what the
					// copies have: driven again by another sequencer.
					now.Settled = now.Settled && now.Stamp.Epoch >= h.epoch
					if changed[p.item] == nil {
						changed[p.item] = map[string]Change{}
					}
					note(changed[p.item], key, now)
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for i := range found {
		found[i].Changed = slices.Collect(maps.Values(changed[i]))
	}
	if err := c.read(ctx, of, found); err != nil {
		return nil, err
	}
	if err := c.member.MayAnswer(epoch); err != nil {
		return nil, fmt.Errorf("%w: %w", node.ErrUnavailable, err)
	}
	return found, nil
}

// piece is a part of a range that is asked for.
type piece struct {
	triple.Range
	item int
}

// holding returns which copies have which pieces of ranges; none of those that are not
// copied as a whole.
func (c *Copies) holding(ranges []triple.Range) map[*held][]piece {
	c.mu.RLock()
	defer c.mu.RUnlock()
	of := map[*held][]piece{}
	for i, r := range ranges {
		var by []*held
		var pieces []piece
		for rest := r; !rest.Empty(); {
			h, upTo := c.reaching(rest)
			if h == nil {
				by = nil
				break
			}
			by, pieces = append(by, h), append(pieces, piece{triple.Range{Lo: rest.Lo, Hi: upTo}, i})
			rest.Lo = upTo
		}
		for j, h := range by {
			of[h] = append(of[h], pieces[j])
		}
	}
	return of
}

// reaching returns copies that have the beginning of a range, and up to where; nil where
// none have.
func (c *Copies) reaching(r triple.Range) (best *held, upTo []byte) {
	for h := range c.each {
		if part, ok := h.covered.at(r.Lo); ok && bytes.Compare(part.Hi, upTo) > 0 {
			best, upTo = h, part.Hi
		}
		if bytes.Compare(upTo, r.Hi) >= 0 {
			return best, r.Hi
		}
	}
	return best, upTo
}

// read reads the rows of pieces, if they are still covered. What has changed was asked for
// before: rows that are newer than that do no harm.
func (c *Copies) read(ctx context.Context, of map[*held][]piece, found []Found) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.shelf == nil {
		return errClosed
	}
	total := 0
	for h, pieces := range of {
		ranges := make([]triple.Range, len(pieces))
		for i, p := range pieces {
			if !h.covered.has(p.Range) {
				return fmt.Errorf("%w: copies are being put in order for another view", node.ErrUnavailable)
			}
			found[p.item].Known = true
			ranges[i] = h.covered.reaches(p.Range) // what else is there is right, too
		}
		err := c.shelf.read(ctx, h.id, ranges, func(i int, row Row) {
			f := &found[pieces[i].item]
			if f.Later = f.Later || total > lookBytes && len(f.Rows) == 0; f.Later {
				return
			}
			total += len(row.Key) + len(row.Value)
			f.Rows = append(f.Rows, Row{slices.Clone(row.Key), slices.Clone(row.Value)})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lookBytes is about how much of rows one call reads at most.
const lookBytes = 16 << 20

// maxChanges is how many changes are kept since copies were made.
const maxChanges = 1 << 20

// gather reads the journals of enough members, as of after the call, and calls then with
// the lock held.
func (c *Copies) gather(ctx context.Context, v *view.View, h *held, then func()) error {
	ctx, cancel := context.WithTimeout(ctx, gatherTime)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	c.follow(v)
	before := h.gathers.Load()
	if err := h.lock(ctx); err != nil {
		return fmt.Errorf("%w: journals are being read: %w", node.ErrUnavailable, err)
	}
	defer h.unlock()
	h.views.Lock()
	members, fewest, broken := len(h.members), h.fewest, h.broken
	h.views.Unlock()
	switch {
	case broken:
		return fmt.Errorf("%w: a view was missed since copies were made", node.ErrUnavailable)
	case h.shown != v.Shown():
		return fmt.Errorf("%w: a bulk load shows since copies were made", node.ErrUnavailable)
	case h.changes > maxChanges:
		return fmt.Errorf("%w: more than %d changes since copies were made", node.ErrUnavailable, maxChanges)
	}
	if h.gathered > before && h.gatheredIn == v.Epoch { // by somebody else, who began after the call
		then()
		return nil
	}
	number := h.gathers.Add(1)
	type answer struct {
		from trie.MachineID
		all  []node.JournalEntry
		next node.JournalMark
		err  error
	}
	answers := make(chan answer, len(v.Members))
	asked := 0
	var errs []error
	for i := range v.Members {
		id := v.Members[i].ID
		mark, ok := h.read[id]
		if !ok {
			continue // it came later; what it got others have too
		}
		asked++
		begun := c.begin(func() { // it may take longer than this call
			all, next, err := c.member.Journal(ctx, v.Epoch, id, mark)
			answers <- answer{id, all, next, err}
		})
		if !begun {
			return errClosed
		}
	}
	missing := members
	most := max(fewest, 1) - 1
	for ; asked > 0 && missing > most; asked-- {
		a := <-answers
		if a.err != nil {
			var refusal *peer.Refusal
			if errors.As(a.err, &refusal) && refusal.Code == peer.CodeEpoch && refusal.Epoch > v.Epoch {
				return fmt.Errorf("%w: machine %s has another view: %w", node.ErrUnavailable, a.from, a.err)
			}
			errs = append(errs, fmt.Errorf("machine %s: %w", a.from, a.err))
			continue
		}
		missing--
		upTo := a.next
		for i := range a.all {
			if err := h.note(&a.all[i]); err != nil {
				return err
			}
			if !a.all[i].Settled && upTo == a.next { // it is read again: it will be settled
				upTo.Number -= uint64(len(a.all) - i)
			}
		}
		h.read[a.from] = upTo
	}
	if missing > most {
		return fmt.Errorf("%w: %d of %d journals cannot be read: %w", node.ErrUnavailable, missing, members, errors.Join(errs...))
	}
	h.gathered, h.gatheredIn = number, v.Epoch
	then()
	return nil
}

// note takes in what a journal tells.
func (h *held) note(e *node.JournalEntry) error {
	both, err := affected(e.Key)
	if err != nil {
		return err
	}
	for _, r := range both {
		of := h.changed[string(r.Lo)]
		if of == nil {
			of = map[string]Change{}
			h.changed[string(r.Lo)] = of
		}
		before := len(of)
		note(of, string(e.Key), Change{e.Key, e.Deleted, e.Stamp, e.Settled})
		h.changes += len(of) - before
	}
	return nil
}

// note takes in a change, of which the latest of each triple counts.
func note(changes map[string]Change, key string, now Change) {
	before, ok := changes[key]
	switch {
	case ok && now.Stamp.Less(before.Stamp):
		return
	case ok && now.Stamp == before.Stamp:
		now.Settled = now.Settled || before.Settled
	}
	changes[key] = now
}
