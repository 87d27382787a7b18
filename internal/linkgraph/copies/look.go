// Look-ups: rows of copies, and what changed since they were made.

package copies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Found is what the copies have of a range.
type Found struct {
	// Known is set if the range is copied.
	Known bool
	// Later is set if there was no room for the rows: the caller must ask for fewer ranges.
	Later bool
	Rows  []Row
	// Changed are the triples that were, or may have been, added or deleted since the rows were
	// made. Their present state counts.
	Changed []Change
}

// Change is the last known operation on a triple.
type Change struct {
	Key     []byte // in SPO
	Deleted bool
	Stamp   triple.Stamp
	// Settled is set if that operation is known to be committed. If not, the present state of
	// the triple must be looked up.
	Settled bool
}

// gatherTime bounds the wait for journals.
const gatherTime = 2 * time.Second

// begins returns the lower bound of all keys that begin with the two terms of a key. If the key
// has fewer terms, it is returned.
func begins(key []byte) []byte {
	if pair, ok := triple.KeyPair(key); ok {
		return PairRange(pair).Lo
	}
	return key
}

// Look returns what the copies have of ranges. They must ascend. Each must be all keys that
// begin with the same two terms ([PairRange]), or those that one machine has read. With
// Changed, the result has everything that was acknowledged before the call, and maybe more of
// the keys with the same terms. The caller owns the rows. The error is store.ErrUnavailable if
// too few journals can be read.
func (c *Copies) Look(ctx context.Context, epoch uint64, ranges []triple.Range) ([]Found, error) {
	v := c.member.View()
	if v == nil || v.Epoch != epoch {
		return nil, fmt.Errorf("%w: epoch %d is not the adopted one", store.ErrUnavailable, epoch)
	}
	// 1. Find the copies that cover the ranges.
	found := make([]Found, len(ranges))
	of := c.holding(ranges)
	// 2. Read the journals before the rows, because a row may then only be newer than a change.
	changed := make([]map[string]Change, len(ranges))
	for h, pieces := range of {
		err := c.gather(ctx, v, h, func() {
			for _, p := range pieces {
				for key, now := range h.changed[string(begins(ranges[p.item].Lo))] {
					// An operation stamped before the epoch of the marks may have come after
					// the copy was made, because another sequencer may have driven it again.
					now.Settled = now.Settled && now.Stamp.Epoch >= h.epoch
					if changed[p.item] == nil {
						changed[p.item] = map[string]Change{}
					}
					note(changed[p.item], key, now)
				}
			}
		})
		if err != nil && c.ctx.Err() != nil {
			return nil, errClosed // Close has cancelled the wait of gather
		}
		if err != nil {
			return nil, err
		}
	}
	// 3. Read the rows, and check the lease last: it must hold after every read.
	for i := range found {
		found[i].Changed = slices.Collect(maps.Values(changed[i]))
	}
	if err := c.read(ctx, of, found); err != nil {
		return nil, err
	}
	if err := c.member.MayAnswer(epoch); err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return found, nil
}

// piece is a part of a requested range.
type piece struct {
	triple.Range
	item int
}

// holding returns the copies that have pieces of ranges. If a range is not copied as a whole,
// none of its pieces are returned.
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

// reaching returns the copies that extend furthest from the beginning of a range, and their
// end; nil if there are none. c.mu must be held.
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

// read reads the rows of pieces, if they are still covered. Changes were gathered before. If
// rows are newer than these, that does no harm.
func (c *Copies) read(ctx context.Context, of map[*held][]piece, found []Found) error {
	c.mu.RLock()
	// 1. The lock is held for the whole read, so that coverage cannot change.
	defer c.mu.RUnlock()
	if c.shelf == nil {
		return errClosed
	}
	total := 0
	for h, pieces := range of {
		ranges := make([]triple.Range, len(pieces))
		for i, p := range pieces {
			if !h.covered.has(p.Range) {
				return fmt.Errorf("%w: copies are being put in order for another view", store.ErrUnavailable)
			}
			found[p.item].Known = true
			ranges[i] = h.covered.reaches(p.Range) // other rows there are right, too
		}
		// 2. Read the rows, up to lookBytes. A range without room is marked as Later.
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

// lookBytes is about the greatest size of rows that one call reads.
const lookBytes = 16 << 20

// maxChanges is the number of changes that are kept since copies were made.
const maxChanges = 1 << 20

// gather reads the journals of enough members, as they are after the start of the call. If that
// succeeds, it calls then with the lock of h held.
func (c *Copies) gather(ctx context.Context, v *view.View, h *held, then func()) error {
	ctx, cancel := context.WithTimeout(ctx, gatherTime)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	c.follow(v)
	// 1. Wait for other calls on these copies. A reading that began after this call may serve
	// it.
	before := h.gathers.Load()
	if err := h.lock(ctx); err != nil {
		return fmt.Errorf("%w: journals are being read: %w", store.ErrUnavailable, err)
	}
	defer h.unlock()
	// 2. Reject if the copies cannot be complete.
	h.views.Lock()
	members, fewest, broken := len(h.members), h.fewest, h.broken
	h.views.Unlock()
	switch {
	case broken:
		return fmt.Errorf("%w: a view was missed since copies were made", store.ErrUnavailable)
	case h.shown != v.Shown():
		return fmt.Errorf("%w: a bulk load shows since copies were made", store.ErrUnavailable)
	case h.changes > maxChanges:
		return fmt.Errorf("%w: more than %d changes since copies were made", store.ErrUnavailable, maxChanges)
	}
	if h.gathered > before && h.gatheredIn == v.Epoch { // a concurrent call has done it, and began after this one
		then()
		return nil
	}
	number := h.gathers.Add(1)
	type answer struct {
		from trie.MachineID
		all  []replica.JournalEntry
		next replica.JournalMark
		err  error
	}
	// 3. Request all journals that have a mark, in parallel. The channel has room for all
	// answers, because late ones must not block their goroutines.
	answers := make(chan answer, len(v.Members))
	asked := 0
	var errs []error
	for i := range v.Members {
		id := v.Members[i].ID
		mark, ok := h.read[id]
		if !ok {
			continue // it joined later; other machines have everything that it got
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
	// 4. Wait for enough answers. At most fewest-1 may be missing, because then at least one
	// holder of each operation is among the answers.
	missing := members
	most := max(fewest, 1) - 1
	for ; asked > 0 && missing > most; asked-- {
		a := <-answers
		if a.err != nil {
			var refusal *peer.Refusal
			if errors.As(a.err, &refusal) && refusal.Code == peer.CodeEpoch && refusal.Epoch > v.Epoch {
				return fmt.Errorf("%w: machine %s has another view: %w", store.ErrUnavailable, a.from, a.err)
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
			if !a.all[i].Settled && upTo == a.next { // it is read again, because it will be committed later
				upTo.Number -= uint64(len(a.all) - i)
			}
		}
		h.read[a.from] = upTo
	}
	if missing > most {
		return fmt.Errorf("%w: %d of %d journals cannot be read: %w", store.ErrUnavailable, missing, members, errors.Join(errs...))
	}
	h.gathered, h.gatheredIn = number, v.Epoch
	then()
	return nil
}

// note adds an entry of a journal to the changes.
func (h *held) note(e *replica.JournalEntry) error {
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

// note adds a change. Only the latest change of a triple counts.
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
