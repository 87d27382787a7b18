// The table of the actions. One function decides if an action is possible, and does it.

package txmodel

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
	triples
	txns
	parts // a transaction and a triple: transaction * triples + triple
)

// rule is one kind of action. do reports whether the action is possible, and does it. If it returns
// false, the state is not used. Quiet actions need no client and no fault.
type rule struct {
	name  string
	args  [2]uint8
	do    func(s *system, a, b int) bool
	quiet bool
}

var table = []rule{
	{"%s crashes", [2]uint8{machines}, (*system).crash, false},
	{"all machines lose power, and start again", [2]uint8{}, (*system).blackout, false},
	{"%s is isolated", [2]uint8{machines}, (*system).cut, false},
	{"%s is connected again", [2]uint8{machines}, (*system).heal, true},
	{"the lease of %s expires", [2]uint8{machines}, (*system).expire, true},
	{"the leader excludes %s", [2]uint8{machines}, (*system).exclude, true},
	{"the leader admits %s", [2]uint8{machines}, (*system).admit, false},
	{"%s adopts the newest view", [2]uint8{machines}, (*system).adopt, true},
	{"%s is copied to %s", [2]uint8{triples, machines}, (*system).fill, true},
	{"%s has all intents of its triples", [2]uint8{machines}, (*system).reconcile, true},

	{"the oracle on %s opens", [2]uint8{machines}, (*system).open, true},
	{"the oracle aborts %s, whose coordinator is lost", [2]uint8{txns}, (*system).abortLeft, true},

	{"%s begins on %s", [2]uint8{txns, machines}, (*system).begin, false},
	{"%s submits its part of %s", [2]uint8{txns, triples}, (*system).submit, true},
	{"%s is stored on %s", [2]uint8{parts, machines}, (*system).store, true},
	{"the coordinator of %s receives that %s is in all places", [2]uint8{txns, triples}, (*system).report, true},
	{"%s requests its tick", [2]uint8{txns}, (*system).request, true},
	{"the oracle issues the tick of %s", [2]uint8{txns}, (*system).decide, true},
	{"the coordinator of %s receives its outcome", [2]uint8{txns}, (*system).answer, true},
	{"%s is acknowledged", [2]uint8{txns}, (*system).ack, true},
	{"the outcome of %s reaches %s", [2]uint8{txns, machines}, (*system).spread, true},
	{"%s syncs", [2]uint8{machines}, (*system).sync, true},
	{"%s is given up", [2]uint8{txns}, (*system).giveUp, true},

	{"%s begins a query", [2]uint8{machines}, (*system).beginRead, false},
	{"the query reads %s on %s", [2]uint8{triples, machines}, (*system).readAt, false},
	{"the query ends", [2]uint8{}, (*system).endRead, false},
}

// count returns how many values an argument has.
func (s *system) count(kind uint8) int {
	return [...]int{1, s.machines, s.triples, len(s.writes), len(s.writes) * s.triples}[kind]
}

// State implements model.System.
func (s system) State() cluster { return s.c }

// each calls do with every possible action and the state after it, until do returns false.
func (s *system) each(do func(a action, after *system) bool) {
	after := *s
	for r := range table {
		for a := range s.count(table[r].args[0]) {
			for b := range s.count(table[r].args[1]) {
				after.c = s.c
				if table[r].do(&after, a, b) && !do(action{uint8(r), uint8(a), uint8(b)}, &after) {
					return
				}
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
		case triples:
			args = append(args, fmt.Sprintf("triple %d", arg+1))
		case txns:
			args = append(args, fmt.Sprintf("T%d", arg+1))
		case parts:
			args = append(args, fmt.Sprintf("T%d on triple %d", int(arg)/s.triples+1, int(arg)%s.triples+1))
		}
	}
	return fmt.Sprintf(r.name, args...)
}

// settle does quiet actions until none is left. It returns an error if an invariant breaks, or if they
// do not end.
func (s system) settle() (system, error) {
	for range 2000 {
		var next *system
		s.each(func(a action, after *system) bool {
			if table[a.rule].quiet {
				next = after
			}
			return next == nil
		})
		if next == nil {
			return s, nil
		}
		if err := next.check(); err != nil {
			return *next, err
		}
		s = *next
	}
	return s, fmt.Errorf("the quiet actions do not end")
}
