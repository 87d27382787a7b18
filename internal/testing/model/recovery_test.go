// Liveness: if the faults end and most members run and reach each other, the cluster answers again.

package model

import (
	"errors"
	"fmt"
	"slices"
)

// recovers reports whether an action needs no fault and no client, or answers earlier faults: a
// machine is excluded only if it is dead, or if its disk lacks something. What excluded machines
// still hand over is not needed. They could go on for ever, because an operation has one driver here.
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
	case handOver:
		return s.c.isMember(s.c.latest(), int(a.b))
	}
	return slices.Contains(quiet, a.kind)
}

// maxPhaseSteps bounds how many steps of a fair schedule one epoch takes if there are no faults.
const maxPhaseSteps = 100

// maxFailed is how many machines may fail so that each triple has a copy left.
const maxFailed = 2

// answersAgain returns an error if the cluster does not answer after the last fault, or stays in one
// epoch for more than maxPhaseSteps. All machines are reached and write again. Those of dead stay
// down if most members remain, with a copy of each row, and the setting has a placement for them; all others run. Then the
// actions that recover it happen in a fair order, until none is left.
//
// known is false if nothing can be said, because the bound of views ends the run, or because the
// setting has no placement without the disks that lack something.
func (s *model) answersAgain(dead set) (known bool, err error) {
	// 1. End the faults. A machine that is down starts again, with the disk that it has.
	end := model{s.setting, s.c}
	v := s.c.latest()
	if rest := v.members &^ dead; 2*rest.len() <= v.members.len() || !s.placedWithout(dead) {
		dead = 0
	}
	// More machines without their rows than the copies make up for: then some row may be lost for good.
	start, left := &s.start.left, &s.c.left
	if failed := int(start.excludes-left.excludes) + int(start.diskFaults-left.diskFaults) + dead.len(); failed > maxFailed {
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
	// 2. A machine is excluded if it is dead or has lost its disk.
	out := dead
	for m := range s.machines {
		if v.members.has(m) && !end.diskShows(m) {
			out |= 1 << m
		}
	}
	if out != 0 && !end.placedWithout(out) {
		return false, nil
	}
	end.c.left.excludes += uint8(dead.len()) + s.start.left.diskFaults - s.c.left.diskFaults
	// 3. Let the cluster act until it rests. The rarest action is next, because a fixed order would
	// repeat some actions for ever and never reach others.
	done := map[action]int{}
	for epoch, steps := end.c.last, 0; ; steps++ {
		if end.c.last != epoch {
			epoch, steps = end.c.last, 0
		}
		next, ok := end.rarest(done, dead)
		if !ok {
			break
		}
		if steps == maxPhaseSteps {
			return true, fmt.Errorf("%w: epoch %d is in phase %s for more than %d steps", errNoAnswer, epoch, end.c.latest().phase, steps)
		}
		done[next]++
		after, err := end.Do(next)
		if err != nil {
			return true, err
		}
		end = after.(model)
	}
	if int(end.c.last)+1 >= maxViews || end.lacksPlacement() {
		return false, nil
	}
	return true, end.answersAll()
}

// placedWithout reports whether there is a placement of the members without some machines.
func (s *model) placedWithout(out set) bool {
	rest := s.c.latest().members &^ out
	return slices.ContainsFunc(s.layouts, func(l layout) bool { return l.holders == rest })
}

// lacksPlacement reports whether a member that is back is to be excluded, because others that are back know what
// its disk lacks, and there is no placement without it.
func (s *model) lacksPlacement() bool {
	v := s.c.latest()
	for m := range s.machines {
		if n := &s.c.machines[m]; s.c.isMember(v, m) && n.waits && !s.diskShows(m) && !s.placedWithout(setOf(m)) {
			return true
		}
	}
	return false
}

// rarest returns the possible action that recovers the cluster and was done least often. ok is false
// if there is none.
func (s *model) rarest(done map[action]int, dead set) (next action, ok bool) {
	for _, a := range s.Actions() {
		if s.recovers(a, dead) && (!ok || done[a] < done[next]) {
			next, ok = a, true
		}
	}
	return next, ok
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
