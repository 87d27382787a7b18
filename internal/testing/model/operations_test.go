// Adds, deletes and reads: stamps, acknowledgements, and operations that a sequencer left when
// it died.

package model

// reach reports whether a message from machine m arrives at machine to and is accepted: both must
// run as members of the same epoch.
func (s *setting) reach(c *cluster, m, to int) bool {
	a, b := &c.machines[m], &c.machines[to]
	return a.up && b.up && a.epoch != 0 && a.epoch == b.epoch &&
		(m == to || a.apart == b.apart) && c.isMember(c.viewOf(m), m) && c.isMember(c.viewOf(to), to)
}

// driving reports whether the driver of o still runs in the same incarnation.
func driving(c *cluster, o *op) bool {
	n := &c.machines[o.driver]
	return n.up && n.inc == o.dri && n.epoch != 0
}

// operations lists the possible actions of clients, sequencers and readers.
func (l *list) operations() {
	// 1. New operations, if there is room for one.
	c := &l.c
	free := -1
	for i := range c.ops {
		if !c.ops[i].used {
			free = i
			break
		}
	}
	for m := range l.machines {
		n, v := &c.machines[m], c.viewOf(m)
		if !n.up || !n.lease || v == nil || !c.isMember(v, m) || free < 0 {
			continue
		}
		for x := range l.triples {
			if l.sequencer(v, x, &l.rules) != m || !l.confirmed(v, m, x) {
				continue
			}
			if c.left.writes[x].adds > 0 {
				l.add(begin, x, 0, m)
			}
			if c.left.writes[x].deletes > 0 {
				l.add(begin, x, 1, m)
			}
		}
	}
	// 2. Steps of the operations in flight.
	for i := range c.ops {
		if o := &c.ops[i]; o.used {
			l.operation(i, o, free)
		}
	}
	// 3. Reads, and steps that need no operation.
	for m := range l.machines {
		if n := &c.machines[m]; n.stuck != 0 && n.up {
			l.add(apply, m)
		}
		l.reads(m)
		if l.heartbeats && l.knownCommitted(c, m) != 0 {
			l.add(learn, m)
		}
	}
}

// confirmed reports whether sequencer m of x may stamp. If it has a live place of x in base, the next view
// writes there too, so no successor commits an operation before m has left its epoch. Otherwise the target may
// change without m, so it asks a machine of which that is true; if none lives, all members.
func (l *list) confirmed(v *view, m, x int) bool {
	if v.phase == serve || l.rules.StampUnconfirmed {
		return true
	}
	if l.baseLive(v, m, &l.rules) && l.layouts[v.base].slots[x][m] != 0 {
		return true
	}
	recipients := v.members
	for to := range l.machines {
		if l.layouts[v.base].slots[x][to] != 0 && l.baseLive(v, to, &l.rules) {
			recipients = setOf(to)
			break // all of them are alike
		}
	}
	for to := range l.machines {
		if recipients.has(to) && to != m && !(l.reach(&l.c, m, to) && l.c.machines[to].lease) {
			return false
		}
	}
	return true
}

// operation lists the possible steps of operation i.
func (l *list) operation(i int, o *op, free int) {
	c := &l.c
	for m := range l.machines {
		n := &c.machines[m]
		if l.canHandOver(o, i, m) {
			l.add(handOver, i, m)
		}
		if !driving(c, o) || o.committed || o.acked.has(m) || !l.reach(c, int(o.driver), m) || n.stalled ||
			c.machines[o.driver].epoch != o.epoch || l.write(c.viewOf(m), int(o.triple), m, &l.rules) == 0 {
			continue
		}
		l.add(deliver, i, m)
		if c.left.ackLosses > 0 && m != int(o.driver) && n.mem.seen>>i&1 == 0 {
			l.add(deliverLost, i, m)
		}
		if l.rules.CheckThenApply && n.stuck == 0 {
			l.add(check, i, m)
		}
	}
	if l.rules.ResendByNode && free >= 0 && c.left.resends > 0 {
		l.add(resend, i)
	}
}

// canHandOver reports whether machine m has operation i from a former sequencer, and may hand it
// over to the new one.
func (l *list) canHandOver(o *op, i, m int) bool {
	c := &l.c
	n, v := &c.machines[m], c.viewOf(m)
	if !n.up || v == nil || !c.isMember(v, m) || n.mem.inFlight>>i&1 == 0 || l.rules.DropInFlight {
		return false
	}
	if v.members.has(int(o.driver)) && v.inc[o.driver] == o.dri {
		return false
	}
	next := l.sequencer(v, int(o.triple), &l.rules)
	return next >= 0 && l.reach(c, m, next)
}

