// The cluster as a system of the kernel: the list of actions, and a step.

package model

import (
	"errors"
	"fmt"
)

// kind of action.
type kind uint8

const (
	// Clients and sequencers.
	begin kind = iota // A: triple, B: 1 for a delete
	deliver
	deliverLost // the holder has it, its answer is lost
	check       // only with CheckThenApply
	apply
	handOver
	resend
	read // A: machine, B: order, C: triple
	learn
	checkRead // only with CheckThenRead
	lateRead
	// The leader.
	exclude
	readmit
	rejoin
	join
	move
	reconcile
	toServe
	toIdle
	load
	publish
	// Members.
	adopt
	snapshot // only with SnapshotEarly
	send
	walked
	sweep
	purgeMark
	purge
	scrubTake
	scrubRepair
	ingestTables
	// Faults.
	crash
	restart
	restartBlank
	restartCut
	cut
	heal
	expire
	stall
	actionKinds
)

// action is one step: its kind and up to three arguments.
type action struct {
	kind    kind
	a, b, c uint8
}

// A setting is a world, the rules, the state at the start and what is left to
// happen. Its actions are those that have a budget.
type setting struct {
	*world
	rules Rules
	start cluster
	// joinInFill: machines may join while another change is being filled.
	joinInFill bool
	// cutOnly: of the disk faults, only the lost tail.
	cutOnly bool
	// heartbeats: watermarks travel without an operation, too.
	heartbeats bool
	// seenOnly: of the invariants, only those that a client sees broken are heeded.
	seenOnly bool
	// blind: no invariant is heeded; for tests of what else would notice.
	blind bool
}

// model is a cluster in its setting.
type model struct {
	*setting
	c cluster
}

var _ System[cluster, action] = model{}

// State implements System.
func (s model) State() cluster { return s.c }

// newSetting returns a cluster of one idle view in epoch 1: the machines of ring
// are up and have adopted it, and the triples of present are in all slots of the
// world's first layout, settled, with stamp (1,1). Machines that are not on the
// ring but members are spares; other machines run, and may join.
func newSetting(w *world, rules Rules, members, present set, left budget) *setting {
	s := &setting{world: w, rules: rules, heartbeats: left.purges > 0}
	c := &s.start
	// 1. The view, and the members that have adopted it.
	c.last, c.left = 1, left
	v := &c.views[1]
	v.members = members
	for m := range w.machines {
		n := &c.machines[m]
		n.up, n.inc = true, 1
		if !members.has(m) {
			continue
		}
		v.inc[m], v.baseInc[m] = 1, 1
		n.epoch, n.lease, n.seq = 1, true, 1
		n.swept, n.old = true, true
	}
	// 2. The rows of the triples that exist at the start.
	for x := range w.triples {
		if !present.has(x) {
			continue
		}
		c.floor[x] = rowOf(stampOf(1, 1), false)
		for m := range w.machines {
			for k := range kinds {
				if w.layouts[0].slots[x][m]>>k&1 == 1 {
					c.machines[m].mem.rows[k][x] = c.floor[x]
				}
			}
			c.machines[m].synced, c.machines[m].before = c.machines[m].mem, c.machines[m].mem
		}
	}
	return s
}

// Model returns the setting as a system at its start.
func (s *setting) model() model { return model{s, s.start} }

// Actions implements System.
func (s model) Actions() []action {
	l := list{model: s}
	l.operations()
	l.leader()
	l.members()
	l.faults()
	return l.actions
}

// list collects the actions that are possible.
type list struct {
	model
	actions []action
}

func (l *list) add(k kind, args ...int) {
	a := action{kind: k}
	for i, v := range args {
		switch i {
		case 0:
			a.a = uint8(v)
		case 1:
			a.b = uint8(v)
		case 2:
			a.c = uint8(v)
		}
	}
	l.actions = append(l.actions, a)
}

// Do implements System.
func (s model) Do(a action) (System[cluster, action], error) {
	before := s.c
	t := &step{setting: s.setting, c: &s.c}
	t.do(a)
	t.forgetUndo()
	if s.blind {
		return s, nil
	}
	if t.err != nil {
		return nil, t.err
	}
	if err := s.check(&before, a); err != nil {
		return nil, err
	}
	return s, nil
}

// step is an action being done.
type step struct {
	*setting
	c   *cluster
	err error
}

var errUnknown = errors.New("unknown action")

