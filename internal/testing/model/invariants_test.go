// The fifteen invariants of the protocol, by their numbers. Each is asserted after every step.

package model

import (
	"errors"
	"fmt"
)

// check returns the first invariant that the step from before broke.
func (s *model) check(before *cluster, a action) error {
	for i, holds := range invariants {
		if s.seenOnly && i+1 != 8 && i+1 != 9 && i+1 != 15 {
			continue
		}
		if err := holds(s, before, a); err != nil {
			return fmt.Errorf("invariant %d: %w", i+1, err)
		}
	}
	return nil
}

var invariants = [15]func(*model, *cluster, action) error{
	(*model).acknowledgedInBase,
	(*model).sweptIsExact,
	(*model).threeCopies,
	(*model).oneSequencer,
	(*model).writesReachReaders,
	(*model).leasesSpanTwo,
	(*model).noLeaseExcluded,
	(*model).servedIsFull,
	(*model).readsAreCommitted,
	(*model).purgesLeaveNothing,
	(*model).stampsGrow,
	(*model).emptyHasSource,
	(*model).doneIsSynced,
	(*model).setAsideStaysOut,
	(*model).loadIsWhole,
}

// has reports whether r is floor, the greatest settled operation on x, or newer,
// or a purge took it.
func (c *cluster) has(x int, r row) bool {
	return r.stamp() >= c.floor[x].stamp() || r == 0 && c.purged[x] >= c.floor[x].stamp()
}

// 1. An acknowledged operation, or a newer one on its triple, is in every live
// base slot. A machine that came back counts when the view is reconciled.
func (s *model) acknowledgedInBase(*cluster, action) error {
	c, v := &s.c, s.c.latest()
	for x := range s.triples {
		for m := range s.machines {
			for k := range kinds {
				if s.layouts[v.base].slots[x][m]>>k&1 == 0 || v.lost.has(x) || !c.isMember(v, m) || !s.baseLive(v, m, &s.rules) || c.machines[m].waits {
					continue
				}
				if r := c.machines[m].mem.rows[k][x]; !c.has(x, r) {
					return fmt.Errorf("%s of t%d on M%d is %v, acknowledged was %v", kindNames[k], x, m+1, r, c.floor[x])
				}
			}
		}
	}
	return nil
}

// 2. Idle and swept: the rows on each machine are exactly its slots'. That none
// is missing is 1.
func (s *model) sweptIsExact(*cluster, action) error {
	c := &s.c
	for m := range s.machines {
		n, v := &c.machines[m], c.viewOf(m)
		if !n.up || v == nil || !c.isMember(v, m) || v.phase != idle || !n.swept {
			continue
		}
		for x := range s.triples {
			for k := range kinds {
				if n.mem.rows[k][x] != 0 && s.layouts[v.base].slots[x][m]>>k&1 == 0 {
					return fmt.Errorf("machine M%d has swept and holds %s of t%d", m+1, kindNames[k], x)
				}
			}
		}
	}
	return nil
}

// 3. Idle: each triple is on min(3, members) distinct machines. Spares are
// members that hold nothing.
func (s *model) threeCopies(*cluster, action) error {
	v := s.c.latest()
	if v.phase != idle {
		return nil
	}
	for x := range s.triples {
		if l := &s.layouts[v.base]; l.holdersOf(x).len() < min(3, l.holders.len()) {
			return fmt.Errorf("t%d is on %d machines of %d", x, l.holdersOf(x).len(), l.holders.len())
		}
	}
	return nil
}

// 4. One sequencer per triple and epoch; stamps are unique.
func (s *model) oneSequencer(*cluster, action) error {
	for i := range s.c.ops {
		for j := range i {
			a, b := &s.c.ops[i], &s.c.ops[j]
			if !a.used || !b.used || a.triple != b.triple {
				continue
			}
			if a.stamp == b.stamp {
				return fmt.Errorf("two operations on t%d have stamp %v", a.triple, a.stamp)
			}
			if a.stamp>>seqBits == b.stamp>>seqBits && (a.born != b.born || a.inc != b.inc) {
				return fmt.Errorf("machines M%d and M%d both stamp t%d in epoch %d", a.born+1, b.born+1, a.triple, a.stamp>>seqBits)
			}
		}
	}
	return nil
}

