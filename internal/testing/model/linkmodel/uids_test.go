// The assignment of UIDs by the primary of a partition.

package linkmodel

// readUIDs reads the UIDs of partition 0 at its primary, by that machine's view. Everything of
// earlier epochs must be committed, because a UID in flight is in no answer.
func (s *system) readUIDs(m, _ int) bool {
	n := &s.c.machines[m]
	if s.pages == 0 || !s.active(m) || n.known == n.epoch || s.first(int(n.epoch), 0) != m || !s.member(int(n.epoch), m) {
		return false
	}
	if !s.rules.AssignUnreconciled && !s.reconciled(int(n.epoch)) {
		return false
	}
	n.known, n.uids = n.epoch, [maxPages]uint8{}
	for i := range s.c.ops {
		if o := &s.c.ops[i]; o.status == committed && o.number > 0 && !s.rules.AssignUnread {
			n.uids[o.item] = o.number
		}
	}
	return true
}

// assign sends the write of a page's UID to the sequencer. A page that has a number without a
// known outcome gets the same one: its first write may still be on its way.
func (s *system) assign(m, page int) bool {
	n, i := &s.c.machines[m], s.freeOp()
	if !n.up || n.epoch == 0 || n.known != n.epoch || s.c.left.uids == 0 || i < 0 || s.c.told[page] != 0 && n.uids[page] != 0 {
		return false
	}
	if n.uids[page] == 0 {
		for _, number := range n.uids {
			n.uids[page] = max(n.uids[page], number)
		}
		n.uids[page]++
	}
	s.c.left.uids--
	s.c.ops[i] = op{status: requested, item: uint8(page), number: n.uids[page], writer: uint8(m), fence: n.epoch}
	if s.rules.TellAtOnce {
		s.c.told[page] = n.uids[page]
	}
	return true
}

// deliver brings a write to its sequencer. It stamps the write if its epoch is that of the fence,
// and refuses the write if its epoch is later.
func (s *system) deliver(i, m int) bool {
	o, n := &s.c.ops[i], &s.c.machines[m]
	if o.status != requested || !n.lease || n.apart || n.epoch < o.fence || s.first(int(o.fence), place(o)) != m {
		return false
	}
	if n.epoch > o.fence && !(s.rules.NoFence && s.first(int(n.epoch), place(o)) == m) {
		*o = op{status: gone}
		return true
	}
	o.status, o.epoch, o.seqr, o.stored = stamped, n.epoch, uint8(m), 1<<m
	s.commit(i, int(n.epoch))
	return true
}

func (s *system) lose(i, _ int) bool {
	o := &s.c.ops[i]
	if o.status != requested {
		return false
	}
	*o = op{status: gone}
	return true
}

// forget is a primary that does not learn the outcome of a write, forgets what it has, and reads
// again.
func (s *system) forget(m, i int) bool {
	o, n := &s.c.ops[i], &s.c.machines[m]
	if !s.rules.ForgetAttempts || o.number == 0 || o.status != requested && o.status != stamped || int(o.writer) != m || n.known == 0 {
		return false
	}
	n.known, n.uids, o.writer = 0, [maxPages]uint8{}, never
	return true
}
