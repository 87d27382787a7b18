// Reads at a tick.

package txmodel

func (s *system) beginRead(m, _ int) bool {
	o := s.issuer(m)
	if s.c.read.on || s.c.left.reads == 0 || o < 0 {
		return false
	}
	s.c.left.reads--
	s.c.read = reading{on: true, by: uint8(m), at: s.c.machines[o].oracle.issued}
	for x := range s.writes {
		if s.c.txns[x].acked || s.c.txns[x].read {
			s.c.read.floor |= 1 << x
		}
	}
	return true
}

func (s *system) endRead(_, _ int) bool {
	if !s.c.read.on {
		return false
	}
	s.c.read = reading{}
	return true
}

// readAt reads a triple from a place.
func (s *system) readAt(i, h int) bool {
	r, n := &s.c.read, &s.c.machines[h]
	if !r.on || !s.together(int(r.by), h) || !n.lease || !s.places(int(n.epoch), i).has(h) || !n.full.has(i) && !s.rules.ReadUnfilled {
		return false
	}
	o := s.issuer(int(r.by))
	if o < 0 {
		return false
	}
	oracle := &s.c.machines[o]
	seen := set(0)
	for x := range s.writes {
		if !n.has[i].has(x) {
			continue
		}
		// 1. Ask the oracle for outcomes that the place does not know.
		t := &s.c.txns[x]
		known := n.knows.has(x) || oracle.knows.has(x) && !s.rules.IgnoreIntents
		if known && t.aborted {
			continue
		}
		// 2. If the oracle's memory is younger than the snapshot, an earlier reader may have seen a
		// tick that is lost. So a query that meets such a row ends with an error.
		lost := t.snapshot.epoch <= r.at.epoch && r.at.epoch < oracle.oracle.memory && (!known || t.tick.epoch > r.at.epoch)
		if lost && !s.rules.ReadOldSnapshots {
			s.c.read = reading{}
			return true
		}
		if !known {
			continue // its tick will be a later one
		}
		if !r.at.before(t.tick) {
			seen |= 1 << x
		}
	}
	for x := range s.writes {
		if seen.has(x) {
			s.c.txns[x].read = true
			s.expose(x)
		}
	}
	if r.read.has(i) && r.seen[i] == seen {
		return false
	}
	r.discarded = r.discarded || r.read.has(i)
	r.read |= 1 << i
	r.seen[i] = seen
	return true
}
