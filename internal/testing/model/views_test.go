// The meaning of a view: its members, the machines to write to, and the machines to read from.

package model

// latest returns the newest view.
func (c *cluster) latest() *view { return &c.views[c.last] }

// viewOf returns the view that machine m has adopted, or nil.
func (c *cluster) viewOf(m int) *view {
	if c.machines[m].epoch == 0 {
		return nil
	}
	return &c.views[c.machines[m].epoch]
}

// isMember reports whether machine m, as it runs now, is a member of v.
func (c *cluster) isMember(v *view, m int) bool {
	return v.members.has(m) && v.inc[m] == c.machines[m].inc
}

// baseLive reports whether what m had of base is still there: it is a member of
// the incarnation that base had.
func (w *world) baseLive(v *view, m int, rules *Rules) bool {
	if !v.members.has(m) {
		return false
	}
	return rules.LiveByAddress || v.inc[m] == v.baseInc[m]
}

// write returns which kinds of rows of x are written on m under v.
func (w *world) write(v *view, x, m int, rules *Rules) (k uint8) {
	joint := v.phase == fill || v.phase == serve
	if w.baseLive(v, m, rules) && !(joint && rules.WriteTargetOnly) {
		k |= w.layouts[v.base].slots[x][m]
	}
	if v.members.has(m) && joint && !(v.phase == fill && rules.WriteBaseOnly) {
		k |= w.layouts[v.target].slots[x][m]
	}
	return k
}

// writers returns the machines that must have an operation on x under v.
func (w *world) writers(v *view, x int, rules *Rules) (s set) {
	for m := range w.machines {
		if w.write(v, x, m, rules) != 0 {
			s |= 1 << m
		}
	}
	return s
}

// reader returns the machine that answers for kind k of x under v, or -1.
func (w *world) reader(v *view, x, k int, rules *Rules) int {
	if v.phase == serve {
		if m := w.layouts[v.target].owner[x][k]; v.members.has(m) {
			return m
		}
		return -1
	}
	if m := w.layouts[v.base].owner[x][k]; w.baseLive(v, m, rules) {
		return m
	}
	if m := w.layouts[v.target].owner[x][k]; rules.ReadTargetInFill && v.members.has(m) {
		return m
	}
	return -1
}

// sequencer returns the machine that stamps operations on x under v: the owner
// of SPO that reads go to, or the target's if that one is dead.
func (w *world) sequencer(v *view, x int, rules *Rules) int {
	if v.phase != serve {
		if m := w.layouts[v.base].owner[x][spo]; w.baseLive(v, m, rules) {
			return m
		}
	}
	if m := w.layouts[v.target].owner[x][spo]; v.members.has(m) {
		return m
	}
	return -1
}

// sender returns who fills the target slot (m, kind k) of x in v: -1 if it
// needs no filling or nobody can.
func (w *world) sender(v *view, x, m, k int, rules *Rules) int {
	base, target := &w.layouts[v.base], &w.layouts[v.target]
	if target.slots[x][m]>>k&1 == 0 || !v.members.has(m) {
		return -1
	}
	live := w.baseLive(v, m, rules)
	if live && base.slots[x][m]>>k&1 == 1 {
		return -1 // not empty
	}
	if live && base.slots[x][m] != 0 && rules.RepairMissingTriples {
		return -1 // it has the triple
	}
	if k != extra {
		if from := base.owner[x][k]; w.baseLive(v, from, rules) && !rules.RepairerByTarget {
			return from
		}
	}
	return w.repairer(v, x, rules)
}

// repairer returns the machine that makes up for slots of x without a live owner, by the
// rule of recovery.Resolver.Repairer; -1 if none lives.
func (w *world) repairer(v *view, x int, rules *Rules) int {
	base, target := &w.layouts[v.base], &w.layouts[v.target]
	// A weaker rule, for tests of what it breaks.
	if rules.RepairerByTarget {
		for i := range w.machines {
			h := (target.owner[x][spo] + i) % w.machines
			if target.slots[x][h] != 0 && (w.baseLive(v, h, rules) || v.members.has(h)) {
				return h
			}
		}
		return -1
	}
	// A live owner whose row moves comes first; then an extra copy, or another owner.
	for _, k := range []int{osp, pos, spo} { // what moves
		if m := base.owner[x][k]; w.baseLive(v, m, rules) && target.owner[x][k] != m {
			return m
		}
	}
	extras := w.liveExtra(v, x, rules)
	if extras >= 0 && w.allLive(v, rules) {
		return extras
	}
	for _, k := range []int{osp, pos} {
		if m := base.owner[x][k]; w.baseLive(v, m, rules) {
			return m
		}
	}
	if m := base.owner[x][spo]; extras < 0 && w.baseLive(v, m, rules) {
		return m
	}
	return extras
}

// liveExtra returns the first live machine that has an extra replica of x in base; -1 if
// there is none.
func (w *world) liveExtra(v *view, x int, rules *Rules) int {
	base := &w.layouts[v.base]
	from := base.owner[x][spo]
	if base.owner[x][pos] == base.owner[x][osp] {
		from = base.owner[x][pos]
	}
	for i := range w.machines {
		if m := (from + i) % w.machines; base.slots[x][m]>>extra&1 == 1 && w.baseLive(v, m, rules) {
			return m
		}
	}
	return -1
}

// allLive reports whether every machine of base lives.
func (w *world) allLive(v *view, rules *Rules) bool {
	for m := range w.machines {
		if w.layouts[v.base].holders.has(m) && !w.baseLive(v, m, rules) {
			return false
		}
	}
	return true
}

// owedRows returns the kinds of rows of x that the walk of machine from sends to m.
func (w *world) owedRows(v *view, from, x, m int, rules *Rules) (k uint8) {
	for kind := range kinds {
		if w.sender(v, x, m, kind, rules) == from {
			k |= 1 << kind
		}
	}
	return k
}

// gone returns the triples of which no holder in base lives.
func (w *world) gone(v *view, rules *Rules) (s set) {
	for x := range w.triples {
		alive := rules.NoLost
		for m := range w.machines {
			alive = alive || w.layouts[v.base].slots[x][m] != 0 && w.baseLive(v, m, rules)
		}
		if !alive {
			s |= 1 << x
		}
	}
	return s
}
