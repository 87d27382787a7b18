// The copies of partitions: how they are made, follow the feed, and are dropped.

package linkmodel

// take adds operations to the content of a copy, and keeps the latest of each link.
func (s *system) take(c *partitionCopy, ops set) { c.has = s.latest(c.has | ops) }

// follow takes the next operation of a sequencer in the epoch of the copy, which must be that of
// both machines. The feed has committed operations up to the first one in flight.
func (s *system) follow(place, i int) bool {
	m, p := s.at(place)
	c, o := s.copyAt(place), &s.c.ops[i]
	if c.stage != ready || c.epoch != s.c.machines[m].epoch || !s.touching(p).has(i) || c.passed.has(i) {
		return false
	}
	if !s.reach(m, int(o.seqr)) || s.c.machines[o.seqr].epoch != c.epoch || !s.ends(int(o.seqr), int(c.epoch), p).has(i) {
		return false
	}
	if before := s.ends(int(o.seqr), int(c.epoch), p) & (1<<i - 1); !before.in(c.passed) {
		return false
	}
	c.passed |= 1 << i
	s.take(c, 1<<i)
	return true
}

// ends returns the operations of a partition before the watermark of a sequencer in an epoch.
func (s *system) ends(seqr, epoch, p int) (ops set) {
	touching := s.touching(p)
	for i := range s.c.ops {
		o := &s.c.ops[i]
		if o.status == none || int(o.seqr) != seqr || int(o.epoch) != epoch || o.number > 0 {
			continue
		}
		if o.status != committed {
			break
		}
		ops |= touching & (1 << i)
	}
	return ops
}

// leave takes what is left of an epoch, and goes on with the next one.
func (s *system) leave(place, _ int) bool {
	m, p := s.at(place)
	c, n := s.copyAt(place), &s.c.machines[m]
	if c.stage != ready || !n.up || n.apart || c.epoch >= n.epoch {
		return false
	}
	if v := &s.c.views[n.epoch]; !v.members.in(v.adopted) || !s.rules.LeaveUnreconciled && !s.reconciled(int(n.epoch)) {
		return false
	}
	for i := range s.c.ops {
		if o := &s.c.ops[i]; o.status == committed && o.epoch == c.epoch && s.touching(p).has(i) {
			s.take(c, 1<<i)
		}
	}
	c.epoch, c.passed = c.epoch+1, 0
	return true
}

// lacks reports whether machine m must make a copy of p under its view.
func (s *system) lacks(m, p int) bool {
	n := &s.c.machines[m]
	return s.active(m) && s.member(int(n.epoch), m) && s.holders(int(n.epoch), p).has(m) && n.copies[p].stage == absent
}

// has reports whether machine m has a copy of p, and machine by can read it.
func (s *system) has(by, m, p int) bool {
	return s.reach(by, m) && s.c.machines[m].copies[p].stage == ready
}

// fetch begins a copy from that of another machine: first the position, then the content.
func (s *system) fetch(place, from int) bool {
	m, p := s.at(place)
	if m == from || !s.lacks(m, p) || !s.has(m, from, p) {
		return false
	}
	source, c := &s.c.machines[from].copies[p], s.copyAt(place)
	*c = partitionCopy{stage: begun, from: uint8(from)}
	if s.rules.FetchedPositionLate || s.rules.FetchedPositionOwn {
		c.late, c.has = true, source.has
	} else {
		c.epoch, c.passed = source.epoch, source.passed
	}
	return true
}

// build begins a copy from rows, if no machine has one: first the end of the feed, then the rows.
func (s *system) build(place, _ int) bool {
	m, p := s.at(place)
	if !s.lacks(m, p) || !s.feedEnds(m) {
		return false
	}
	for other := range s.machines {
		if s.has(m, other, p) && !s.buildAlways {
			return false
		}
	}
	c := s.copyAt(place)
	*c = partitionCopy{stage: begun, from: uint8(m)}
	if s.rules.RowsBeforePosition {
		c.late = true
		s.take(c, s.committedOps(s.touching(p)))
	} else {
		s.position(m, p, c)
	}
	return true
}

