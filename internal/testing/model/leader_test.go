// The leader and the views that it may propose. Raft is one register of agreed views here;
// members adopt a view later.

package model

// This file is the leader: Raft is one register of agreed views here, and what
// it may propose when. Nodes learn of a view by adopting it, later.

// gate reports whether the next epoch may be proposed: every member must have adopted the newest
// one, or its lease must have run out.
func (s *model) gate() bool {
	v := s.c.latest()
	for m := range s.machines {
		n := &s.c.machines[m]
		if v.members.has(m) && n.lease && !(s.c.isMember(v, m) && n.epoch == s.c.last) && !s.rules.ProposeAtOnce {
			return false
		}
	}
	return int(s.c.last)+1 < maxViews && s.majority()
}

// majority reports whether most members run and reach each other.
func (s *model) majority() bool {
	v := s.c.latest()
	up := 0
	for m := range s.machines {
		if n := &s.c.machines[m]; v.members.has(m) && n.up && !n.apart {
			up++
		}
	}
	return 2*up > v.members.len()
}

// allMembers reports whether all members run the newest epoch and ok is true for them.
func (s *model) allMembers(ok func(*machine) bool) bool {
	v := s.c.latest()
	for m := range s.machines {
		n := &s.c.machines[m]
		if v.members.has(m) && !(n.up && s.c.isMember(v, m) && n.epoch == s.c.last && ok(n)) {
			return false
		}
	}
	return true
}

// leader lists the possible proposals of the leader.
func (l *list) leader() {
	c, v := &l.c, l.c.latest()
	if !l.gate() {
		return
	}
	// 1. Changes of single members, and of two at once.
	for m := range l.machines {
		n := &c.machines[m]
		l.changeOf(m, n, v)
	}
	l.excludesTwo(v)
	if l.waiting() && l.reconciled() {
		l.add(reconcile)
	}
	// 2. The next phase, when every member is ready for it.
	switch v.phase {
	case idle:
		// Nothing begins until every member has swept the rows of the former layout.
		if !l.allMembers(func(n *machine) bool { return n.swept || l.rules.NoSweep }) {
			return
		}
		if c.left.moves > 0 {
			// A layout is possible only if all of its holders are members.
			for i := range l.layouts {
				if i != int(v.base) && l.layouts[i].holders&^v.members == 0 {
					l.add(move, 0, i)
				}
			}
		}
		if c.left.loads > 0 {
			l.add(load)
		}
	case fill:
		// The target layout may serve only when every member has finished its backfill.
		if l.allMembers(func(n *machine) bool { return n.done && (!n.waits || l.rules.ReadUnreconciled) }) || l.rules.ServeBeforeDone {
			l.add(toServe)
		}
	case serve:
		// The base layout may end only when every member has adopted the view of phase serve.
		if l.rules.IdleBeforeAdopted || l.allMembers(func(*machine) bool { return true }) {
			l.add(toIdle)
		}
	case ingest:
		if l.allMembers(func(n *machine) bool { return n.ingested }) {
			l.add(publish)
		}
	}
}

// changeOf lists the possible proposals about machine m.
func (l *list) changeOf(m int, n *machine, v *view) {
	c := &l.c
	if v.members.has(m) {
		current := n.up && c.isMember(v, m)
		if c.left.excludes > 0 && (!n.lease || l.rules.ExcludeAtOnce) && l.othersIngested(v, setOf(m)) &&
			(!current || n.apart || n.stalled || n.waits && !l.diskShows(m) || l.rules.ExcludeAtOnce) {
			l.excludes(v, setOf(m))
		}
		if n.up && !n.apart && !current && l.diskShows(m) && l.mayReturn(v, m) {
			l.add(readmit, m)
		}
		return
	}
	if n.up && !n.apart && n.old && c.left.rejoins > 0 {
		l.add(rejoin, m)
	}
	swept := v.phase == idle && l.allMembers(func(n *machine) bool { return n.swept || l.rules.NoSweep })
	if n.up && !n.apart && !n.old && c.left.joins > 0 && (swept || l.joinInFill && v.phase == fill) {
		for i := range l.layouts {
			if l.layouts[i].holders == v.members|1<<m {
				l.add(join, m, i)
			}
		}
	}
}

