// What views mean for copies: who keeps which, and who may have got what has changed.

package copies

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// wanted returns what this machine ought to copy, by who reads it.
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

// count returns how many machines copy what another one reads: as many losses are borne
// as those of triples, unless the options say otherwise.
func (c *Copies) count(v *view.View) int {
	if c.o.Copies == 0 {
		return max(v.Base.Copies, v.Target.Copies) - 1
	}
	return c.o.Copies
}

// Holders returns the members that copy what a machine reads, or read while it was a
// member, in the order in which they are to be asked.
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

// missedViews is how many epochs a view may be behind the one that was seen last: a machine
// that comes, is filled and goes, or a range that goes and comes back, takes more.
const missedViews = 3

// follow takes in a view: who may get operations under it, and who reads what was copied.
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

// each goes through all copies, those that are kept up to date first. It is called with
// c.mu.
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

// holders is on how many machines a triple is, where there are as many (package
// recovery).
const holders = 3

// follow notes who may get operations under a view, and under the next one. It is called
// with h.views.
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

// keptTime is for how long copies are kept that are not wanted any more, until others
// have made theirs.
const keptTime = 5 * time.Minute

// retire takes what is not wanted any more from copies that are kept up to date, and
// deletes what has been old for long. What a dead machine read stays until others read it.
func (c *Copies) retire(v *view.View, wanted map[trie.MachineID]cover) error {
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
		if h.covered, h.moved = kept, h.moved.without(moved); wanted[owner] == nil {
			delete(c.held, owner)
		}
		c.mu.Unlock()
	}
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
	for _, h := range slices.Clone(c.old) {
		if !h.isBroken() && (now.Before(h.until) || unread(h)) {
			continue
		}
		c.mu.Lock()
		c.old = slices.DeleteFunc(c.old, func(other *held) bool { return other == h })
		gone := h.covered
		h.covered = nil             // whoever has it from before is to find out
		for other := range c.each { // what has come back
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

// discard deletes copies that nobody can tell anything by any more.
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

// part returns copies of a part of what is covered, as they are.
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

// drop deletes a part of what is covered.
func (c *Copies) drop(h *held, gone cover) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.covered = h.covered.without(gone)
	return c.shelf.replace(h.id, gone, nil)
}
