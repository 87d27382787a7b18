// Effects of views on copies: which machine keeps which, and which may have got operations.

package copies

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// wanted returns the ranges that this machine must copy, by their readers.
func (c *Copies) wanted(v *view.View) map[trie.MachineID]cover {
	self := c.member.MachineID()
	mine := map[trie.MachineID]bool{}
	parts := map[trie.MachineID][]triple.Range{}
	joint := v.Joint()
	for _, asked := range c.o.Ranges {
		for s := range joint.Reads().Trie.Range(asked.Lo, asked.Hi) {
			owner, live := joint.ReaderOf(s)
			if !live || v.Find(owner) == nil {
				continue
			}
			if _, ok := mine[owner]; !ok {
				mine[owner] = slices.Contains(Holders(v, owner, c.count(v)), self)
			}
			if mine[owner] {
				parts[owner] = append(parts[owner], asked.Intersect(triple.Range{Lo: s.Lo, Hi: s.Hi}))
			}
		}
	}
	wanted := map[trie.MachineID]cover{}
	for owner, ranges := range parts {
		wanted[owner] = newCover(ranges)
	}
	return wanted
}

// count returns the number of machines that copy another one's rows. Lists survive the same
// losses as triples, unless the options set another number.
func (c *Copies) count(v *view.View) int {
	if c.o.Copies == 0 {
		return max(v.Base.Copies, v.Target.Copies) - 1
	}
	return c.o.Copies
}

// Holders returns the members that copy a machine's rows, or did while it was a member. They
// must be called in this order.
func Holders(v *view.View, owner trie.MachineID, copies int) []trie.MachineID {
	ids := make([]trie.MachineID, 0, len(v.Members))
	for i := range v.Members {
		ids = append(ids, v.Members[i].ID)
	}
	var holders []trie.MachineID
	for m := range trie.NewRing(ids...).After(owner) {
		if len(holders) == copies {
			break
		}
		if m != owner {
			holders = append(holders, m)
		}
	}
	return holders
}

// missedViews is the number of epochs that may be skipped. It is safe because more are needed
// for a machine to join, fill and leave, or for a range to move away and back.
const missedViews = 3

// follow takes in a view: the machines that may get operations under it, and ranges that moved.
func (c *Copies) follow(v *view.View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.Epoch <= c.seen {
		return
	}
	missed := c.seen != 0 && v.Epoch > c.seen+missedViews
	c.seen = v.Epoch
	wanted := c.wanted(v)
	for _, h := range c.held {
		h.moved = newCover(append(h.moved, h.covered.without(wanted[h.owner])...))
	}
	for h := range c.each {
		h.views.Lock()
		h.broken = h.broken || missed
		h.follow(v)
		h.views.Unlock()
	}
}

// each yields all copies, those that are kept up to date first. c.mu must be held.
func (c *Copies) each(do func(*held) bool) {
	for _, h := range c.held {
		if !do(h) {
			return
		}
	}
	for _, h := range slices.Backward(c.old) {
		if !do(h) {
			return
		}
	}
}

// holders is the number of machines that hold a triple if the cluster has that many (package
// recovery).
const holders = 3

// follow records the machines that may get operations under a view, and under the next one.
// h.views must be held.
func (h *held) follow(v *view.View) {
	for i := range v.Members {
		h.members[v.Members[i].ID] = true
	}
	joint := v.Joint()
	h.fewest = min(h.fewest, len(v.Members))
	for _, layout := range []recovery.Layout{joint.Base, joint.Target} {
		machines := layout.Placement.Machines()
		for _, m := range machines {
			h.members[m] = true
		}
		h.fewest = min(h.fewest, len(machines))
	}
}

// keptTime is the time for which unwanted copies are kept, because others must make theirs
// first.
const keptTime = 5 * time.Minute

