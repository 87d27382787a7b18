// The table of the actions. One function decides if an action is possible, and does it.

package linkmodel

import (
	"fmt"

	"github.com/trefoildb/trefoil/internal/testing/model"
)

// action is an index of the table, and its arguments.
type action struct{ rule, a, b uint8 }

// What the arguments of an action count.
const (
	nothing = iota
	machines
	links
	pages
	ops
	places // a machine and a partition: machine * partitions + partition
	partitions
)

// rule is one kind of action. do reports whether the action is possible, and does it. If it returns
// false, it must not have changed the state. Quiet actions need no client and no fault.
type rule struct {
	name  string
	args  [2]uint8
	do    func(s *system, a, b int) bool
	quiet bool
}

const excludes = "the leader excludes %s"

var table = []rule{
	{"%s crashes", [2]uint8{machines}, (*system).crash, false},
	{"%s restarts with empty memory", [2]uint8{machines}, (*system).restart, false},
	{"%s is isolated", [2]uint8{machines}, (*system).cut, false},
	{"%s is connected again", [2]uint8{machines}, (*system).heal, true},
	{"the lease of %s expires", [2]uint8{machines}, (*system).expire, true},
	{excludes, [2]uint8{machines}, (*system).exclude, true},
	{"the leader admits %s", [2]uint8{machines}, (*system).admit, false},
	{"%s adopts the newest view", [2]uint8{machines}, (*system).adopt, true},

	{"%[2]s stamps a change of %[1]s", [2]uint8{links, machines}, (*system).begin, false},
	{"%s is stored on %s", [2]uint8{ops, machines}, (*system).store, true},

	{"the copy of %s takes in %s", [2]uint8{places, ops}, (*system).follow, true},
	{"the copy of %s leaves its epoch", [2]uint8{places}, (*system).leave, true},
	{"the copy of %s is begun from that of %s", [2]uint8{places, machines}, (*system).fetch, true},
	{"the copy of %s is begun from rows", [2]uint8{places}, (*system).build, true},
	{"the copy of %s is finished", [2]uint8{places}, (*system).finish, true},
	{"the copy of %s is given up, unfinished", [2]uint8{places}, (*system).abort, true},
	{"%s requests if %s is ready, to drop its copy", [2]uint8{places, machines}, (*system).askReady, true},
	{"the copy of %s is dropped", [2]uint8{places}, (*system).drop, true},

	{"%s begins a read of %s", [2]uint8{machines, partitions}, (*system).beginRead, false},
	{"the reader receives the end of %s", [2]uint8{machines}, (*system).readEnd, true},

	{"%s receives the end of %s, to serve", [2]uint8{places, machines}, (*system).askEnd, true},
	{"%s serves", [2]uint8{places}, (*system).serve, true},
	{"%s steps down", [2]uint8{places}, (*system).stepDown, false},
	{"the writer of %s receives the answer of %s", [2]uint8{ops, machines}, (*system).answer, true},

	{"%s reads the UIDs", [2]uint8{machines}, (*system).readUIDs, true},
	{"%s assigns a UID to %s", [2]uint8{machines, pages}, (*system).assign, false},
	{"%[2]s receives the write of %[1]s", [2]uint8{ops, machines}, (*system).deliver, true},
	{"the write of %s is lost on its way", [2]uint8{ops}, (*system).lose, false},
	{"%s does not learn what became of %s", [2]uint8{machines, ops}, (*system).forget, false},
}

// count returns how many values an argument has.
func (s *system) count(kind uint8) int {
	return [...]int{1, s.machines, len(s.links), s.pages, maxOps, s.machines * s.partitions, s.partitions}[kind]
}

// at splits an argument of kind places.
func (s *system) at(place int) (m, p int) { return place / s.partitions, place % s.partitions }

// copyAt returns the copy of a place.
func (s *system) copyAt(place int) *partitionCopy {
	m, p := s.at(place)
	return &s.c.machines[m].copies[p]
}

// State implements model.System.
func (s system) State() cluster { return s.c }

// each calls do with every possible action and the state after it, until do returns false.
func (s *system) each(do func(a action, after *system) bool) {
	after := *s
	for r := range table {
		for a := range s.count(table[r].args[0]) {
			for b := range s.count(table[r].args[1]) {
				if !table[r].do(&after, a, b) {
					continue
				}
				if !do(action{uint8(r), uint8(a), uint8(b)}, &after) {
					return
				}
				after.c = s.c
			}
		}
	}
}

// Actions implements model.System.
func (s system) Actions() (actions []action) {
	s.each(func(a action, _ *system) bool {
		actions = append(actions, a)
		return true
	})
	return actions
}

// Do implements model.System.
func (s system) Do(a action) (model.System[cluster, action], error) {
	if !table[a.rule].do(&s, int(a.a), int(a.b)) {
		return nil, fmt.Errorf("%s: the action is not possible", s.Say(a))
	}
	s.countCopies()
	return s, s.check()
}

// Say implements model.System.
func (s system) Say(a action) string {
	r := &table[a.rule]
	var args []any
	for i, arg := range []uint8{a.a, a.b} {
		switch r.args[i] {
		case machines:
			args = append(args, fmt.Sprintf("M%d", arg+1))
		case links:
			args = append(args, fmt.Sprintf("link %d", arg+1))
		case pages:
			args = append(args, fmt.Sprintf("page %d", arg+1))
		case ops:
			args = append(args, fmt.Sprintf("operation %d", arg+1))
		case partitions:
			args = append(args, fmt.Sprintf("P%d", arg+1))
		case places:
			m, p := s.at(int(arg))
			args = append(args, fmt.Sprintf("P%d on M%d", p+1, m+1))
		}
	}
	return fmt.Sprintf(r.name, args...)
}

// settle does quiet actions until none is left, without those of one rule. It returns an error if
// an invariant breaks, or if they do not end.
func (s system) settle(without string) (system, error) {
	for range 2000 {
		var next *system
		s.each(func(a action, after *system) bool {
			if table[a.rule].quiet && table[a.rule].name != without {
				next = after
			}
			return next == nil
		})
		if next == nil {
			return s, nil
		}
		next.countCopies()
		if err := next.check(); err != nil {
			return *next, err
		}
		s = *next
	}
	return s, fmt.Errorf("the quiet actions do not end")
}
