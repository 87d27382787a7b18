// Rounds: how copies are kept up to date.

package copies

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// roundTime bounds the wait for members.
const roundTime = 5 * time.Second

// round updates all copies of machines that are up.
func (c *Copies) round(ctx context.Context, v *view.View) error {
	// 1. During a bulk load nothing is copied.
	if v == nil || len(v.Members) == 0 {
		return nil
	}
	if v.Phase == recovery.Ingest {
		return fmt.Errorf("%w: a bulk load is being taken in", store.ErrUnavailable)
	}
	// 2. Retire the copies that are not wanted under this view.
	wanted := c.wanted(v)
	c.follow(v)
	if err := c.retire(v, wanted); err != nil {
		return err
	}
	if len(wanted) == 0 {
		return nil
	}
	// 3. Open the shelf when there is something to copy.
	if c.shelf == nil && c.o.Empty != nil {
		if empty, err := c.o.Empty(ctx); err != nil || empty {
			return err
		}
	}
	if c.shelf == nil {
		s, err := openShelf(c.o.FS, c.o.Dir)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.shelf = s
		c.mu.Unlock()
	}
	// 4. Take the ends of the journals before rows are read, because the marks must not be
	// newer than the rows.
	marks, err := c.ends(ctx, v)
	if err != nil {
		return err
	}
	var all error
	for owner, ranges := range wanted {
		if err := c.update(ctx, v, owner, ranges, marks); err != nil {
			all = errors.Join(all, fmt.Errorf("copy what machine %s reads: %w", owner, err))
		}
	}
	return all
}

// ends returns the ends of all members' journals.
func (c *Copies) ends(ctx context.Context, v *view.View) (map[trie.MachineID]replica.JournalMark, error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	marks := make([]replica.JournalMark, len(v.Members))
	errs := make([]error, len(v.Members))
	var asking sync.WaitGroup
	for i := range v.Members {
		asking.Go(func() { marks[i], errs[i] = c.member.JournalEnd(ctx, v.Epoch, v.Members[i].ID) })
	}
	asking.Wait()
	all := map[trie.MachineID]replica.JournalMark{}
	for i := range v.Members {
		all[v.Members[i].ID] = marks[i]
	}
	return all, errors.Join(errs...)
}

// anewTime is the time for which a machine is not copied from scratch after its journal did not
// reach back. It is there because a machine with a short journal must not be copied all the
// time.
const anewTime = 10 * time.Second

// update takes in the changes of one machine's rows, and copies missing ranges. marks are the
// ends of journals from before.
func (c *Copies) update(ctx context.Context, v *view.View, owner trie.MachineID, wanted cover, marks map[trie.MachineID]replica.JournalMark) error {
	// 1. Copy again what changed since the last round.
	h := c.held[owner]
	if h == nil && time.Now().Before(c.later[owner]) {
		return fmt.Errorf("%w: it was copied a moment ago", replica.ErrJournal)
	}
	if h != nil {
		entries, _, err := c.member.Journal(ctx, v.Epoch, owner, h.marks[owner])
		switch {
		case errors.Is(err, replica.ErrJournal): // it has restarted, or took in a bulk load
			if err := c.discard(h); err != nil {
				return err
			}
			if c.later[owner] = time.Now().Add(anewTime); h.shown == v.Shown() && h.marks[owner].Incarnation == marks[owner].Incarnation {
				return err
			}
			h = nil
		case err != nil:
			return err
		default:
			if err := c.refresh(ctx, v, h, entries); err != nil {
				return err
			}
		}
	}
	// 2. Move the marks. A new copy is registered only if the view is still the same.
	if h == nil {
		c.last++
		h = &held{owner: owner, id: c.last, busy: make(chan struct{}, 1), members: map[trie.MachineID]bool{}}
		// The view may have changed since the marks were taken, so both views count.
		h.restart(v, c.member.View(), marks)
		c.mu.Lock()
		if c.seen == v.Epoch {
			c.held[owner] = h
		}
		c.mu.Unlock()
	} else if h.restart(v, c.member.View(), marks); h.isBroken() {
		return fmt.Errorf("%w: a view was missed", store.ErrUnavailable)
	}
	// 3. Copy the ranges that are missing.
	if c.held[owner] != h {
		return fmt.Errorf("%w: another view has come", store.ErrUnavailable)
	}
	for _, r := range wanted.without(h.covered) {
		if err := c.copy(ctx, v, h, r); err != nil {
			return err
		}
	}
	return nil
}

// restart makes copies begin at marks from a view. now is the view that is adopted meanwhile.
func (h *held) restart(v, now *view.View, marks map[trie.MachineID]replica.JournalMark) {
	_ = h.lock(context.Background())
	defer h.unlock()
	h.marks, h.read, h.changed, h.changes = marks, maps.Clone(marks), map[string]map[string]Change{}, 0
	h.epoch, h.shown, h.gathered = v.Epoch, v.Shown(), 0
	h.views.Lock()
	defer h.views.Unlock()
	h.members, h.fewest = map[trie.MachineID]bool{}, holders
	h.follow(v)
	h.follow(now)
}