// reads lists the reads that machine m can answer, if they change its state. Other reads need no
// action, because their answers are checked in every state.
func (l *list) reads(m int) {
	n := &l.c.machines[m]
	if l.rules.CheckThenRead {
		l.lateReads(m)
	}
	if n.mem.inFlight == 0 {
		return
	}
	for x := range l.triples {
		for k := spo; k <= osp; k++ {
			r, ok := l.answer(&l.c, m, x, k)
			if ok && r != 0 {
				if i := find(&l.c, x, r.stamp()); i >= 0 && n.mem.inFlight>>i&1 == 1 {
					l.add(read, m, k, x)
				}
			}
		}
	}
}

// lateReads lists reads in two halves.
func (l *list) lateReads(m int) {
	if l.c.read.on {
		if int(l.c.read.m) == m && l.c.machines[m].up {
			l.add(lateRead)
		}
		return
	}
	for x := range l.triples {
		for k := spo; k <= osp; k++ {
			if _, ok := l.answer(&l.c, m, x, k); ok {
				l.add(checkRead, m, k, x)
			}
		}
	}
}

func (t *step) lateRead() {
	was := t.c.read
	t.c.read = reading{}
	r := t.c.machines[was.m].mem.rows[was.k][was.x]
	if r.stamp() < was.floor.stamp() && !(r == 0 && t.c.purged[was.x] >= was.floor.stamp()) {
		t.fail("linearizability: a read returns %v, settled before it began was %v", r, was.floor)
	}
}

// find returns the operation with a stamp; -1 if there is none.
func find(c *cluster, x int, s stamp) int {
	for i := range c.ops {
		if o := &c.ops[i]; o.used && int(o.triple) == x && o.stamp == s {
			return i
		}
	}
	return -1
}

// answer returns the answer of machine m for kind k of x. It returns false if m does not answer
// now. If the driver of an operation in flight has not committed it, the answer is the row before it,
// provided that the machine knows that row.
func (s *setting) answer(c *cluster, m, x, k int) (row, bool) {
	n, v := &c.machines[m], c.viewOf(m)
	if !n.up || !n.lease || v == nil || !c.isMember(v, m) || s.reader(v, x, k, &s.rules) != m || v.lost.has(x) {
		return 0, false
	}
	if v.phase == ingest {
		return 0, false // waits for the publication
	}
	for r := n.mem.rows[k][x]; ; {
		i := find(c, x, r.stamp())
		if i < 0 || n.mem.inFlight>>i&1 == 0 || s.rules.ReadInFlight {
			return r, true
		}
		if s.rules.DropInFlight && !(v.members.has(int(c.ops[i].driver)) && v.inc[c.ops[i].driver] == c.ops[i].dri) {
			return r, true
		}
		o := &c.ops[i]
		known := n.replaced[i]>>k&1 == 1
		if s.rules.UndoUnasked && known {
			r = n.undo[i][k]
			continue
		}
		recipient := int(o.driver)
		if !driving(c, o) || recipient != m && c.machines[recipient].apart != n.apart {
			return r, false
		}
		if o.committed || o.again || !known {
			return r, o.committed
		}
		r = n.undo[i][k]
	}
}

// remember records the rows that operation i replaces on machine n.
func (n *machine) remember(i int, o *op, write uint8, rules *Rules) {
	for k := range kinds {
		held := n.mem.rows[k][o.triple]
		switch {
		case write>>k&1 == 0:
		case held.stamp() < o.stamp:
			n.undo[i][k] = held
			n.replaced[i] |= 1 << k
		case held.stamp() > o.stamp:
			n.late(rules)
		}
	}
}

// late must be called if a row comes after a newer one, because what that one replaced is not what is
// before it.
func (n *machine) late(rules *Rules) {
	if !rules.LateRowsKeepUndo {
		n.replaced = [maxOps]uint8{}
	}
}

// forgetUndo drops what operations replaced that no reader will undo, so that states become equal.
func (t *step) forgetUndo() {
	for m := range t.machines {
		n := &t.c.machines[m]
		for i := range n.undo {
			done := (t.c.ops[i].committed || t.c.ops[i].again) && !t.rules.UndoUnasked
			if n.mem.inFlight>>i&1 == 0 || n.replaced[i] == 0 || done {
				n.undo[i], n.replaced[i] = [kinds]row{}, 0
			}
		}
	}
}

func (t *step) read(m, k, x int) {
	r, _ := t.answer(t.c, m, x, k)
	n := &t.c.machines[m]
	n.mem.inFlight &^= 1 << find(t.c, x, r.stamp())
	n.synced = n.mem
}

// begin stamps an operation of a client.
func (t *step) begin(x int, del bool, m int) {
	if del {
		t.c.left.writes[x].deletes--
	} else {
		t.c.left.writes[x].adds--
	}
	t.c.calls++
	t.stamp(x, del, m, t.c.calls)
}

func (t *step) stamp(x int, del bool, m int, call uint8) {
	n := &t.c.machines[m]
	n.seq++
	s := stampOf(n.epoch, n.seq)
	for i := range t.c.ops {
		o := &t.c.ops[i]
		if o.used {
			continue
		}
		*o = op{used: true, del: del, triple: uint8(x), stamp: s, born: uint8(m), inc: n.inc,
			driver: uint8(m), dri: n.inc, epoch: n.epoch, call: call, low: s <= t.c.floor[x].stamp()}
		return
	}
}