// retire removes unwanted ranges from current copies, and deletes copies that have been old for
// long. If the reader of a range is down, its copies stay until another machine reads it.
func (c *Copies) retire(v *view.View, wanted map[trie.MachineID]cover) error {
	// 1. Move unwanted ranges of current copies to old copies.
	now := time.Now()
	for owner, h := range maps.Clone(c.held) { // only this goroutine changes the map
		if h.isBroken() {
			if err := c.discard(h); err != nil {
				return err
			}
			continue
		}
		c.mu.RLock()
		moved := h.moved
		still := wanted[owner].without(moved)
		kept := h.covered.and(still).cutFrom(h.covered)
		gone := h.covered.without(still).cutFrom(h.covered)
		c.mu.RUnlock()
		// Nothing is unwanted: the copies stay as they are.
		if len(moved) == 0 && kept.equal(h.covered) && wanted[owner] != nil {
			continue
		}
		var old *held
		if len(gone) > 0 {
			old = h.part(gone, now.Add(keptTime))
		}
		c.mu.Lock()
		if old != nil {
			c.old = append(c.old, old)
		}
		// Both change under one lock, because a look-up must always find the range.
		if h.covered, h.moved = kept, h.moved.without(moved); wanted[owner] == nil {
			delete(c.held, owner)
		}
		c.mu.Unlock()
	}
	// 2. Find the old copies whose ranges have no live reader.
	joint := v.Joint()
	unread := func(h *held) bool {
		for _, r := range h.covered {
			for s := range joint.Reads().Trie.Range(r.Lo, r.Hi) {
				if _, live := joint.ReaderOf(s); !live {
					return true
				}
			}
		}
		return false
	}
	// 3. Delete the other ones when their time is over.
	for _, h := range slices.Clone(c.old) {
		if !h.isBroken() && (now.Before(h.until) || unread(h)) {
			continue
		}
		c.mu.Lock()
		c.old = slices.DeleteFunc(c.old, func(other *held) bool { return other == h })
		gone := h.covered
		h.covered = nil             // a call that still holds it must notice
		for other := range c.each { // ranges that have come back
			if other.id == h.id {
				gone = gone.without(other.covered)
			}
		}
		c.mu.Unlock()
		if err := c.shelf.replace(h.id, gone, nil); err != nil {
			return err
		}
	}
	return nil
}

func (h *held) isBroken() bool {
	h.views.Lock()
	defer h.views.Unlock()
	return h.broken
}

// discard deletes copies that cannot be used any more.
func (c *Copies) discard(h *held) error {
	c.mu.Lock()
	gone := h.covered
	h.covered = nil
	delete(c.held, h.owner)
	for other := range c.each {
		if other.id == h.id {
			gone = gone.without(other.covered)
		}
	}
	c.mu.Unlock()
	return c.shelf.replace(h.id, gone, nil)
}

// part returns copies of a part of the covered ranges, with the same marks and changes.
func (h *held) part(of cover, until time.Time) *held {
	_ = h.lock(context.Background())
	defer h.unlock()
	h.views.Lock()
	defer h.views.Unlock()
	changed := map[string]map[string]Change{}
	for lo, keys := range h.changed {
		changed[lo] = maps.Clone(keys)
	}
	return &held{
		owner: h.owner, id: h.id, covered: of, until: until, busy: make(chan struct{}, 1),
		marks: h.marks, epoch: h.epoch, shown: h.shown, members: maps.Clone(h.members), fewest: h.fewest, broken: h.broken,
		read: maps.Clone(h.read), changed: changed, changes: h.changes,
	}
}

// drop deletes a part of the covered ranges.
func (c *Copies) drop(h *held, gone cover) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.covered = h.covered.without(gone)
	return c.shelf.replace(h.id, gone, nil)
}

// Views are the views that a machine adopts.
type Views interface {
	MachineID() trie.MachineID
	// View returns the adopted view; nil if there is none yet.
	View() *view.View
	// Changed returns a channel that is closed when another view is adopted.
	Changed() <-chan struct{}
	// MayAnswer is that of cluster.Node.
	MayAnswer(epoch uint64) error
}
