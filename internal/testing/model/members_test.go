// The actions of members: they adopt views, backfill, sweep, purge, scrub and ingest.

package model

func (l *list) members() {
	c, v := &l.c, l.c.latest()
	// 1. Each member: adopting, then the work of its phase.
	for m := range l.machines {
		n := &c.machines[m]
		if !n.up {
			continue
		}
		// Views come from the leader, so an isolated member adopts none.
		if !n.apart && c.isMember(v, m) && n.epoch < c.last {
			l.add(adopt, m)
			if l.rules.SnapshotEarly && v.phase == fill && !n.snapped && n.epoch != 0 {
				l.add(snapshot, m)
			}
		}
		// The member works by the view it adopted, even if the leader has a newer one.
		mine := c.viewOf(m)
		if mine == nil || !c.isMember(mine, m) {
			continue
		}
		// A purge must run in the epoch of its mark. PurgeByTimer breaks this rule.
		if (n.epoch == c.purgeEpoch && n.epoch == c.last || l.rules.PurgeByTimer) && l.hasPurgeable(n) {
			l.add(purge, m)
		}
		switch mine.phase {
		case fill:
			l.walk(m, n)
		case serve:
			if l.rules.SweepEarly && !n.swept {
				l.add(sweep, m)
			}
		case idle:
			if !n.swept {
				l.add(sweep, m)
			}
			l.scrubs(m, n)
		case ingest:
			if !n.ingested {
				l.add(ingestTables, m)
			}
		}
	}
	// 2. Purges and scrubs of the cluster.
	if c.left.purges > 0 && (l.rules.PurgeByTimer || v.phase == idle && v.lost == 0 && l.allMembers(func(n *machine) bool { return (n.swept || l.rules.NoSweep) && !n.waits })) {
		l.add(purgeMark)
	}
	if c.scrub.on {
		l.add(scrubRepair)
	}
}

// walk lists the steps of a backfill.
func (l *list) walk(m int, n *machine) {
	if n.done {
		return
	}
	all := true
	for x := range l.triples {
		for to := range l.machines {
			if n.snap[x] == 0 || l.owedRows(l.c.viewOf(m), m, x, to, &l.rules) == 0 {
				continue
			}
			if n.sent>>bit(x, to)&1 == 1 {
				all = all && l.reach(&l.c, m, to) && !l.c.machines[to].stalled
				continue
			}
			all = false
			if l.reach(&l.c, m, to) && !l.c.machines[to].stalled {
				l.add(send, m, to, x)
			}
		}
	}
	if all {
		l.add(walked, m)
	}
}

func bit(x, m int) int { return x*maxMachines + m }

// adopt makes the newest view machine m's own. Applies are excluded meanwhile:
// it is one step. The lease comes with it, if
// the disk still writes, and is known to lack nothing.
func (t *step) adopt(m int) {
	n, v := &t.c.machines[m], t.c.latest()
	n.epoch, n.seq, n.old = t.c.last, 0, true
	// 1. Begin the epoch: a lease only if the disk writes and lacks nothing.
	n.lease = (!n.stalled || t.rules.LeaseWithoutWrite) && (!n.waits || t.rules.ReadUnreconciled)
	n.sent, n.done, n.swept, n.ingested = 0, false, false, false
	if v.phase != fill {
		n.snap, n.snapInFlight, n.snapped = [maxTriples]row{}, 0, false
	} else if !n.snapped {
		t.snapshot(n)
	}
	n.snapped = false
	// 2. Operations in flight must be driven again in the new epoch.
	for i := range t.c.ops {
		if o := &t.c.ops[i]; o.used && !o.committed && int(o.driver) == m && o.dri == n.inc {
			o.epoch, o.acked = n.epoch, 0
		}
	}
	// 3. A member without work is done at once.
	switch v.phase {
	case fill:
		n.done = true
		for x := range t.triples {
			for to := range t.machines {
				n.done = n.done && (n.snap[x] == 0 || t.owedRows(v, m, x, to, &t.rules) == 0)
			}
		}
	case idle:
		n.swept = t.rowsOutside(v, m) == [kinds][maxTriples]bool{}
		if t.rules.PublishInOneEpoch && v.loaded {
			t.ingest(m)
		}
	}
}