// mayReturn reports whether machine m may be a member again by the rules that the protocol does
// not have, because with them some machines never return.
func (s *model) mayReturn(v *view, m int) bool {
	for i := range s.machines {
		n := &s.c.machines[i]
		if i == m || !v.members.has(i) {
			continue
		}
		if s.rules.ReturnAfterAll && s.c.machines[m].waits && !(n.up && s.c.isMember(v, i) && n.epoch == s.c.last) {
			return false
		}
		if s.rules.LoadEndsFirst && v.phase == ingest && !n.up {
			return false
		}
	}
	return true
}

// excludes lists the placements without some machines.
func (l *list) excludes(v *view, out set) {
	for i := range l.layouts {
		if l.layouts[i].holders == v.members&^out {
			l.add(exclude, int(out), i)
		}
	}
}

// excludesTwo lists the exclusion of two members that are down while a load is ingested. Neither
// can be excluded alone, because the load then waits for the other.
func (l *list) excludesTwo(v *view) {
	var down set
	for m := range l.machines {
		if n := &l.c.machines[m]; v.members.has(m) && !n.lease && !(n.up && l.c.isMember(v, m)) {
			down |= 1 << m
		}
	}
	if v.phase == ingest && down.len() == 2 && l.c.left.excludes >= 2 && l.othersIngested(v, down) {
		l.excludes(v, down)
	}
}

// othersIngested reports whether a load that is being ingested can be shown
// without some machines: their exclusion does both, as the placement changes
// with it.
func (s *model) othersIngested(v *view, out set) bool {
	for i := range s.machines {
		n := &s.c.machines[i]
		if !out.has(i) && !s.rules.AbortLoad && v.phase == ingest && v.members.has(i) && !(s.c.isMember(v, i) && n.epoch == s.c.last && n.ingested) {
			return false
		}
	}
	return true
}

// diskShows reports whether a machine that started again shows its disk's UUID,
// all that its sequencers have its answers for or know to be settled, and the
// last fills and tables that it was counted on to have.
func (s *model) diskShows(m int) bool {
	if s.rules.AnyDiskReturns {
		return true
	}
	for i := range s.c.ops {
		o := &s.c.ops[i]
		answered := driving(&s.c, o) && o.ackedEver.has(m) || o.holders.has(m) && s.reportedCommitted(i)
		if o.used && answered && s.c.machines[m].mem.seen>>i&1 == 0 && !(s.rules.LastSeqIsGreatest && s.sawLater(m, o)) {
			return false
		}
	}
	n := &s.c.machines[m]
	return !n.blank && (n.mem.marked >= n.promised || s.rules.DiskShowsSeqOnly)
}

// sawLater reports whether machine m has a later operation of o's sequencer.
func (s *model) sawLater(m int, o *op) bool {
	for i := range s.c.ops {
		p := &s.c.ops[i]
		if p.used && p.born == o.born && p.inc == o.inc && p.stamp > o.stamp && s.c.machines[m].mem.seen>>i&1 == 1 {
			return true
		}
	}
	return false
}

// reportedCommitted reports whether a running member knows that operation i is
// settled, and so who holds it: its driver, or one that had the watermark.
func (s *model) reportedCommitted(i int) bool {
	o, v := &s.c.ops[i], s.c.latest()
	if o.committed && driving(&s.c, o) {
		return true
	}
	for m := range s.machines {
		if n := &s.c.machines[m]; s.c.isMember(v, m) && n.up && n.mem.seen>>i&1 == 1 && n.mem.inFlight>>i&1 == 0 {
			return true
		}
	}
	return false
}

