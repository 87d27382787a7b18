// The faults: crashes, lost messages, machines that seem down.

package model

func (l *list) faults() {
	c := &l.c
	for m := range l.machines {
		// A fault is possible if its budget is not spent. A lease may expire only if its holder
		// cannot renew it.
		n := &c.machines[m]
		member := c.latest().members.has(m)
		if n.up && member && c.left.crashes > 0 {
			l.add(crash, m)
		}
		if !n.up && c.left.restarts > 0 {
			l.add(restart, m)
		}
		if !n.up && c.left.diskFaults > 0 {
			if !l.cutOnly {
				l.add(restartBlank, m)
			}
			if n.before != n.synced {
				l.add(restartCut, m)
			}
		}
		if n.up && member && !n.apart && c.left.cuts > 0 {
			l.add(cut, m)
		}
		if n.apart {
			l.add(heal, m)
		}
		if n.lease && (n.apart || n.stalled && !l.rules.LeaseWithoutWrite) {
			l.add(expire, m)
		}
		if n.up && member && !n.stalled && c.left.stalls > 0 {
			l.add(stall, m)
		}
	}
}

func (t *step) fault(a action) {
	m := int(a.a)
	n := &t.c.machines[m]
	switch a.kind {
	case crash:
		t.c.left.crashes--
		// Leader and holder agree that a process that is gone serves nothing: its
		// lease runs out with it, and waiting for that is no step of its own.
		n.up, n.lease, n.stalled = false, false, false
		n.mem = n.synced
		n.undo, n.replaced = [maxOps][kinds]row{}, [maxOps]uint8{}
		n.stuck, n.stuckEpoch = 0, 0
	case restart:
		t.c.left.restarts--
		t.restart(n)
	case restartBlank:
		t.c.left.diskFaults--
		t.restart(n)
		n.mem, n.synced, n.before = disk{}, disk{}, disk{}
		n.old, n.blank = false, true
	case restartCut:
		t.c.left.diskFaults--
		t.restart(n)
		n.mem, n.synced = n.before, n.before
	case cut:
		t.c.left.cuts--
		n.apart = true
	case heal:
		n.apart = false
		n.lease = n.lease || n.up && !n.waits && !n.stalled && n.epoch == t.c.last && t.c.isMember(t.c.latest(), m)
	case expire:
		n.lease = false
	case stall:
		t.c.left.stalls--
		n.stalled = true
	}
}

// restart is a new process, and so a new incarnation that is in no view yet.
func (t *step) restart(n *machine) {
	n.up, n.seq = true, 0
	if t.rules.RestartInEpoch {
		n.lease = true
		return
	}
	n.inc++
	n.epoch, n.sent, n.done, n.swept, n.ingested = 0, 0, false, false, false
	n.snap, n.snapInFlight, n.snapped = [maxTriples]row{}, 0, false
}
