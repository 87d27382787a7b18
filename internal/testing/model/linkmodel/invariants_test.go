// The invariants, checked after every step.

package linkmodel

import "fmt"

// countCopies notes how many copies of a partition may be lost, when all its holders have one. They
// must have adopted the newest view: under an older one, a holder may still drop its copy.
func (s *system) countCopies() {
	for p := range s.partitions {
		holders, full := s.holders(int(s.c.last), p), true
		for m := range s.machines {
			n := &s.c.machines[m]
			full = full && (!holders.has(m) || n.epoch == s.c.last && n.copies[p].stage == ready)
		}
		if full {
			s.c.margin[p] = uint8(holders.len())
		}
	}
}

// loseCopy counts a copy of a member that dies or is excluded.
func (s *system) loseCopy(m, p int) {
	if s.c.machines[m].copies[p].stage == ready && s.c.margin[p] > 0 {
		s.c.margin[p]--
	}
}

// check returns the first broken invariant.
func (s *system) check() error {
	for p := range s.partitions {
		if err := s.checkCopies(p); err != nil {
			return err
		}
	}
	if err := s.checkRead(); err != nil {
		return err
	}
	return s.checkUIDs()
}

// checkCopies checks the copies of one partition.
func (s *system) checkCopies(p int) error {
	touching := s.touching(p)
	acked, kept := s.acked(touching), 0
	for m := range s.machines {
		n := &s.c.machines[m]
		c := &n.copies[p]
		if c.stage != ready {
			continue
		}
		// Invariant 1: a copy has what the feed has before its position, or newer states.
		before := c.passed
		for i := range s.c.ops {
			if o := &s.c.ops[i]; touching.has(i) && o.status == committed && o.epoch < c.epoch {
				before |= 1 << i
			}
		}
		if !s.covers(c.has, before) {
			return fmt.Errorf("invariant 1: the copy of P%d on M%d lacks an operation before its position", p+1, m+1)
		}
		// Invariant 2: nothing in it was not committed.
		if c.has != s.committedOps(c.has) {
			return fmt.Errorf("invariant 2: the copy of P%d on M%d has what is not committed", p+1, m+1)
		}
		// Invariant 3: a copy that serves has all that is acknowledged.
		if c.serving && n.up && (n.lease || s.rules.ServeWithoutLease) && !s.covers(c.has, acked) {
			return fmt.Errorf("invariant 3: M%d serves P%d without an acknowledged operation", m+1, p+1)
		}
		if s.member(int(s.c.last), m) {
			kept++
		}
	}
	// Invariant 5: a partition keeps a copy while fewer are lost than it has holders.
	if kept == 0 && s.c.margin[p] > 0 {
		return fmt.Errorf("invariant 5: no member has a copy of P%d, and %d more could have been lost", p+1, s.c.margin[p])
	}
	return nil
}

// checkRead checks invariant 4: whatever machine answers a read now, it has all that was
// acknowledged before the read began.
func (s *system) checkRead() error {
	r := &s.c.read
	for m := range s.machines {
		if s.answers(m) && !s.covers(s.c.machines[m].copies[r.partition].has, r.floor) {
			return fmt.Errorf("invariant 4: M%d answers a read of P%d without an acknowledged operation", m+1, r.partition+1)
		}
	}
	return nil
}

// checkUIDs checks invariants 6 to 8.
func (s *system) checkUIDs() error {
	var of [maxPages]uint8
	alive := [maxPages]set{} // numbers that are committed or may still be
	for i := range s.c.ops {
		o := &s.c.ops[i]
		if o.number == 0 || o.status == gone {
			continue
		}
		if o.status == requested || o.status == committed || o.stored != 0 {
			alive[o.item] |= 1 << o.number
		}
		if o.status != committed {
			continue
		}
		// Invariant 6: a page has one UID.
		if was := of[o.item]; was != 0 && was != o.number {
			return fmt.Errorf("invariant 6: page %d has the UIDs %d and %d", o.item+1, was, o.number)
		}
		of[o.item] = o.number
	}
	for page, number := range of {
		// Invariant 7: a UID has one page.
		for other := range page {
			if number != 0 && of[other] == number {
				return fmt.Errorf("invariant 7: pages %d and %d have the UID %d", other+1, page+1, number)
			}
		}
		// Invariant 8: a number that was sent to a client is the page's UID for good.
		if told := s.c.told[page]; told != 0 && (number != 0 && number != told || !alive[page].has(int(told))) {
			return fmt.Errorf("invariant 8: page %d was given the UID %d and has not got it", page+1, told)
		}
	}
	return nil
}
