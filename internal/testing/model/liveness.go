// Liveness: if the faults end and most members run and reach each other, the cluster answers again.

package model

import (
	"errors"
	"fmt"
	"slices"
)

// recovers reports whether an action needs no fault and no client, or answers earlier faults: a
// machine is excluded only if it is dead, or if its disk lacks something.
func (s *model) recovers(a action, dead set) bool {
	switch a.kind {
	case readmit, expire:
		return true
	case exclude:
		for m := range s.machines {
			if set(a.a).has(m) && !dead.has(m) && (!s.c.machines[m].up || s.diskShows(m)) {
				return false
			}
		}
		return true
	}
	return slices.Contains(quiet, a.kind)
}

// answersAgain returns an error if the cluster does not answer after the last fault. All machines
// are reached and write again. Those of dead stay down if most members remain, for which the
// setting has a placement; all others run. Then the actions that recover it happen, in the order of
// Actions, until none is left.
//
// It returns nil if the bound of views ends the run, because then nothing is known.
func (s *model) answersAgain(dead set) error {
	// 1. End the faults. A machine that is down starts again, with the disk that it has.
	end := model{s.setting, s.c}
	v := s.c.latest()
	if rest := v.members &^ dead; 2*rest.len() <= v.members.len() || !slices.ContainsFunc(s.layouts, func(l layout) bool { return l.holders == rest }) {
		dead = 0
	}
	t := step{setting: s.setting, c: &end.c}
	for m := range s.machines {
		n := &end.c.machines[m]
		n.stalled = false
		if !n.up && !dead.has(m) {
			t.restart(n)
		}
		t.fault(action{kind: heal, a: uint8(m)}) // it gets its lease again, too
	}
	// A machine is excluded if it is dead or has lost its disk.
	end.c.left.excludes += uint8(dead.len()) + s.start.left.diskFaults - s.c.left.diskFaults
	// 2. Let the cluster act until it rests.
	for {
		actions := end.Actions()
		i := slices.IndexFunc(actions, func(a action) bool { return end.recovers(a, dead) })
		if i < 0 {
			break
		}
		after, err := end.Do(actions[i])
		if err != nil {
			return err
		}
		end = after.(model)
	}
	if int(end.c.last)+1 >= maxViews {
		return nil
	}
	return end.answersAll()
}

var errNoAnswer = errors.New("liveness: the faults are over, and the cluster does not answer")

// answersAll returns an error unless the cluster is idle and each triple is answered in each
// order, or known as lost.
func (s *model) answersAll() error {
	v := s.c.latest()
	if v.phase != idle {
		return fmt.Errorf("%w: epoch %d stays in phase %s", errNoAnswer, s.c.last, v.phase)
	}
	var answered [kinds]set
	_ = s.answers(func(_, x, k int, _ row) error {
		answered[k] |= 1 << x
		return nil
	})
	for x := range s.triples {
		for k := spo; k <= osp; k++ {
			if !answered[k].has(x) && !v.lost.has(x) {
				return fmt.Errorf("%w: nobody answers for %s of t%d in epoch %d", errNoAnswer, kindNames[k], x, s.c.last)
			}
		}
	}
	return nil
}
