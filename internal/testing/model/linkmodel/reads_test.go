// Reads: ends of all members for option A; leases, and writers that wait, for option B.

package linkmodel

// acked returns the acknowledged operations of a set.
func (s *system) acked(among set) (ops set) {
	for i := range s.c.ops {
		if among.has(i) && s.c.ops[i].acked {
			ops |= 1 << i
		}
	}
	return ops
}

func (s *system) beginRead(m, p int) bool {
	n := &s.c.machines[m]
	if s.leased || s.c.left.reads == 0 || s.c.read.on || !s.active(m) {
		return false
	}
	s.c.left.reads--
	s.c.read = reading{on: true, by: uint8(m), partition: uint8(p), epoch: n.epoch, floor: s.acked(s.touching(p))}
	return true
}

// end returns the committed end of machine m for a machine of an epoch. It waits until all that m
// has stamped is committed, and must have a lease.
func (s *system) end(by, m, epoch, p int) (end set, ok bool) {
	n := &s.c.machines[m]
	if !s.reach(by, m) || !n.lease && !s.rules.EndWithoutLease || int(n.epoch) != epoch && !s.rules.EndOfAnyEpoch || !s.member(epoch, m) {
		return 0, false
	}
	if s.quorum {
		return s.endOfStored(m, epoch, p), true
	}
	for i := range s.c.ops {
		o := &s.c.ops[i]
		if o.status == stamped && int(o.seqr) == m && s.member(int(o.epoch), m) && !s.rules.EndWithoutWait {
			return 0, false
		}
	}
	return s.ends(m, epoch, p), true
}

// endOfStored returns the operations of an epoch that machine m has, of any sequencer. If some are
// in flight, a reader waits for them without need.
func (s *system) endOfStored(m, epoch, p int) (end set) {
	for i := range s.c.ops {
		if o := &s.c.ops[i]; int(o.epoch) == epoch && o.stored.has(m) {
			end |= 1 << i
		}
	}
	return end & s.touching(p)
}

// collected reports whether the reader has the ends that it needs. An acknowledged operation is on
// as many machines as there are copies. So the quorum may lack one machine fewer than that.
func (s *system) collected() bool {
	r := &s.c.read
	needed := s.c.views[r.epoch].members
	switch {
	case s.quorum:
		return r.asked.len() >= max(1, needed.len()-(s.copies-1))
	case s.rules.EndOfSome:
		needed = s.holders(int(r.epoch), int(r.partition))
	}
	return needed.in(r.asked)
}

func (s *system) readEnd(m, _ int) bool {
	r := &s.c.read
	if !r.on || r.asked.has(m) || !s.c.views[r.epoch].members.has(m) {
		return false
	}
	end, ok := s.end(int(r.by), m, int(r.epoch), int(r.partition))
	if !ok {
		return false
	}
	r.asked |= 1 << m
	r.end |= end
	return true
}

// reached reports whether a position is at an end of an epoch, or behind.
func (c *partitionCopy) reached(epoch uint8, end set) bool {
	return c.epoch > epoch || c.epoch == epoch && end.in(c.passed)
}

// answers reports whether the read may be answered by machine m, now.
func (s *system) answers(m int) bool {
	r := &s.c.read
	if !r.on || !s.collected() || !s.has(int(r.by), m, int(r.partition)) {
		return false
	}
	return s.rules.AnswerAtOnce || s.c.machines[m].copies[r.partition].reached(r.epoch, r.end)
}

// mayServe reports whether the copy of a place could begin to serve.
func (s *system) mayServe(place int) bool {
	m, p := s.at(place)
	c, n := s.copyAt(place), &s.c.machines[m]
	return s.leased && c.stage == ready && !c.serving && s.active(m) && n.lease && s.holders(int(n.epoch), p).has(m)
}

// askEnd receives the end of a member under the own view.
func (s *system) askEnd(place, other int) bool {
	m, p := s.at(place)
	n := &s.c.machines[m]
	q := n.inquiry
	if q.kind == dropping { // gives way, because two machines may wait for each other's service
		q = inquiry{}
	}
	if !s.mayServe(place) || q.kind != 0 && int(q.partition) != p || q.asked.has(other) {
		return false
	}
	end, ok := s.end(m, other, int(n.epoch), p)
	if !ok {
		return false
	}
	n.inquiry = inquiry{catchUp, uint8(p), q.asked | 1<<other, q.end | end}
	return true
}

func (s *system) serve(place, _ int) bool {
	m, p := s.at(place)
	c, n := s.copyAt(place), &s.c.machines[m]
	if !s.mayServe(place) {
		return false
	}
	q := n.inquiry
	caughtUp := q.kind == catchUp && int(q.partition) == p && s.c.views[n.epoch].members.in(q.asked) && c.reached(n.epoch, q.end)
	if !caughtUp && !s.rules.ServeAtOnce {
		return false
	}
	c.serving = true
	if caughtUp {
		n.inquiry = inquiry{}
	}
	return true
}

// stepDown ends the service of a copy that cannot follow.
func (s *system) stepDown(place, _ int) bool {
	c := s.copyAt(place)
	if !c.serving || s.c.left.stepDowns == 0 {
		return false
	}
	s.c.left.stepDowns--
	c.serving = false
	return true
}

// answer gives a writer the answer of a machine: each copy of its that serves has taken the
// operation in. If a copy does not serve, the ends that the machine has collected for it are older
// than the answer, so they are requested again.
func (s *system) answer(i, m int) bool {
	// 1. The writer asks the members of its view, which must be as new as the stamp.
	o, n := &s.c.ops[i], &s.c.machines[m]
	if !s.leased || o.status != committed || o.number > 0 || o.acked || o.writer == never {
		return false
	}
	w := int(o.writer)
	epoch := int(s.c.machines[w].epoch)
	needed := s.waitedFor(s.links[o.item], epoch)
	if epoch < int(o.epoch) && !s.rules.WriterOldView || !needed.has(m) {
		return false
	}
	// A view without the machines that have not answered makes the answers complete.
	complete := needed.in(o.answered)
	silent := s.rules.AckPastSilent && !s.reach(w, m)
	if o.answered.has(m) && !complete || !silent && !(s.reach(w, m) && s.member(epoch, m)) {
		return false
	}
	// 2. The machine answers for each partition that the operation touches.
	for p := range s.partitions {
		if c := &n.copies[p]; !silent && s.touching(p).has(i) && c.serving && !c.took(s, i) {
			return false
		}
	}
	for p := range s.partitions {
		q := &n.inquiry
		if s.touching(p).has(i) && q.kind == catchUp && int(q.partition) == p && !s.rules.KeepEnds && !silent {
			*q = inquiry{}
		}
	}
	// 3. The last answer acknowledges the operation.
	o.answered |= 1 << m
	if needed.in(o.answered) {
		o.acked, o.answered = true, 0
	}
	return true
}

// waitedFor returns the members that a writer waits for under its view. If former holders stop when
// they adopt a view, those that serve are holders under it or the one before, because leases span
// two epochs.
func (s *system) waitedFor(l link, epoch int) set {
	holders := s.holders(epoch, l.from) | s.holders(epoch, l.to)
	switch {
	case s.rules.RequestHolders:
		return holders
	case s.narrow && epoch > 1:
		holders |= s.holders(epoch-1, l.from) | s.holders(epoch-1, l.to)
		fallthrough
	case s.narrow:
		return holders & s.c.views[epoch].members
	}
	return s.c.views[epoch].members
}

// took reports whether a copy has an operation or a newer one of its link.
func (c *partitionCopy) took(s *system, i int) bool { return s.covers(c.has, 1<<i) }