func (t *step) do(a action) {
	// Operations and reads first, then the leader, members and faults, as in kind.
	m, n := int(a.a), &t.c.machines[a.a%maxMachines]
	switch a.kind {
	case begin:
		t.begin(int(a.a), a.b == 1, int(a.c))
	case deliver, deliverLost:
		t.deliver(int(a.a), int(a.b), a.kind == deliverLost)
	// stuck is the operation plus one, because 0 means none.
	case check:
		t.c.machines[a.b].stuck, t.c.machines[a.b].stuckEpoch = a.a+1, t.c.machines[a.b].epoch
	case apply:
		t.applyStuck(m)
	case handOver:
		t.handOver(int(a.a), int(a.b))
	case resend:
		t.resend(int(a.a))
	case read:
		t.read(m, int(a.b), int(a.c))
	case learn:
		t.learn(m)
	// The floor of this moment is kept, because the late answer must not be older.
	case checkRead:
		t.c.read = reading{on: true, m: a.a, k: a.b, x: a.c, floor: t.c.floor[a.c]}
	case lateRead:
		t.lateRead()
	// The leader, and then the members.
	case exclude:
		t.exclude(set(a.a), int(a.b))
	case readmit:
		t.readmit(m)
	case rejoin:
		t.rejoin(m)
	case join, move:
		t.plan(a)
	// A member in wait gets a lease again if it can write and can reach the leader.
	case reconcile:
		for m := range t.machines {
			n := &t.c.machines[m]
			if !t.c.isMember(t.c.latest(), m) {
				continue
			}
			n.lease = n.lease || n.waits && !n.stalled && !n.apart
			n.waits = false
		}
	case toServe:
		t.propose(func(v *view) { v.phase = serve })
	// The target layout becomes the base, with the incarnations of its holders.
	case toIdle:
		t.propose(func(v *view) { v.phase, v.base, v.baseInc = idle, v.target, v.inc })
	case load:
		t.load()
	case publish:
		t.publish()
	case adopt:
		t.adopt(m)
	case snapshot:
		t.snapshot(n)
		n.snapped = true
	// A row is sent from machine a to machine b, for triple c.
	case send:
		t.send(int(a.a), int(a.b), int(a.c))
	case walked:
		t.walked(m)
	case sweep:
		t.sweep(m)
	case purgeMark:
		t.purgeMark()
	case purge:
		t.purge(m)
	case scrubTake:
		t.scrubTake(int(a.a), int(a.b), int(a.c))
	case scrubRepair:
		t.scrubRepair()
	case ingestTables:
		t.ingest(m)
	default:
		t.fault(a)
	}
}

func (t *step) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

// Say implements System.
func (s model) Say(a action) string {
	// Scripts name actions by these words, so they must not change.
	verb := "add"
	if a.b == 1 {
		verb = "delete"
	}
	// Machines and operations are numbered from 1, triples and layouts from 0.
	m := "M" + fmt.Sprint(a.a+1)
	to := "M" + fmt.Sprint(a.b+1)
	switch a.kind {
	// a is the triple, b is 1 if it is deleted, c is the sequencer.
	case begin:
		return fmt.Sprintf("M%d stamps operation %d: %s of t%d", a.c+1, s.begun()+1, verb, a.a)
	// a is the operation, b the receiver.
	case deliver:
		return fmt.Sprintf("operation %d is stored on %s", a.a+1, to)
	case deliverLost:
		return fmt.Sprintf("operation %d is stored on %s, the answer is lost", a.a+1, to)
	case check:
		return fmt.Sprintf("%s checks the epoch of operation %d, and sleeps", to, a.a+1)
	case apply:
		return m + " wakes and stores what it had checked"
	case handOver:
		return fmt.Sprintf("%s hands operation %d over to the new sequencer", to, a.a+1)
	case resend:
		return fmt.Sprintf("a node resends operation %d", a.a+1)
	// a is the machine, b the kind of read, c the triple.
	case read:
		return fmt.Sprintf("a client reads t%d through %s at %s", a.c, kindNames[a.b], m)
	case checkRead:
		return fmt.Sprintf("a reader of t%d through %s checks the lease of %s", a.c, kindNames[a.b], m)
	case lateRead:
		return "the reader takes its snapshot and answers"
	case learn:
		return m + " hears what is settled"
	// The leader.
	case exclude:
		return fmt.Sprintf("the leader excludes %v, to placement %d", set(a.a), a.b)
	case readmit:
		return m + " shows its disk and is a member again, in a new incarnation"
	case rejoin:
		return m + " is excluded, sets its rows aside and comes back as new"
	// For changes of the layout, b is the number of the next one.
	case join:
		return fmt.Sprintf("the leader lets %s join, to placement %d", m, a.b)
	case move:
		return fmt.Sprintf("the leader plans placement %d", a.b)
	case reconcile:
		return "the view is reconciled"
	case toServe:
		return "the leader proposes serve"
	case toIdle:
		return "the leader proposes idle"
	case load:
		return "the leader proposes to ingest a load"
	case publish:
		return "the leader proposes to show the load"
	// Members, and then faults.
	case adopt:
		return m + " adopts the newest view"
	case snapshot:
		return m + " takes the snapshot of its walk"
	case send:
		return fmt.Sprintf("%s fills the slots of t%d on %s", m, a.c, to)
	case walked:
		return m + " has walked, all is synced"
	case sweep:
		return m + " sweeps"
	case purgeMark:
		return "the leader says below which stamp to purge"
	case purge:
		return m + " purges tombstones"
	// a sends its digest of triple c, and b compares it.
	case scrubTake:
		return fmt.Sprintf("scrub: %s sends its digest of t%d to %s", m, a.c, to)
	case scrubRepair:
		return "scrub: the other side repairs what differs"
	case ingestTables:
		return m + " ingests the load's tables"
	// Faults: a is the machine.
	case crash:
		return m + " crashes"
	case restart:
		return m + " starts again"
	case restartBlank:
		return m + " starts again with a blank disk"
	case restartCut:
		return m + " starts again, its disk without the last synced batch"
	case cut:
		return m + " is cut off"
	case heal:
		return m + " is reached again"
	case expire:
		return "the lease of " + m + " runs out"
	case stall:
		return "the disk of " + m + " stalls"
	}
	// A kind without words is a mistake in the model, so no script can cause it.
	panic(errUnknown)
}

// begun is how many operations were begun; they are numbered in that order.
func (s model) begun() (n int) {
	for i := range s.c.ops {
		if s.c.ops[i].used {
			n++
		}
	}
	return n
}
