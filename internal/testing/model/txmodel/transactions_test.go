// The route of a transaction.

package txmodel

func (s *system) begin(x, m int) bool {
	t, o := &s.c.txns[x], s.issuer(m)
	if t.begun || o < 0 || !s.c.machines[m].lease {
		return false
	}
	*t = txn{begun: true, coord: uint8(m), snapshot: s.c.machines[o].oracle.issued}
	return true
}

// driven reports whether a coordinator works on a transaction.
func (s *system) driven(x int) (m int, ok bool) {
	t := &s.c.txns[x]
	if !t.begun || t.coord == never {
		return 0, false
	}
	n := &s.c.machines[t.coord]
	return int(t.coord), n.up && n.epoch > 0 && !n.knows.has(x)
}

// submit gives a part to its sequencer, which accepts it or finds a conflict.
func (s *system) submit(x, i int) bool {
	t, p := &s.c.txns[x], &s.c.parts[x][i]
	m, ok := s.driven(x)
	if !ok || t.refused || !s.writes[x].has(i) {
		return false
	}
	q := s.sequencer(int(s.c.machines[m].epoch), i)
	n := &s.c.machines[q]
	if int(p.sequencer) == q || !s.together(m, q) || !n.lease || !n.full.has(i) || !n.reconciled && !s.rules.AcceptUnreconciled {
		return false
	}
	// 1. While another transaction's part is undecided, only an older transaction waits. Otherwise two
	// could wait for each other.
	for y := range s.writes {
		if y == x || !n.has[i].has(y) && int(s.c.parts[y][i].sequencer) != q {
			continue
		}
		if !n.knows.has(y) && !s.rules.AcceptOverIntent {
			t.refused = !s.older(x, y) && !s.rules.WaitAlways
			return t.refused
		}
		// 2. The first committer wins.
		if other := &s.c.txns[y]; n.knows.has(y) && other.committed() && t.snapshot.before(other.tick) && !s.rules.SkipConflicts {
			t.refused = true
			return true
		}
	}
	*p = part{sequencer: uint8(q)}
	return true
}

// older reports whether transaction x began before y.
func (s *system) older(x, y int) bool {
	a, b := s.c.txns[x].snapshot, s.c.txns[y].snapshot
	return a.before(b) || a == b && x < y
}

// store is the delivery of a part to a place. It carries the outcomes of the triple's earlier parts.
func (s *system) store(part, h int) bool {
	x, i := part/s.triples, part%s.triples
	p := &s.c.parts[x][i]
	if p.sequencer == never || p.stored.has(h) {
		return false
	}
	q, n := &s.c.machines[p.sequencer], &s.c.machines[h]
	if !s.together(int(p.sequencer), h) || !s.places(int(q.epoch), i).has(h) || q.knows.has(x) || n.knows.has(x) {
		return false
	}
	n.has[i] |= 1 << x
	if !s.rules.DeliverAlone {
		earlier := q.knows & n.has[i]
		n.knows |= earlier
		if !s.rules.OutcomesUnsynced {
			n.synced |= earlier
		}
	}
	s.dropAborted(h)
	p.stored |= 1 << h
	return true
}

// report carries to the coordinator that all places have a part.
func (s *system) report(x, i int) bool {
	t, p := &s.c.txns[x], &s.c.parts[x][i]
	m, ok := s.driven(x)
	if !ok || t.ready.has(i) || p.sequencer == never || !s.together(m, int(p.sequencer)) {
		return false
	}
	if !s.places(int(s.c.machines[m].epoch), i).in(p.stored) {
		return false
	}
	t.ready |= 1 << i
	return true
}

func (s *system) request(x, _ int) bool {
	t := &s.c.txns[x]
	m, ok := s.driven(x)
	prepared := t.ready == s.writes[x] || s.rules.DecideUnprepared
	if !ok || t.refused || t.requested == s.c.machines[m].epoch || !prepared || t.committed() {
		return false
	}
	t.requested, t.asked = s.c.machines[m].epoch, true
	return true
}

// decide is the commit: the oracle receives the request, and issues the tick.
func (s *system) decide(x, _ int) bool {
	t := &s.c.txns[x]
	if t.requested == 0 {
		return false
	}
	o := s.oracleOf(int(t.requested))
	n := &s.c.machines[o]
	if !n.up || n.apart && int(t.coord) != o || n.epoch != t.requested || !n.oracle.open || n.knows.has(x) || !n.lease && !s.rules.DecideWithoutLease {
		return false
	}
	n.oracle.issued.n++
	t.tick, t.requested = n.oracle.issued, 0
	n.knows |= 1 << x
	return true
}

// answer carries the outcome from the oracle to the coordinator.
func (s *system) answer(x, _ int) bool {
	m, ok := s.driven(x)
	if !ok {
		return false
	}
	o := s.issuer(m)
	if o < 0 || !s.c.machines[o].knows.has(x) {
		return false
	}
	s.c.machines[m].knows |= 1 << x
	s.dropAborted(m)
	s.expose(x)
	return true
}

// expose records that somebody has seen the tick of a transaction.
func (s *system) expose(x int) {
	if t := &s.c.txns[x]; t.exposed == (tick{}) {
		t.exposed = t.tick
	}
}

func (s *system) ack(x, _ int) bool {
	t := &s.c.txns[x]
	if !t.begun || t.acked || t.coord == never || !t.committed() || !s.c.machines[t.coord].up || !s.c.machines[t.coord].knows.has(x) {
		return false
	}
	t.acked = true
	return true
}

// spread carries an outcome to a machine with rows of the transaction.
func (s *system) spread(x, h int) bool {
	n, t := &s.c.machines[h], &s.c.txns[x]
	if !n.up || n.epoch == 0 || n.knows.has(x) {
		return false
	}
	here := false
	for i := range s.triples {
		here = here || n.has[i].has(x) || int(s.c.parts[x][i].sequencer) == h
	}
	o := s.issuer(h)
	from := o >= 0 && s.c.machines[o].knows.has(x) ||
		t.coord != never && s.together(h, int(t.coord)) && s.c.machines[t.coord].knows.has(x)
	if !here || !from {
		return false
	}
	n.knows |= 1 << x
	s.dropAborted(h)
	return true
}

// dropAborted removes the intents that machine h knows as aborted.
func (s *system) dropAborted(h int) {
	n := &s.c.machines[h]
	for x := range s.writes {
		if !s.c.txns[x].aborted || !n.knows.has(x) {
			continue
		}
		for i := range s.triples {
			n.has[i] &^= 1 << x
		}
	}
}

// sync makes the outcomes that a machine knows durable.
func (s *system) sync(m, _ int) bool {
	n := &s.c.machines[m]
	if !n.up || n.synced == n.knows {
		return false
	}
	n.synced = n.knows
	return true
}

// giveUp aborts a transaction: after a conflict, or because its client has gone.
func (s *system) giveUp(x, _ int) bool {
	t := &s.c.txns[x]
	m, ok := s.driven(x)
	if !ok || !t.refused && s.c.left.giveUps == 0 {
		return false
	}
	if !t.refused {
		s.c.left.giveUps--
	}
	if s.rules.AbortAlone {
		t.aborted, t.failed = true, t.refused
		s.c.machines[m].knows |= 1 << x
		s.dropAborted(m)
		return true
	}
	o := s.issuer(m)
	if o < 0 || s.c.machines[o].knows.has(x) {
		return false
	}
	t.aborted, t.failed = true, t.refused
	for _, k := range []int{o, m} {
		s.c.machines[k].knows |= 1 << x
		s.dropAborted(k)
	}
	return true
}
