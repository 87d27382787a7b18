// The kernel: it explores the states of a system, exhaustively or at random. It prints and
// shortens the traces that end in a violation.

package model

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"strings"
)

// This file is the kernel: it explores what a system can do, exhaustively or at
// random, and prints and shortens the traces that end in a violation.

// A System is a state with its possible actions. C is the system's comparable state: if two systems
// have equal states, they behave alike. The methods must be pure.
type System[C comparable, A comparable] interface {
	// State returns the comparable state.
	State() C
	// Actions returns the possible actions. Their order must depend on the state only.
	Actions() []A
	// Do returns the state after an action from Actions, or an error with the broken invariant.
	Do(A) (System[C, A], error)
	// Say returns an action of this state in words.
	Say(A) string
}

// A Trace is a run: its actions in order, and the broken invariant.
type Trace[A comparable] struct {
	Steps []A
	Err   error
}

// Print returns the trace as numbered lines. Each action is described in the state before it.
func Print[C, A comparable](from System[C, A], t Trace[A]) string {
	var b strings.Builder
	s := from
	for i, step := range t.Steps {
		fmt.Fprintf(&b, "%3d  %s\n", i+1, s.Say(step))
		after, err := s.Do(step)
		if err != nil {
			break
		}
		s = after
	}
	fmt.Fprintf(&b, "     %v\n", t.Err)
	return b.String()
}

// Bounds limit an exploration. Zero is no limit.
type Bounds struct {
	States, Depth int
}

// Result is the result of an exploration.
type Result[A comparable] struct {
	States, Depth int
	// Complete is set if every reachable state was seen, so no bound was hit.
	Complete bool
	// Broken is a shortest run to a violation, or nil.
	Broken *Trace[A]
	// Reached is a shortest run to the goal, or nil.
	Reached *Trace[A]
}

var hashSeed = maphash.MakeSeed()

// Explore visits every reachable state, breadth first, because the first violation is then a
// shortest one. It stops there, or at the first state with goal, if there is a goal. States are
// distinguished by 64-bit hashes under a seed of the process. Of a million states, two collide with
// a chance of 3 in 10^8, and hardly the same two next time.
func Explore[C, A comparable](from System[C, A], bounds Bounds, goal func(C) bool) Result[A] {
	type step struct {
		parent int32
		action A
	}
	type open struct {
		system System[C, A]
		at     int32
	}
	// 1. steps is a tree of actions; run returns the path to a node.
	steps := []step{{parent: -1}}
	run := func(at int32) (actions []A) {
		for ; steps[at].parent >= 0; at = steps[at].parent {
			actions = append(actions, steps[at].action)
		}
		for i, j := 0, len(actions)-1; i < j; i, j = i+1, j-1 {
			actions[i], actions[j] = actions[j], actions[i]
		}
		return actions
	}
	// 2. Visit the states of one depth after the other.
	seen := map[uint64]struct{}{maphash.Comparable(hashSeed, from.State()): {}}
	frontier := []open{{from, 0}}
	result := Result[A]{Complete: true}
	for depth := 0; len(frontier) > 0; depth++ {
		result.Depth = depth
		// At the bound of depth the frontier has states whose actions are not done.
		if bounds.Depth > 0 && depth == bounds.Depth {
			result.Complete = false
			break
		}
		var next []open
		for _, o := range frontier {
			for _, action := range o.system.Actions() {
				after, err := o.system.Do(action)
				if err != nil {
					// A violation ends the search, because later ones may follow from it.
					result.Broken = &Trace[A]{append(run(o.at), action), err}
					result.States, result.Complete = len(seen), false
					return result
				}
				// Only hashes are kept, because the states of a run do not fit in memory.
				hash := maphash.Comparable(hashSeed, after.State())
				if _, ok := seen[hash]; ok {
					continue
				}
				// No state is added beyond the bound, but violations are still found.
				if bounds.States > 0 && len(seen) >= bounds.States {
					result.Complete = false
					continue
				}
				seen[hash] = struct{}{}
				steps = append(steps, step{o.at, action})
				at := int32(len(steps) - 1)
				// The first run to the goal is a shortest one, so the search ends.
				if goal != nil && goal(after.State()) {
					result.Reached = &Trace[A]{Steps: run(at)}
					result.States, result.Complete = len(seen), false
					return result
				}
				next = append(next, open{after, at})
			}
		}
		frontier = next
	}
	result.States = len(seen)
	return result
}

// Wander makes a run of random actions, of at most steps steps. weight returns the relative weight
// of an action; if nil, all are equal. watch, if not nil, is called after each step.
func Wander[C, A comparable](from System[C, A], r *rand.Rand, steps int, weight func(A) int, watch func(before C, a A, after C)) Trace[A] {
	var t Trace[A]
	for s := from; len(t.Steps) < steps; {
		// A weight of 0 excludes an action. If no action is left, the run ends.
		actions := s.Actions()
		total := 0
		for _, a := range actions {
			total += weigh(weight, a)
		}
		if total == 0 {
			return t
		}
		at, n := 0, r.IntN(total)
		for ; n >= weigh(weight, actions[at]); at++ {
			n -= weigh(weight, actions[at])
		}
		after, err := s.Do(actions[at])
		t.Steps = append(t.Steps, actions[at])
		if err != nil {
			t.Err = err
			return t
		}
		if watch != nil {
			watch(s.State(), actions[at], after.State())
		}
		s = after
	}
	return t
}

func weigh[A comparable](weight func(A) int, a A) int {
	if weight == nil {
		return 1
	}
	return weight(a)
}

// Replay does the possible ones of the steps, in order, and skips the others. It returns the state
// before the end, and the run.
func Replay[C, A comparable](from System[C, A], steps []A) (System[C, A], Trace[A]) {
	var t Trace[A]
	s := from
	for _, a := range steps {
		for _, possible := range s.Actions() {
			if possible != a {
				continue
			}
			after, err := s.Do(a)
			t.Steps = append(t.Steps, a)
			if err != nil {
				t.Err = err
				return s, t
			}
			s = after
			break
		}
	}
	return s, t
}

// Shrink removes steps from a broken run if it stays broken, in any way: halves first, single steps
// last.
func Shrink[C, A comparable](from System[C, A], t Trace[A]) Trace[A] {
	for size := len(t.Steps) / 2; size > 0; {
		shorter := false
		for at := 0; at+size <= len(t.Steps); {
			rest := append(append([]A(nil), t.Steps[:at]...), t.Steps[at+size:]...)
			if _, got := Replay(from, rest); got.Err != nil {
				t, shorter = got, true
				continue
			}
			at += size
		}
		if !shorter {
			size /= 2
		} else {
			size = min(size, len(t.Steps)/2)
		}
	}
	return t
}