// reconciled reports whether everything that sequencers which are no more left
// unsettled is driven again and settled, and machines that came back still show
// all that they should, now that all members can say what that is.
func (s *model) reconciled() bool {
	v := s.c.latest()
	for m := range s.machines {
		if s.c.machines[m].waits && s.c.isMember(v, m) && !s.diskShows(m) {
			return false
		}
		for i := range s.c.ops {
			o := &s.c.ops[i]
			driven := v.members.has(int(o.driver)) && v.inc[o.driver] == o.dri
			if v.members.has(m) && s.c.machines[m].mem.inFlight>>i&1 == 1 && !(driven && (o.committed || !o.again)) {
				return false
			}
		}
	}
	return s.allMembers(func(*machine) bool { return true })
}

func (s *model) waiting() bool {
	for m := range s.machines {
		if s.c.machines[m].waits && s.c.isMember(s.c.latest(), m) {
			return true
		}
	}
	return false
}

// propose makes the next epoch from the newest one.
func (t *step) propose(change func(*view)) {
	v := *t.c.latest()
	v.lost |= t.gone(&v, &t.rules)
	change(&v)
	if v.phase != idle {
		v.lost |= t.gone(&v, &t.rules)
	}
	t.c.last++
	t.c.views[t.c.last] = v
}

// unfinished settles what base is when a change comes before idle.
func (t *step) unfinished(v *view) {
	if v.phase == serve || v.phase == fill && t.rules.TargetBecomesBase {
		v.base, v.baseInc = v.target, v.inc
	}
}

func (t *step) exclude(out set, target int) {
	t.c.left.excludes -= uint8(out.len())
	shows := t.c.latest().phase == ingest && !t.rules.AbortLoad
	if shows {
		t.show()
	}
	t.propose(func(v *view) {
		v.loaded = v.loaded || shows
		t.unfinished(v)
		v.members &^= out
		v.phase, v.target = fill, uint8(target)
	})
}

// readmit gives a restarted machine its place: the same phase in a new epoch.
func (t *step) readmit(m int) {
	n := &t.c.machines[m]
	t.propose(func(v *view) {
		if v.baseInc[m] == v.inc[m] {
			v.baseInc[m] = n.inc
		}
		v.inc[m] = n.inc
	})
	n.waits = !t.rules.AnyDiskReturns
}

// rejoin is an excluded machine that learns of it: a new incarnation with an
// empty store; what it had is set aside.
func (t *step) rejoin(m int) {
	t.c.left.rejoins--
	n := &t.c.machines[m]
	fresh := machine{up: true, inc: n.inc + 1}
	if t.rules.KeepRows {
		fresh.mem, fresh.synced, fresh.before = n.mem, n.mem, n.mem
	}
	*n = fresh
}

// plan is a join or a move.
func (t *step) plan(a action) {
	m := int(a.a)
	t.propose(func(v *view) {
		if a.kind == join {
			t.c.left.joins--
			t.unfinished(v)
			v.members |= 1 << m
			v.inc[m] = t.c.machines[m].inc
			t.c.machines[m].blank, t.c.machines[m].promised = false, 0
			// It has a new identity, so nobody counts on the answers of the former one.
			for i := range t.c.ops {
				t.c.ops[i].ackedEver &^= 1 << m
				t.c.ops[i].holders &^= 1 << m
			}
		} else {
			t.c.left.moves--
		}
		v.phase, v.target = fill, a.b
	})
}

// load begins a publication: the load's stamp is the first of its epoch.
func (t *step) load() {
	t.c.left.loads--
	t.propose(func(v *view) {
		v.phase = ingest
		if t.rules.PublishInOneEpoch {
			v.phase, v.loaded = idle, true
		}
	})
	t.c.loadStamp = stampOf(t.c.last, 0)
}

// publish shows the load.
func (t *step) publish() {
	t.propose(func(v *view) { v.phase, v.loaded = idle, true })
	t.show()
}

// show marks the load settled: every owner has it.
func (t *step) show() {
	for x := range t.triples {
		t.c.floor[x] = max(t.c.floor[x], rowOf(t.c.loadStamp, false))
	}
}