func (t *step) snapshot(n *machine) {
	for x := range t.triples {
		n.snap[x] = n.mem.best(x)
	}
	n.snapInFlight = n.mem.inFlight
}

// send fills the places of x on machine to from the snapshot. Nothing is synced yet.
func (t *step) send(m, to, x int) {
	n, d := &t.c.machines[m], &t.c.machines[to]
	k := t.owedRows(t.c.viewOf(m), m, x, to, &t.rules)
	for kind := range kinds {
		if k>>kind&1 == 0 {
			continue
		}
		if n.snap[x] > d.mem.rows[kind][x] || t.rules.FillsOverwrite {
			d.mem.rows[kind][x] = n.snap[x]
		} else {
			d.filledLate(&t.rules)
		}
	}
	for i := range t.c.ops {
		if o := &t.c.ops[i]; o.used && int(o.triple) == x && n.snapInFlight>>i&1 == 1 && !t.rules.FillsAreCommitted {
			d.mem.inFlight |= 1 << i
			d.filledLate(&t.rules)
		}
	}
	n.sent |= 1 << bit(x, to)
}

// filledLate must be called if a fill brings a row that is there or is in flight. Before it, the place
// was not full, so what operations replaced there is not what is before them.
func (n *machine) filledLate(rules *Rules) {
	if !rules.FillsKeepUndo {
		n.replaced = [maxOps]uint8{}
	}
}

// walked ends a backfill: all sent rows are synced.
func (t *step) walked(m int) {
	n := &t.c.machines[m]
	for x := range t.triples {
		for to := range t.machines {
			if n.sent>>bit(x, to)&1 == 1 && !t.rules.DoneBeforeSync {
				d := &t.c.machines[to]
				d.mem.marked++
				if t.rules.MarkByEpoch {
					d.mem.marked = n.epoch
				}
				d.promised = d.mem.marked
				d.before, d.synced = d.synced, d.mem
			}
		}
	}
	n.done = true
}

// rowsOutside returns the rows of machine m without a place in the target of v.
func (t *step) rowsOutside(v *view, m int) (out [kinds][maxTriples]bool) {
	for x := range t.triples {
		for k := range kinds {
			out[k][x] = t.c.machines[m].mem.rows[k][x] != 0 && t.layouts[v.target].slots[x][m]>>k&1 == 0
		}
	}
	return out
}

func (t *step) sweep(m int) {
	n := &t.c.machines[m]
	for k, xs := range t.rowsOutside(t.c.viewOf(m), m) {
		for x, is := range xs {
			if is {
				n.mem.rows[k][x] = 0
			}
		}
	}
	n.before, n.synced, n.swept = n.synced, n.mem, true
}

// purgeMark asks every member for its lowest unsettled stamps, by the sequencer
// that the triples have now, and every sequencer without any for the next stamp
// that it would give. Stamps of two sequencers say nothing of each other.
func (t *step) purgeMark() {
	c := t.c
	c.left.purges--
	c.purges++
	c.purgeEpoch = c.last
	blind := t.rules.PurgeInFlight || t.rules.PurgeByTimer
	for x := range t.triples {
		c.purgeBelow[x] = stampOf(c.last+1, 0)
		m := t.sequencer(c.latest(), x, &t.rules)
		if m < 0 || blind {
			continue
		}
		n := &c.machines[m]
		c.purgeBelow[x] = stampOf(n.epoch, n.seq+1)
		for i := range c.ops {
			o := &c.ops[i]
			if o.used && t.pending(o, i) && t.sequencer(c.latest(), int(o.triple), &t.rules) == m {
				c.purgeBelow[x] = min(c.purgeBelow[x], o.stamp)
			}
		}
	}
}