// 5. The write set of an epoch contains the live readers of the one before.
func (s *model) writesReachReaders(before *cluster, _ action) error {
	if before.last == s.c.last {
		return nil
	}
	old, v := before.latest(), s.c.latest()
	for x := range s.triples {
		for k := spo; k <= osp; k++ {
			m := s.reader(old, x, k, &s.rules)
			if m < 0 || v.lost.has(x) || !v.members.has(m) || v.inc[m] != old.inc[m] {
				continue
			}
			if s.write(v, x, m, &s.rules)>>k&1 == 0 {
				return fmt.Errorf("machine M%d answers for %s of t%d in epoch %d and is not written in %d", m+1, kindNames[k], x, before.last, s.c.last)
			}
		}
	}
	return nil
}

// 6. Live leases span two adjacent epochs at most.
func (s *model) leasesSpanTwo(*cluster, action) error {
	for m := range s.machines {
		if n := &s.c.machines[m]; n.up && n.lease && n.epoch+1 < s.c.last {
			return fmt.Errorf("machine M%d has a lease for epoch %d in epoch %d", m+1, n.epoch, s.c.last)
		}
	}
	return nil
}

// 7. No lease outlives an exclusion.
func (s *model) noLeaseExcluded(*cluster, action) error {
	for m := range s.machines {
		if n := &s.c.machines[m]; n.up && n.lease && !s.c.isMember(s.c.latest(), m) {
			return fmt.Errorf("machine M%d is excluded and has a lease", m+1)
		}
	}
	return nil
}

