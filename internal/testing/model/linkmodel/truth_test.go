// Views, faults, and the operations: what the protocol of the cluster grants.

package linkmodel

// crash ends a process. Its lease ends with it, and its memory. Its disk keeps rows, but they
// introduce nothing when it returns as a new machine.
func (s *system) crash(m, _ int) bool {
	n := &s.c.machines[m]
	if !n.up || s.c.left.crashes == 0 {
		return false
	}
	s.c.left.crashes--
	s.forgetMachine(m, s.rules.RestartInEpoch)
	n.up = false
	return true
}

// forgetMachine removes what machine m has in memory, and what depends on it. A machine that keeps
// its place in the view is a fault of RestartInEpoch.
func (s *system) forgetMachine(m int, keepsPlace bool) {
	// 1. Its copies are lost, and fetches from it end.
	n := &s.c.machines[m]
	for p := range s.partitions {
		if s.member(int(s.c.last), m) {
			s.loseCopy(m, p)
		}
		s.endFetches(m, p)
	}
	empty := machine{up: n.up, apart: n.apart, since: never}
	if keepsPlace {
		empty.epoch, empty.since, empty.lease = n.epoch, n.since, n.lease
	}
	*n = empty
	// 2. Its operations have no client any more, and all have one place less.
	for i := range s.c.ops {
		o := &s.c.ops[i]
		if !keepsPlace {
			o.stored &^= 1 << m
		}
		if o.status != none && int(o.writer) == m {
			o.writer, o.answered = never, 0
		}
	}
	if s.c.read.on && int(s.c.read.by) == m {
		s.c.read = reading{}
	}
}

func (s *system) restart(m, _ int) bool {
	n := &s.c.machines[m]
	if n.up || s.c.left.restarts == 0 {
		return false
	}
	s.c.left.restarts--
	n.up, n.apart = true, false
	return true
}

func (s *system) cut(m, _ int) bool {
	n := &s.c.machines[m]
	if !n.up || n.apart || s.c.left.cuts == 0 {
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
	if !n.lease || !n.apart && (n.epoch == s.c.last || !s.laggards) {
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
	s.c.views[s.c.last] = view{members: members}
}

func (s *system) exclude(m, _ int) bool {
	n, last := &s.c.machines[m], int(s.c.last)
	v := &s.c.views[last]
	if !v.members.has(m) || v.members.len() == 1 || !s.gate() {
		return false
	}
	lives := n.up && s.member(last, m)
	if lives && (!n.apart || n.lease && !s.rules.ExcludeAtOnce) {
		return false
	}
	if lives {
		for p := range s.partitions {
			s.loseCopy(m, p)
		}
	}
	s.propose(v.members &^ (1 << m))
	return true
}

// admit makes a machine a member, as a new one: with empty memory.
func (s *system) admit(m, _ int) bool {
	n, v := &s.c.machines[m], &s.c.views[s.c.last]
	if !n.up || n.apart || v.members.has(m) || s.c.left.admits == 0 || !s.gate() {
		return false
	}
	s.c.left.admits--
	s.forgetMachine(m, false)
	s.propose(v.members | 1<<m)
	n.since = s.c.last
	return true
}

func (s *system) adopt(m, _ int) bool {
	n, last := &s.c.machines[m], int(s.c.last)
	if !n.up || n.apart || int(n.epoch) == last || !s.member(last, m) {
		return false
	}
	n.epoch, n.lease, n.inquiry = s.c.last, true, inquiry{}
	s.c.views[last].adopted |= 1 << m
	for p := range s.partitions {
		if s.narrow && !s.holders(last, p).has(m) {
			n.copies[p].serving = false
		}
	}
	if s.c.read.on && int(s.c.read.by) == m {
		s.c.read = reading{}
	}
	return true
}

// begin stamps an operation on a link, at a machine that is its sequencer by its own view and has a
// lease.
func (s *system) begin(l, m int) bool {
	n, i := &s.c.machines[m], s.freeOp()
	if i < 0 || s.c.left.writes[l] == 0 || !n.lease || s.first(int(n.epoch), l) != m {
		return false
	}
	writer := m
	if s.writer >= 0 {
		writer = s.writer
	}
	if !s.reach(writer, m) || s.c.machines[writer].epoch == 0 {
		return false
	}
	s.c.left.writes[l]--
	o := &s.c.ops[i]
	*o = op{status: stamped, item: uint8(l), writer: uint8(writer), epoch: n.epoch, seqr: uint8(m), stored: 1 << m}
	s.commit(i, int(n.epoch))
	return true
}

func (s *system) freeOp() int {
	for i := range s.c.ops {
		if s.c.ops[i].status == none {
			return i
		}
	}
	return -1
}

// store stores an operation on a machine of its places. Its driver is the sequencer that stamped
// it, under that machine's present view. If it is not a member any more, its successor under the
// newest view is the driver, because a machine of that view has the operation.
func (s *system) store(i, h int) bool {
	o := &s.c.ops[i]
	if o.status != stamped {
		return false
	}
	// 1. A driver stores it on a machine of its own epoch.
	drive := func(d int) bool {
		epoch := s.c.machines[d].epoch
		if epoch == 0 || epoch != s.c.machines[h].epoch || !s.reach(d, h) || !s.member(int(epoch), d) || !s.member(int(epoch), h) {
			return false
		}
		holders := s.ranked(int(epoch), place(o))
		// If all places of an old view were excluded, more machines are lost than the cluster promises.
		if (o.stored|1<<h)&s.c.views[s.c.last].members == 0 {
			return false
		}
		if !holders.has(h) || o.stored.has(h) && !holders.in(o.stored) {
			return false
		}
		o.stored |= 1 << h
		s.commit(i, int(epoch))
		return true
	}
	// 2. The sequencer drives it, or its successor.
	seqr, last := int(o.seqr), int(s.c.last)
	if s.member(int(o.epoch), seqr) && drive(seqr) {
		return true
	}
	if s.member(last, seqr) && s.member(int(o.epoch), seqr) || o.stored&s.c.views[last].members == 0 {
		return false
	}
	d := s.first(last, place(o))
	return int(s.c.machines[d].epoch) == last && drive(d)
}

// commit commits an operation if all its places of an epoch have it.
func (s *system) commit(i, epoch int) {
	o := &s.c.ops[i]
	if !s.ranked(epoch, place(o)).in(o.stored) {
		return
	}
	o.status = committed
	switch {
	case o.writer == never:
	case o.number > 0:
		s.c.told[o.item] = o.number
	case !s.leased || s.rules.AckAtCommit:
		o.acked = true
	}
}
