// How copies are kept up to date.

package copies

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// roundTime bounds how long members are waited for.
const roundTime = 5 * time.Second

// round brings all copies up to date: those of machines that are there.
func (c *Copies) round(ctx context.Context, v *view.View) error {
	if v == nil || len(v.Members) == 0 {
		return nil
	}
	if v.Phase == recovery.Ingest {
		return fmt.Errorf("%w: a bulk load is being taken in", node.ErrUnavailable)
	}
	wanted := c.wanted(v)
	c.follow(v)
	if err := c.retire(v, wanted); err != nil {
		return err
	}
	if len(wanted) == 0 {
		return nil
	}
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
func (c *Copies) ends(ctx context.Context, v *view.View) (map[trie.MachineID]node.JournalMark, error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	marks := make([]node.JournalMark, len(v.Members))
	errs := make([]error, len(v.Members))
	var asking sync.WaitGroup
	for i := range v.Members {
		asking.Go(func() { marks[i], errs[i] = c.member.JournalEnd(ctx, v.Epoch, v.Members[i].ID) })
	}
	asking.Wait()
	all := map[trie.MachineID]node.JournalMark{}
	for i := range v.Members {
		all[v.Members[i].ID] = marks[i]
	}
	return all, errors.Join(errs...)
}

// anewTime is for how long nothing is copied anew of a machine whose journal did not reach
// back, so that one whose journal is too short is not copied all the time.
const anewTime = 10 * time.Second

// update takes in what has changed of what one machine reads, and what is not copied yet.
// marks are the ends of journals before.
func (c *Copies) update(ctx context.Context, v *view.View, owner trie.MachineID, wanted cover, marks map[trie.MachineID]node.JournalMark) error {
	h := c.held[owner]
	if h == nil && time.Now().Before(c.later[owner]) {
		return fmt.Errorf("%w: it was copied a moment ago", node.ErrJournal)
	}
	if h != nil {
		entries, _, err := c.member.Journal(ctx, v.Epoch, owner, h.marks[owner])
		switch {
		case errors.Is(err, node.ErrJournal): // its process has begun again, or it took in a bulk load
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
	if h == nil {
		c.last++
		h = &held{owner: owner, id: c.last, busy: make(chan struct{}, 1), members: map[trie.MachineID]bool{}}
		h.restart(v, c.member.View(), marks)
		c.mu.Lock()
		if c.seen == v.Epoch {
			c.held[owner] = h
		}
		c.mu.Unlock()
	} else if h.restart(v, c.member.View(), marks); h.isBroken() {
		return fmt.Errorf("%w: a view was missed", node.ErrUnavailable)
	}
	if c.held[owner] != h {
		return fmt.Errorf("%w: another view has come", node.ErrUnavailable)
	}
	for _, r := range wanted.without(h.covered) {
		if err := c.copy(ctx, v, h, r); err != nil {
			return err
		}
	}
	return nil
}

// restart has copies begin at marks that were made under a view; now is the one that is
// adopted meanwhile.
func (h *held) restart(v, now *view.View, marks map[trie.MachineID]node.JournalMark) {
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
