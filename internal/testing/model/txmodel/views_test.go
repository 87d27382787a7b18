// Views and faults: what the protocol of the cluster grants.

package txmodel

// spare reports whether the cluster keeps all rows without machine m.
func (s *system) spare(m int) bool {
	for i := range s.triples {
		kept := false
		for h := range s.machines {
			n := &s.c.machines[h]
			kept = kept || h != m && n.up && !n.apart && n.full.has(i) && s.member(int(s.c.last), h)
		}
		if !kept {
			return false
		}
	}
	return true
}

func (s *system) crash(m, _ int) bool {
	if n := &s.c.machines[m]; !n.up || s.c.left.crashes == 0 || !s.member(int(s.c.last), m) || !s.spare(m) {
		return false
	}
	s.c.left.crashes--
	s.forgetMemory(m)
	s.c.machines[m].up = false
	return true
}

// forgetMemory ends a process: what is on its disk remains.
func (s *system) forgetMemory(m int) {
	n := &s.c.machines[m]
	*n = machine{up: n.up, since: never, knows: n.synced, synced: n.synced, full: n.full, has: n.has}
	for x := range s.writes {
		t := &s.c.txns[x]
		if t.begun && int(t.coord) == m {
			t.coord, t.ready = never, 0
		}
		for i := range s.triples {
			p := &s.c.parts[x][i]
			p.stored &^= 1 << m
			if int(p.sequencer) == m {
				*p = part{sequencer: never}
			}
		}
	}
	if s.c.read.on && int(s.c.read.by) == m {
		s.c.read = reading{}
	}
}

// blackout ends all processes and starts them again, with their disks, in a new epoch.
func (s *system) blackout(_, _ int) bool {
	if s.c.left.blackouts == 0 || s.c.last+1 == maxViews {
		return false
	}
	s.c.left.blackouts--
	s.propose(s.c.views[s.c.last].members)
	for m := range s.machines {
		s.forgetMemory(m)
		n := &s.c.machines[m]
		n.up = true
		if s.c.views[s.c.last].members.has(m) {
			n.since = s.c.last
		}
	}
	return true
}

func (s *system) cut(m, _ int) bool {
	n := &s.c.machines[m]
	if !n.up || n.apart || s.c.left.cuts == 0 || !s.member(int(s.c.last), m) || !s.spare(m) {
		return false
	}
	s.c.left.cuts--
	n.apart = true
	return true
}

func (s *system) heal(m, _ int) bool {
	n := &s.c.machines[m]
	if !n.up || !n.apart {
		return false
	}
	n.apart = false
	n.lease = n.lease || n.epoch == s.c.last && s.member(int(s.c.last), m)
	return true
}

// expire ends a lease that its holder cannot renew.
func (s *system) expire(m, _ int) bool {
	n := &s.c.machines[m]
	if !n.lease || !n.apart {
		return false
	}
	n.lease = false
	return true
}

// gate reports whether the leader may propose a view: each member has adopted the newest one, or
// has no lease.
func (s *system) gate() bool {
	for m := range s.machines {
		n := &s.c.machines[m]
		if s.c.views[s.c.last].members.has(m) && n.lease && n.epoch != s.c.last {
			return false
		}
	}
	return s.c.last+1 < maxViews
}

func (s *system) propose(members set) {
	s.c.last++
	v := &s.c.views[s.c.last]
	v.members = members
	for i := range s.triples {
		for m := range s.machines {
			if members.has(m) && s.c.machines[m].full.has(i) {
				v.base[i] |= 1 << m
			}
		}
	}
}

func (s *system) exclude(m, _ int) bool {
	n, members := &s.c.machines[m], s.c.views[s.c.last].members
	if !members.has(m) || members.len() == 1 || n.up && !n.apart || n.lease || !s.gate() || !s.spare(m) {
		return false
	}
	s.propose(members &^ (1 << m))
	return true
}

// admit takes a machine in as a new one, or one back that was away and that no view has excluded.
func (s *system) admit(m, _ int) bool {
	n, members := &s.c.machines[m], s.c.views[s.c.last].members
	back := members.has(m)
	if s.c.left.admits == 0 || n.apart || s.member(int(s.c.last), m) || back && n.up || !s.gate() {
		return false
	}
	s.c.left.admits--
	if !back {
		s.forgetMemory(m)
		*n = machine{} // its rows are set aside
	}
	s.propose(members | 1<<m)
	n.up, n.since = true, s.c.last
	return true
}

func (s *system) adopt(m, _ int) bool {
	n, last := &s.c.machines[m], int(s.c.last)
	if !n.up || n.apart || n.epoch == s.c.last || !s.member(last, m) {
		return false
	}
	// 1. Answers of the former epoch do not count.
	n.epoch, n.lease, n.reconciled = s.c.last, true, false
	for x := range s.writes {
		t := &s.c.txns[x]
		if t.begun && int(t.coord) == m {
			t.ready = 0
		}
		for i := range s.triples {
			if p := &s.c.parts[x][i]; int(p.sequencer) == m {
				p.stored = 0
				if s.sequencer(last, i) != m {
					p.sequencer = never
				}
			}
		}
	}
	// 2. An oracle keeps its memory if it is the oracle of the new view, too.
	if s.oracleOf(last) != m {
		n.oracle = oracle{}
	} else if n.oracle.open {
		n.oracle.issued = tick{s.c.last, 0}
	}
	// 3. A machine that is no place of a triple gets no more changes of it.
	for i := range s.triples {
		if !s.places(last, i).has(m) {
			n.full &^= 1 << i
		}
	}
	return true
}

// fill copies the rows of a triple, and their outcomes, to a place that lacks some.
func (s *system) fill(triple, m int) bool {
	n := &s.c.machines[m]
	if n.epoch == 0 || n.full.has(triple) || !s.places(int(n.epoch), triple).has(m) {
		return false
	}
	for from := range s.machines {
		f := &s.c.machines[from]
		if f.full.has(triple) && s.together(from, m) {
			n.has[triple] |= f.has[triple]
			outcomes := f.knows & f.has[triple]
			n.knows |= outcomes
			n.synced |= outcomes
			n.full |= 1 << triple
			return true
		}
	}
	return false
}
