// The state of a run, the setting around it, and what a view means.

package linkmodel

import "math/bits"

// Limits of a setting. States are arrays of these sizes.
const (
	maxMachines   = 5
	maxPartitions = 3
	maxLinks      = 3
	maxPages      = 2
	maxOps        = 6
	maxViews      = 8
)

// never is the epoch of a machine that no view has, and the writer of an operation that has none.
const never = 255

// set is a set of machines, or of operations.
type set uint8

func (s set) has(i int) bool { return i < 8 && s>>i&1 == 1 }
func (s set) len() int       { return bits.OnesCount8(uint8(s)) }

// in reports whether all of s is in other.
func (s set) in(other set) bool { return s&^other == 0 }

// link has the partitions of its two pages. Its forward list is in the copy of from, its backward
// list in the copy of to.
type link struct{ from, to int }

// setting is what a run cannot change.
type setting struct {
	machines, partitions int
	copies               int // holders of a partition, and of a triple
	links                []link
	pages                int  // of partition 0; each may get a UID
	leased               bool // option B; else option A
	narrow               bool // option B with former holders that stop, see waitedFor
	quorum               bool // option A with the ends of some members, see collected
	writer               int  // of all operations; -1: their sequencer
	buildAlways          bool // copies may be built of rows while another machine has one
	laggards             bool // leases of machines may expire because they have not adopted the newest view
	rules                Rules
}

// What became of an operation.
const (
	none      = iota
	requested // on its way to the sequencer
	stamped   // in flight
	committed
	gone
)

// op is an operation. Those of one sequencer have ascending sequences in their order here.
type op struct {
	status   uint8
	item     uint8 // the link, or the page
	number   uint8 // the UID; 0: the operation is on a link
	writer   uint8 // the machine that has the client; never: it has died
	fence    uint8 // a UID's epoch
	epoch    uint8 // with sequencer and sequence, the stamp
	seqr     uint8
	stored   set // machines with the operation
	answered set // option B: machines that have it or do not serve
	acked    bool
}

// Stages of a copy.
const (
	absent = iota
	begun  // one half is there, position or content
	ready
)

// partitionCopy is a machine's copy of a partition. Its position is an epoch and the operations of
// that epoch before it, which stand for a sequence for each sequencer. has is the content: of each
// link the operation that its state is of.
type partitionCopy struct {
	stage, from uint8
	late        bool // the content was read first
	epoch       uint8
	passed, has set
	serving     bool // option B
}

// Kinds of inquiries.
const (
	catchUp = 1 + iota
	dropping
)

// inquiry is what a machine requests from other members, one after the other.
type inquiry struct {
	kind, partition uint8
	asked, end      set
}

type machine struct {
	up, apart, lease bool
	epoch            uint8 // of its view; 0: none
	since            uint8 // the first epoch that has it as it runs; never: none
	copies           [maxPartitions]partitionCopy
	inquiry          inquiry
	known            uint8           // the epoch under which it has read UIDs
	uids             [maxPages]uint8 // read or attempted
}

type view struct {
	members, adopted set // adopted: those that have adopted it at some time
}

// reading is a read of option A: of one partition, by the machine by.
type reading struct {
	on                bool
	by, partition     uint8
	epoch             uint8
	asked, end, floor set // floor: what was acknowledged before it began
}

// budget is the number of each kind of event that may still happen.
type budget struct {
	crashes, restarts, cuts, admits, reads, uids, stepDowns uint8
	writes                                                  [maxLinks]uint8
}

type cluster struct {
	last     uint8 // the newest epoch
	views    [maxViews]view
	machines [maxMachines]machine
	ops      [maxOps]op
	read     reading
	told     [maxPages]uint8
	margin   [maxPartitions]uint8 // copies that may be lost, since all holders had one
	left     budget
}

// system is a System of package model.
type system struct {
	*setting
	c cluster
}