// answers calls yield with every answer that a reader could get now.
func (s *model) answers(yield func(m, x, k int, r row) error) error {
	for m := range s.machines {
		if n := &s.c.machines[m]; !n.up || !n.lease {
			continue
		}
		for x := range s.triples {
			for k := spo; k <= osp; k++ {
				if r, ok := s.answer(&s.c, m, x, k); ok {
					if err := yield(m, x, k, r); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// 8. A segment that is served is full: nothing settled is missing in an answer.
func (s *model) servedIsFull(*cluster, action) error {
	return s.answers(func(m, x, k int, r row) error {
		if !s.c.has(x, r) {
			return fmt.Errorf("machine M%d answers %v for %s of t%d, settled is %v", m+1, r, kindNames[k], x, s.c.floor[x])
		}
		return nil
	})
}

// 9. Reads return settled operations only.
func (s *model) readsAreCommitted(*cluster, action) error {
	return s.answers(func(m, x, k int, r row) error {
		if r.stamp() > s.c.floor[x].stamp() && r.stamp() != s.c.loadStamp {
			return fmt.Errorf("machine M%d answers %v for %s of t%d, which is not settled", m+1, r, kindNames[k], x)
		}
		return nil
	})
}

// 10. At a purge no older stamp exists outside set-aside disks, and what is
// purged is settled.
func (s *model) purgesLeaveNothing(_ *cluster, a action) error {
	if a.kind != purge {
		return nil
	}
	// No tombstone may be purged before it is committed, or while an older row or operation is
	// left.
	c, v := &s.c, s.c.latest()
	for x := range s.triples {
		if c.purged[x] > c.floor[x].stamp() {
			return fmt.Errorf("tombstone %v of t%d is purged before it is settled", c.purged[x], x)
		}
		for m := range s.machines {
			n := &c.machines[m]
			if !v.members.has(m) {
				continue
			}
			for k := range kinds {
				if r := max(n.mem.rows[k][x]); r != 0 && r.stamp() < c.purged[x] {
					return fmt.Errorf("tombstone %v of t%d is purged, M%d has %v", c.purged[x], x, m+1, r)
				}
			}
			for i := range c.ops {
				o := &c.ops[i]
				if o.used && int(o.triple) == x && o.stamp < c.purged[x] &&
					(n.mem.inFlight>>i&1 == 1 && !o.ever || !o.committed && int(o.driver) == m && o.dri == n.inc) {
					return fmt.Errorf("tombstone %v of t%d is purged, operation %v is not settled", c.purged[x], x, o.stamp)
				}
			}
		}
	}
	return nil
}

// 11. Stored stamps never decrease, ingests included. Sweeps, purges, set-aside
// stores and broken disks are not stores of a row.
func (s *model) stampsGrow(before *cluster, a action) error {
	for m := range s.machines {
		old, n := &before.machines[m], &s.c.machines[m]
		if !old.up || !n.up || old.inc != n.inc {
			continue
		}
		for k := range kinds {
			for x := range s.triples {
				r, was := n.mem.rows[k][x], old.mem.rows[k][x]
				if r.stamp() < was.stamp() && !(r == 0 && (a.kind == sweep || a.kind == purge)) {
					return fmt.Errorf("%s of t%d on M%d goes from %v back to %v", kindNames[k], x, m+1, was, r)
				}
			}
		}
	}
	return nil
}

// 12. Every empty target slot has a live source that has the row, or LOST is set.
func (s *model) emptyHasSource(*cluster, action) error {
	c, v := &s.c, s.c.latest()
	if v.phase != fill {
		return nil
	}
	for x := range s.triples {
		for m := range s.machines {
			for k := range kinds {
				if s.layouts[v.target].slots[x][m]>>k&1 == 0 || v.lost.has(x) || !c.isMember(v, m) || c.machines[m].waits || c.has(x, c.machines[m].mem.rows[k][x]) {
					continue
				}
				from := s.sender(v, x, m, k, &s.rules)
				if from < 0 {
					return fmt.Errorf("no member fills %s of t%d on M%d", kindNames[k], x, m+1)
				}
				if n := &c.machines[from]; c.isMember(v, from) && !n.waits && !c.has(x, n.mem.best(x)) {
					return fmt.Errorf("machine M%d is to fill %s of t%d on M%d and has not %v", from+1, kindNames[k], x, m+1, c.floor[x])
				}
			}
		}
	}
	return nil
}

// 13. done implies fsynced.
func (s *model) doneIsSynced(*cluster, action) error {
	c, v := &s.c, s.c.latest()
	for m := range s.machines {
		n := &c.machines[m]
		if v.phase != fill || !n.done || n.epoch != c.last || !c.isMember(v, m) {
			continue
		}
		for x := range s.triples {
			for to := range s.machines {
				d := &c.machines[to]
				owed := s.owedRows(v, m, x, to, &s.rules)
				for k := range kinds {
					if owed>>k&1 == 1 && c.isMember(v, to) && d.synced.rows[k][x].stamp() < n.snap[x].stamp() {
						return fmt.Errorf("machine M%d is done, %s of t%d on M%d is not synced", m+1, kindNames[k], x, to+1)
					}
				}
			}
		}
	}
	return nil
}

// 14. Rows set aside introduce nothing: no row from before a purge is back.
func (s *model) setAsideStaysOut(*cluster, action) error {
	for m := range s.machines {
		n := &s.c.machines[m]
		if !s.c.isMember(s.c.latest(), m) {
			continue
		}
		for x := range s.triples {
			if r := n.mem.best(x); r != 0 && r.stamp() < s.c.purged[x] {
				return fmt.Errorf("machine M%d has %v of t%d, which was deleted at %v and purged", m+1, r, x, s.c.purged[x])
			}
		}
	}
	return nil
}

var errHalfVisible = errors.New("a load is visible in one answer and not in another")

// 15. A load is wholly visible or wholly invisible at any instant.
func (s *model) loadIsWhole(*cluster, action) error {
	shown, hidden := false, false
	if s.c.loadStamp == 0 {
		return nil
	}
	_ = s.answers(func(_, x, _ int, r row) error {
		if r.stamp() >= s.c.loadStamp || r == 0 && s.c.purged[x] >= s.c.loadStamp {
			shown = true
		} else {
			hidden = true
		}
		return nil
	})
	if shown && hidden {
		return errHalfVisible
	}
	return nil
}
