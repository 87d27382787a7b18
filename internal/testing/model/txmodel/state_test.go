// The state of a run, the setting around it, and what a view means.

package txmodel

import "math/bits"

// Limits of a setting. States are arrays of these sizes.
const (
	maxMachines = 4
	maxTriples  = 3
	maxTxns     = 3
	maxViews    = 8
)

// never is the epoch of a machine that no view has, and the machine of a process that has ended.
const never = 255

// set is a set of machines, of triples or of transactions.
type set uint8

func (s set) has(i int) bool { return i < 8 && s>>i&1 == 1 }
func (s set) len() int       { return bits.OnesCount8(uint8(s)) }

// in reports whether all of s is in other.
func (s set) in(other set) bool { return s&^other == 0 }

func setOf(members ...int) (s set) {
	for _, m := range members {
		s |= 1 << m
	}
	return s
}

// tick is a moment: the epoch of the oracle that issued it, and a count. The zero value is none.
type tick struct{ epoch, n uint8 }

func (t tick) before(u tick) bool { return t.epoch < u.epoch || t.epoch == u.epoch && t.n < u.n }

// setting is what a run cannot change.
type setting struct {
	machines, triples int
	copies            int   // places of a triple
	writes            []set // of each transaction, the triples
	rules             Rules
}

// txn is a transaction. It has read all that it writes at its snapshot.
type txn struct {
	begun     bool
	aborted   bool  // by an oracle
	refused   bool  // a sequencer has found a conflict
	coord     uint8 // its coordinator; never: that process has ended
	snapshot  tick
	ready     set   // triples whose parts are durable in all places of the coordinator's epoch
	requested uint8 // the epoch in which a request of a tick is on its way
	asked     bool  // its coordinator has requested a tick at some time
	tick      tick  // the commit, as it is known in the cluster
	exposed   tick  // the first commit that anybody has seen; ghost
	acked     bool
	read      bool // a query has returned it
	failed    bool // its client has an error that says that nothing was done
}

// part is what a transaction does to one triple, in the memory of its sequencer.
type part struct {
	sequencer uint8 // never: none has it
	stored    set   // places that have answered in the sequencer's epoch
}

type oracle struct {
	open   bool
	issued tick
	memory uint8 // the epoch from which its memory is complete
}

type machine struct {
	up, apart, lease, reconciled bool
	epoch                        uint8 // of its view; 0: none
	since                        uint8 // the first epoch that has it as it runs; never: none
	oracle                       oracle
	knows, synced                set             // transactions whose outcome it knows; and on its disk
	full                         set             // triples of which it has all rows
	has                          [maxTriples]set // rows and intents
}

// view is an epoch's members. Writes go to the former places, too, until others have all rows.
type view struct {
	members set
	base    [maxTriples]set
}

// reading is a query that reads at one tick.
type reading struct {
	on        bool
	by        uint8
	at        tick
	floor     set // acknowledged before it began
	read      set // triples that it has read
	seen      [maxTriples]set
	discarded bool
}

// budget is the number of each kind of event that may still happen.
type budget struct{ crashes, cuts, blackouts, admits, reads, giveUps uint8 }

type cluster struct {
	last     uint8 // the newest epoch
	views    [maxViews]view
	machines [maxMachines]machine
	txns     [maxTxns]txn
	parts    [maxTxns][maxTriples]part
	read     reading
	left     budget
}

// system is a System of package model.
type system struct {
	*setting
	c cluster
}

// newSystem returns a model whose members have adopted the first view.
func newSystem(s setting, members set, left budget) system {
	m := system{setting: &s}
	m.c.last, m.c.left = 1, left
	m.c.views[1].members = members
	for x := range m.c.parts {
		for i := range m.c.parts[x] {
			m.c.parts[x][i].sequencer = never
		}
	}
	for i := range m.machines {
		n := &m.c.machines[i]
		n.up, n.since = true, never
		if !members.has(i) {
			continue
		}
		n.lease, n.reconciled, n.epoch, n.since = true, true, 1, 1
		for t := range m.triples {
			if m.places(1, t).has(i) {
				n.full |= 1 << t
			}
		}
	}
	m.c.machines[m.oracleOf(1)].oracle = oracle{open: true, issued: tick{1, 0}, memory: 1}
	return m
}

// places returns the machines that must have a triple in an epoch: the first members clockwise from
// its number, and those that had all its rows before.
func (s *system) places(epoch, triple int) (places set) {
	places = s.c.views[epoch].base[triple]
	for i, n := 0, 0; i < s.machines && n < s.copies; i++ {
		if m := (triple + i) % s.machines; s.c.views[epoch].members.has(m) {
			places |= 1 << m
			n++
		}
	}
	return places
}

// sequencer returns the first place of a triple.
func (s *system) sequencer(epoch, triple int) int {
	for i := range s.machines {
		if m := (triple + i) % s.machines; s.c.views[epoch].members.has(m) {
			return m
		}
	}
	return -1
}

// oracleOf returns the machine that issues the ticks of an epoch: the first member.
func (s *system) oracleOf(epoch int) int { return bits.TrailingZeros8(uint8(s.c.views[epoch].members)) }

// member reports whether machine m, as it runs now, is a member in an epoch.
func (s *system) member(epoch, m int) bool {
	return s.c.views[epoch].members.has(m) && int(s.c.machines[m].since) <= epoch
}

// reach reports whether a message from a arrives at b.
func (s *system) reach(a, b int) bool {
	x, y := &s.c.machines[a], &s.c.machines[b]
	return x.up && y.up && (a == b || !x.apart && !y.apart)
}

// together reports whether a reaches b, and both are in one epoch.
func (s *system) together(a, b int) bool {
	return s.reach(a, b) && s.c.machines[a].epoch > 0 && s.c.machines[a].epoch == s.c.machines[b].epoch
}

// allTogether reports whether machine m reaches all members of its view, in its epoch.
func (s *system) allTogether(m int) bool {
	for b := range s.machines {
		if s.c.views[s.c.machines[m].epoch].members.has(b) && !s.together(m, b) {
			return false
		}
	}
	return true
}

// issuer returns the oracle of machine m's epoch, if it answers m; else -1.
func (s *system) issuer(m int) int {
	n := &s.c.machines[m]
	if !n.up || n.epoch == 0 {
		return -1
	}
	o := s.oracleOf(int(n.epoch))
	if c := &s.c.machines[o]; !s.together(m, o) || !c.oracle.open || !c.lease && !s.rules.DecideWithoutLease {
		return -1
	}
	return o
}

// coordinated reports whether a transaction has a coordinator that is a member of the newest view.
func (s *system) coordinated(x int) bool {
	c := int(s.c.txns[x].coord)
	return c != never && s.c.machines[c].up && s.member(int(s.c.last), c)
}

// committed reports whether a transaction has a tick.
func (x *txn) committed() bool { return x.tick != tick{} }

// truth is the tick of a transaction: the one that was seen first, because nothing may differ from it.
func (x *txn) truth() tick {
	if x.exposed != (tick{}) {
		return x.exposed
	}
	return x.tick
}
