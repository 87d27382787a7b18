// Oracles: how one opens, what it does with transactions of lost machines, and what a sequencer
// needs in a new epoch.

package txmodel

// open makes the oracle of a view answer. It has no memory, so it collects what all members know.
func (s *system) open(o, _ int) bool {
	n := &s.c.machines[o]
	if !n.up || n.apart || n.epoch == 0 || n.oracle.open || !n.lease || s.oracleOf(int(n.epoch)) != o {
		return false
	}
	if !s.allTogether(o) && !s.rules.OpenAtOnce {
		return false
	}
	// 1. Collect the outcomes.
	members := set(0)
	for m := range s.machines {
		if s.together(o, m) && s.c.views[n.epoch].members.has(m) {
			members |= 1 << m
			n.knows |= s.c.machines[m].knows
		}
	}
	n.oracle = oracle{open: true, issued: tick{n.epoch, 0}, memory: n.epoch}
	// 2. Decide what nobody knows. If a coordinator lives that has requested no tick, it goes on.
	for x := range s.writes {
		t := &s.c.txns[x]
		if !t.begun || n.knows.has(x) {
			continue
		}
		t.tick, t.aborted = tick{}, false
		if s.coordinated(x) && (!t.asked || s.rules.AskAgain) {
			continue
		}
		n.knows |= 1 << x
		if s.rules.AbortLost || !s.found(x, members) {
			t.aborted = true
			s.dropAborted(o)
			continue
		}
		n.oracle.issued.n++
		t.tick = n.oracle.issued
	}
	return true
}

// found reports whether each part of a transaction is in all places among some machines. If one is
// missing, the transaction never had a tick.
func (s *system) found(x int, among set) bool {
	for i := range s.triples {
		places, with := 0, 0
		for m := range s.machines {
			if n := &s.c.machines[m]; among.has(m) && n.full.has(i) {
				places++
				if n.has[i].has(x) {
					with++
				}
			}
		}
		if s.writes[x].has(i) && (with == 0 || with < places && !s.rules.RedoPartial) {
			return false
		}
	}
	return true
}

// abortLeft aborts a transaction whose coordinator is lost, while the oracle remembers that it has
// issued no tick for it.
func (s *system) abortLeft(x, _ int) bool {
	t := &s.c.txns[x]
	o := s.oracleOf(int(s.c.last))
	n := &s.c.machines[o]
	if !t.begun || s.coordinated(x) || n.epoch != s.c.last || s.issuer(o) != o || n.knows.has(x) {
		return false
	}
	t.aborted = true
	n.knows |= 1 << x
	s.dropAborted(o)
	return true
}

// reconcile gives a sequencer the intents of its triples that any member has.
func (s *system) reconcile(m, _ int) bool {
	n := &s.c.machines[m]
	if !n.up || n.epoch == 0 || n.reconciled || !n.lease || !s.allTogether(m) {
		return false
	}
	for i := range s.triples {
		if s.sequencer(int(n.epoch), i) != m {
			continue
		}
		for b := range s.machines {
			if s.c.views[n.epoch].members.has(b) {
				n.has[i] |= s.c.machines[b].has[i]
				outcomes := s.c.machines[b].knows & s.c.machines[b].has[i]
				n.knows |= outcomes
				n.synced |= outcomes
			}
		}
	}
	s.dropAborted(m)
	n.reconciled = true
	return true
}