// pending reports whether operation i is unsettled on some member.
func (t *step) pending(o *op, i int) bool {
	for m := range t.machines {
		n := &t.c.machines[m]
		if t.c.latest().members.has(m) && (n.mem.inFlight>>i&1 == 1 || !o.committed && int(o.driver) == m && o.dri == n.inc) {
			return true
		}
	}
	return false
}

func (s *setting) purgeable(c *cluster, x int, r row) bool {
	return r.tombstone() && r.stamp() < c.purgeBelow[x]
}

func (l *list) hasPurgeable(n *machine) bool {
	for k := range n.mem.rows {
		for x, r := range n.mem.rows[k] {
			if l.purgeable(&l.c, x, r) {
				return true
			}
		}
	}
	return false
}

func (t *step) purge(m int) {
	n := &t.c.machines[m]
	for k := range n.mem.rows {
		for x, r := range n.mem.rows[k] {
			if t.purgeable(t.c, x, r) {
				n.mem.rows[k][x] = 0
				t.c.purged[x] = max(t.c.purged[x], r.stamp())
			}
		}
	}
	n.before, n.synced = n.synced, n.mem
}

// scrubs lists the possible digests of machine m.
func (l *list) scrubs(m int, n *machine) {
	if l.c.left.scrubs == 0 || l.c.scrub.on {
		return
	}
	for x := range l.triples {
		r := n.mem.best(x)
		if i := find(&l.c, x, r.stamp()); i >= 0 && n.mem.inFlight>>i&1 == 1 {
			continue // settled rows only
		}
		for to := range l.machines {
			if r != 0 && to != m && l.reach(&l.c, m, to) && l.layouts[l.c.viewOf(m).base].slots[x][to] != 0 {
				l.add(scrubTake, m, to, x)
			}
		}
	}
}

func (t *step) scrubTake(m, to, x int) {
	n := &t.c.machines[m]
	t.c.left.scrubs--
	t.c.scrub = scrubbing{on: true, from: uint8(m), to: uint8(to), epoch: n.epoch, triple: uint8(x),
		row: n.mem.best(x), purges: t.c.purges}
}

// scrubRepair writes the digest's row if the other side lacks it. It does nothing if the view
// changed or a purge began since the digest was taken.
func (t *step) scrubRepair() {
	s := t.c.scrub
	t.c.scrub = scrubbing{}
	n, v := &t.c.machines[s.to], t.c.viewOf(int(s.to))
	fenced := n.epoch != s.epoch || t.c.purges != s.purges
	if !n.up || v == nil || fenced && !t.rules.ScrubUnfenced {
		return
	}
	for k := range kinds {
		if t.layouts[v.base].slots[s.triple][s.to]>>k&1 == 1 {
			if s.row <= n.mem.rows[k][s.triple] {
				n.filledLate(&t.rules)
			}
			n.mem.rows[k][s.triple] = max(n.mem.rows[k][s.triple], s.row)
		}
	}
	n.synced = n.mem
}

// ingest puts the load's tables into machine m's store: all triples, live, with
// the load's stamp.
func (t *step) ingest(m int) {
	n := &t.c.machines[m]
	r := rowOf(t.c.loadStamp, false)
	for x := range t.triples {
		for k := range kinds {
			if t.layouts[t.c.viewOf(m).base].slots[x][m]>>k&1 == 0 {
				continue
			}
			if r > n.mem.rows[k][x] || t.rules.IngestOnTop {
				n.mem.rows[k][x] = r
			} else {
				n.late(&t.rules)
			}
		}
	}
	n.mem.marked++
	n.promised = n.mem.marked
	n.before, n.synced, n.ingested = n.synced, n.mem, true
}