// feedEnds reports whether machine m may request the end of the feed. Operations of earlier epochs
// must be committed, because the end covers them.
func (s *system) feedEnds(m int) bool {
	return s.rules.BuildUnreconciled || s.reconciled(int(s.c.machines[m].epoch))
}

// position sets the position of a copy to the end of the feed, as machine m receives it. If a
// member does not answer, the model uses the beginning of its stream: an earlier position.
func (s *system) position(m, p int, c *partitionCopy) {
	epoch := s.c.machines[m].epoch
	c.epoch, c.passed = epoch, 0
	for other := range s.machines {
		if s.reach(m, other) && s.c.machines[other].epoch == epoch {
			c.passed |= s.ends(other, int(epoch), p)
		}
	}
}

// finish reads the second half of a copy.
func (s *system) finish(place, _ int) bool {
	m, p := s.at(place)
	c := s.copyAt(place)
	from := int(c.from)
	if c.stage != begun || !s.active(m) || from != m && !s.has(m, from, p) {
		return false
	}
	// 1. The first half must be the position. These rules take it away.
	source := &s.c.machines[from].copies[p]
	if c.late {
		if !s.feedEnds(m) {
			return false
		}
		if c.epoch, c.passed = source.epoch, source.passed; from == m || s.rules.FetchedPositionOwn {
			s.position(m, p, c)
		}
	}
	// 2. The content is of the present.
	switch {
	case c.late:
	case from == m:
		s.take(c, s.committedOps(s.touching(p)))
	default:
		s.take(c, source.has)
	}
	c.stage, c.from, c.late = ready, 0, false
	return true
}

// abort gives up a fetch whose source does not answer, or a copy that the machine needs no more.
func (s *system) abort(place, _ int) bool {
	m, p := s.at(place)
	c := s.copyAt(place)
	if c.stage != begun || int(c.from) != m && s.has(m, int(c.from), p) {
		return false
	}
	if int(c.from) == m && s.active(m) {
		return false
	}
	*c = partitionCopy{}
	return true
}

// endFetches ends the fetches from a copy, because the source may get another one that is older.
func (s *system) endFetches(from, p int) {
	for m := range s.machines {
		if c := &s.c.machines[m].copies[p]; c.stage == begun && int(c.from) == from && !s.rules.FetchAcrossDrop {
			*c = partitionCopy{}
		}
	}
}

// askReady requests of a holder under the own view whether it has its copy. In option B it must
// serve, too.
func (s *system) askReady(place, h int) bool {
	m, p := s.at(place)
	n := &s.c.machines[m]
	holders := s.holders(int(n.epoch), p)
	if n.copies[p].stage != ready || !s.active(m) || holders.has(m) || !holders.has(h) || !s.has(m, h, p) {
		return false
	}
	if other := &s.c.machines[h]; other.epoch != n.epoch || !s.member(int(n.epoch), h) || s.leased && !other.copies[p].serving {
		return false
	}
	q := n.inquiry
	if q.kind != 0 && (q.kind != dropping || int(q.partition) != p) || q.asked.has(h) {
		return false
	}
	n.inquiry = inquiry{dropping, uint8(p), q.asked | 1<<h, 0}
	return true
}

func (s *system) drop(place, _ int) bool {
	m, p := s.at(place)
	n := &s.c.machines[m]
	holders := s.holders(int(n.epoch), p)
	if n.copies[p].stage != ready || n.epoch == 0 || holders.has(m) {
		return false
	}
	if q := n.inquiry; !s.rules.DropAtOnce && (q.kind != dropping || int(q.partition) != p || !holders.in(q.asked)) {
		return false
	}
	n.copies[p], n.inquiry = partitionCopy{}, inquiry{}
	s.endFetches(m, p)
	return true
}