// deliver stores operation i on machine m: rows, unsettled entry and "last seq"
// in one synced batch, the epoch checked with it.
func (t *step) deliver(i, m int, lost bool) {
	o := &t.c.ops[i]
	t.store(i, m, t.write(t.c.viewOf(m), int(o.triple), m, &t.rules))
	if lost {
		t.c.left.ackLosses--
		return
	}
	o.acked |= 1 << m
	o.ackedEver |= 1 << m
	t.commitOp(o, t.c.viewOf(int(o.driver)))
}

// store writes the rows of operation i. The watermark of its driver comes along.
func (t *step) store(i, m int, write uint8) {
	o, n := &t.c.ops[i], &t.c.machines[m]
	n.before = n.synced
	r := rowOf(o.stamp, o.del)
	n.remember(i, o, write, &t.rules)
	for k := range kinds {
		if write>>k&1 == 1 {
			n.mem.rows[k][o.triple] = max(n.mem.rows[k][o.triple], r)
		}
	}
	for j := range t.c.ops {
		if p := &t.c.ops[j]; p.committed && p.driver == o.driver && p.dri == o.dri {
			n.mem.inFlight &^= 1 << j
		}
	}
	n.mem.inFlight |= 1 << i
	n.mem.seen |= 1 << i
	n.synced = n.mem
}

// commitOp marks o settled if all writers of v have answered.
func (t *step) commitOp(o *op, v *view) {
	if need := t.writers(v, int(o.triple), &t.rules); need&^o.acked != 0 || need == 0 {
		return
	}
	o.committed = true
	o.holders |= o.acked
	if o.ever {
		return
	}
	o.ever = true
	if o.low {
		t.fail("linearizability: operation with stamp %v settles, a client had seen %v before it began", o.stamp, t.c.floor[o.triple])
	}
	t.checkOnce(o)
	t.c.floor[o.triple] = max(t.c.floor[o.triple], rowOf(o.stamp, o.del))
}

// applyStuck is the second half of a check that sleeps.
func (t *step) applyStuck(m int) {
	n := &t.c.machines[m]
	i, epoch := int(n.stuck-1), n.stuckEpoch
	n.stuck, n.stuckEpoch = 0, 0
	o := &t.c.ops[i]
	t.store(i, m, t.write(&t.c.views[epoch], int(o.triple), m, &t.rules))
	if driving(t.c, o) && o.epoch == epoch {
		o.acked |= 1 << m
		o.ackedEver |= 1 << m
		t.commitOp(o, &t.c.views[epoch])
	}
}

// handOver makes the sequencer of m's view the driver of operation i.
func (t *step) handOver(i, m int) {
	o, n := &t.c.ops[i], &t.c.machines[m]
	next := t.sequencer(t.c.viewOf(m), int(o.triple), &t.rules)
	o.driver, o.dri, o.epoch = uint8(next), t.c.machines[next].inc, n.epoch
	o.acked, o.ackedEver, o.committed, o.again = 0, 0, false, true
	if t.rules.NewStampOnRedrive {
		d := &t.c.machines[next]
		d.seq++
		o.stamp = stampOf(d.epoch, d.seq)
	}
}

// resend sends an operation again, as a new one.
func (t *step) resend(i int) {
	t.c.left.resends--
	o := t.c.ops[i]
	if m := t.sequencer(t.c.latest(), int(o.triple), &t.rules); m >= 0 && t.c.machines[m].epoch == t.c.last {
		t.stamp(int(o.triple), o.del, m, o.call)
	}
}

// checkOnce checks that no call of a client takes effect twice, with another operation between.
func (t *step) checkOnce(o *op) {
	for i := range t.c.ops {
		p := &t.c.ops[i]
		if !p.used || p == o || p.call != o.call || !p.ever {
			continue
		}
		for j := range t.c.ops {
			if q := &t.c.ops[j]; q.ever && q.triple == o.triple && q.call != o.call && p.stamp < q.stamp && q.stamp < o.stamp {
				t.fail("linearizability: one call took effect at %v, another at %v, the first again at %v", p.stamp, q.stamp, o.stamp)
			}
		}
	}
}

// knownCommitted returns the entries of machine m's unsettled list that their drivers know to be
// settled.
func (s *setting) knownCommitted(c *cluster, m int) (bits uint8) {
	n := &c.machines[m]
	for i := range c.ops {
		o := &c.ops[i]
		if n.mem.inFlight>>i&1 == 1 && o.committed && driving(c, o) && s.reach(c, int(o.driver), m) {
			bits |= 1 << i
		}
	}
	return bits
}

// learn applies a watermark without an operation.
func (t *step) learn(m int) {
	n := &t.c.machines[m]
	n.mem.inFlight &^= t.knownCommitted(t.c, m)
	n.synced = n.mem
}