// newSystem returns a model whose members have adopted the first view and have all their copies.
func newSystem(s setting, members set, left budget) system {
	m := system{setting: &s}
	m.c.last, m.c.left = 1, left
	m.c.views[1] = view{members, members}
	for i := range m.machines {
		n := &m.c.machines[i]
		n.up, n.since = true, never
		if !members.has(i) {
			continue
		}
		n.lease, n.epoch, n.since = true, 1, 1
		for p := range m.partitions {
			if m.holders(1, p).has(i) {
				n.copies[p] = partitionCopy{stage: ready, epoch: 1, serving: m.leased}
			}
		}
	}
	m.countCopies()
	return m
}

// ranked returns the first members of a view, clockwise from machine first: one for each copy.
func (s *system) ranked(epoch, first int) (holders set) {
	for i, n := 0, 0; i < s.machines && n < s.copies; i++ {
		if m := (first + i) % s.machines; s.c.views[epoch].members.has(m) {
			holders |= 1 << m
			n++
		}
	}
	return holders
}

// first returns the first machine of that ranking.
func (s *system) first(epoch, first int) int {
	for i := range s.machines {
		if m := (first + i) % s.machines; s.c.views[epoch].members.has(m) {
			return m
		}
	}
	return -1
}

// holders returns the machines that must have a copy of partition p in an epoch. The first in
// their ranking is the primary.
func (s *system) holders(epoch, p int) set { return s.ranked(epoch, p) }

// place returns the machine from which the ranking of an operation's triple begins. A UID's triple
// is not with the primary.
func place(o *op) int {
	if o.number > 0 {
		return int(o.item) + 1
	}
	return int(o.item)
}

// member reports whether machine m, as it runs now, is a member in an epoch.
func (s *system) member(epoch, m int) bool {
	return s.c.views[epoch].members.has(m) && int(s.c.machines[m].since) <= epoch
}

// reach reports whether a message from a arrives at b.
func (s *system) reach(a, b int) bool {
	x, y := &s.c.machines[a], &s.c.machines[b]
	return x.up && y.up && (a == b || !x.apart && !y.apart)
}

// active reports whether m runs, has a view, and reaches others.
func (s *system) active(m int) bool {
	n := &s.c.machines[m]
	return n.up && !n.apart && n.epoch > 0
}

// touching returns the operations on links of a partition.
func (s *system) touching(p int) (ops set) {
	for i := range s.c.ops {
		o := &s.c.ops[i]
		if o.status == none || o.status == gone || o.number > 0 {
			continue
		}
		if l := s.links[o.item]; l.from == p || l.to == p {
			ops |= 1 << i
		}
	}
	return ops
}

// committedOps returns the committed operations of a set.
func (s *system) committedOps(among set) (ops set) {
	for i := range s.c.ops {
		if among.has(i) && s.c.ops[i].status == committed {
			ops |= 1 << i
		}
	}
	return ops
}

// latest keeps of each link the operation with the greatest stamp.
func (s *system) latest(ops set) (latest set) {
	var of [maxLinks]int
	for i := range s.c.ops {
		if !ops.has(i) {
			continue
		}
		o := &s.c.ops[i]
		if was := of[o.item]; was == 0 || s.c.ops[was-1].epoch <= o.epoch {
			of[o.item] = i + 1
		}
	}
	for _, i := range of {
		if i > 0 {
			latest |= 1 << (i - 1)
		}
	}
	return latest
}

// covers reports whether the state of has is, for each link, that of ops or newer.
func (s *system) covers(has, ops set) bool { return s.latest(has|ops) == s.latest(has) }

// reconciled reports whether every operation of epochs before epoch is committed, or no member of
// it has the operation and none can get it any more.
func (s *system) reconciled(epoch int) bool {
	v := &s.c.views[epoch]
	if !v.members.in(v.adopted) {
		return false
	}
	// A member that had an operation in flight has not reported, although it may have died since. So
	// the operation counts if a later view has it.
	members := v.members
	for later := epoch + 1; later <= int(s.c.last); later++ {
		members |= s.c.views[later].members
	}
	for i := range s.c.ops {
		o := &s.c.ops[i]
		if o.status == stamped && int(o.epoch) < epoch && o.stored&members != 0 {
			return false
		}
	}
	return true
}
