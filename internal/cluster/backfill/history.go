// The progress of backfills of earlier epochs, because the next one must not begin anew.

package backfill

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// position is a place in a backfill: before a row, in the order of its pass. The zero position is
// before all of them.
type position struct {
	table int // 0: storage, 1: replica, 2: behind the last row
	key   []byte
}

func (p position) clone() position { return position{p.table, bytes.Clone(p.key)} }

func compare(a, b position) int {
	return cmp.Or(cmp.Compare(a.table, b.table), bytes.Compare(a.key, b.key))
}

func positionOf(table byte, key []byte) position {
	if table == store.TableReplica {
		return position{1, key}
	}
	return position{0, key}
}

// passProgress is the progress of the backfill of one view. Each row before a machine's position in
// until has arrived at the machine, if it was owed to it. rest is the position of the other
// machines, because no row before it was owed to them.
type passProgress struct {
	view  *view.View
	until map[trie.MachineID]position
	rest  position
}

func (s *passProgress) positionOf(m trie.MachineID) position {
	if p, ok := s.until[m]; ok {
		return p
	}
	return s.rest
}

// covers reports whether s came as far as o for every machine.
func (s *passProgress) covers(o *passProgress) bool {
	for id := range s.until {
		if compare(s.positionOf(id), o.positionOf(id)) < 0 {
			return false
		}
	}
	for id := range o.until {
		if compare(s.positionOf(id), o.positionOf(id)) < 0 {
			return false
		}
	}
	return compare(s.rest, o.rest) >= 0
}

// merge adds the progress of another backfill of the same view.
func (s *passProgress) merge(o *passProgress) {
	until := map[trie.MachineID]position{}
	for _, ids := range []map[trie.MachineID]position{s.until, o.until} {
		for id := range ids {
			until[id] = maxPosition(s.positionOf(id), o.positionOf(id))
		}
	}
	s.until, s.rest = until, maxPosition(s.rest, o.rest)
}

func maxPosition(a, b position) position {
	if compare(a, b) < 0 {
		return b
	}
	return a
}

// maxHistory bounds how many epochs are looked back: each costs time for each row.
const maxHistory = 16

// history is the progress in consecutive epochs, all of phase fill with this machine as a
// member, the newest last. It is one process's, because only its memory has the arrivals.
type history []passProgress

// begin returns the history with v as the newest view, without progress. If an epoch is missing,
// the progress before is dropped, because a machine may have deleted the sent rows in idle, or
// have missed writes while it held no place.
func (h history) begin(v *view.View) history {
	if v.Phase != recovery.Fill {
		return nil
	}
	if n := len(h); n > 0 {
		last := h[n-1].view
		if last.Generation != v.Generation || last.Epoch+1 != v.Epoch {
			h = nil
		}
	}
	h = append(slices.Clip(h), passProgress{view: v})
	return h[max(0, len(h)-maxHistory):]
}

// record returns the history with the progress in the newest view.
func (h history) record(s passProgress) history {
	n := len(h)
	if n == 0 || h[n-1].view != s.view {
		return h
	}
	s.merge(&h[n-1]) // of a backfill of the same view that failed
	out := history{}
	for _, o := range h[:n-1] {
		if len(out) > 0 || !s.covers(&o) { // those between must stay: see arrived
			out = append(out, o)
		}
	}
	return append(out, s)
}

// earlierPasses checks rows against earlier backfills, one row after the other.
type earlierPasses struct {
	self      trie.MachineID
	now       *view.View
	history   history
	resolvers []*recovery.Resolver
	resolved  bool // for the row that is queried
}

func newEarlierPasses(self trie.MachineID, now *view.View, h history) *earlierPasses {
	e := &earlierPasses{self: self, now: now, history: h}
	for i := range h {
		e.resolvers = append(e.resolvers, h[i].view.Joint().Resolver())
	}
	return e
}

// reset begins with another row.
func (e *earlierPasses) reset() { e.resolved = false }

// arrived reports whether place s of target has the row that r has resolved. The row is at a
// position, in place from of this machine. s has it if three conditions hold:
//
//   - This process has sent it there in an earlier epoch, from the same row, because positions are
//     of rows. The triple had the same places of base then.
//   - The machine has run since, because it may not have synced the row.
//   - s was a place of target in every epoch since, because then it got all later writes.
//
// The row is durable when the machine has synced, as at the end of each backfill.
func (e *earlierPasses) arrived(at position, r *recovery.Resolver, from, s recovery.Place) bool {
	for i := range e.history {
		h := &e.history[i]
		if compare(at, h.positionOf(s.Machine)) >= 0 {
			continue
		}
		if !e.resolve(r.Key(triple.SPO)) {
			return false
		}
		if !slices.Equal(e.resolvers[i].Base(), r.Base()) || !slices.Contains(e.resolvers[i].Fills(from), s) {
			continue
		}
		if e.stayed(i, s) {
			return true
		}
	}
	return false
}

// stayed reports whether a place was a target in all epochs from one on, of one process.
func (e *earlierPasses) stayed(from int, s recovery.Place) bool {
	is := e.now.Find(s.Machine)
	for i := from; i < len(e.history); i++ {
		was := e.history[i].view.Find(s.Machine)
		if is == nil || was == nil || was.Incarnation != is.Incarnation || !slices.Contains(e.resolvers[i].Target(), s) {
			return false
		}
	}
	return true
}

func (e *earlierPasses) resolve(version []byte) bool {
	if e.resolved {
		return true
	}
	for _, r := range e.resolvers {
		if r.Resolve(version) != nil {
			return false
		}
	}
	e.resolved = true
	return true
}
