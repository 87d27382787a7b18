package model

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"strings"
)

// This file is the kernel: it explores what a system can do, exhaustively or at
// random, and prints and shortens the traces that end in a violation.

// A System is a state with the actions that are possible in it. C is the
// system's comparable state: two systems with equal states behave alike. The
// methods are pure.
type System[C comparable, A comparable] interface {
	// State returns what tells this state from others.
	State() C
	// Actions returns what can happen now, in an order that is always the same.
	Actions() []A
	// Do returns the state after an action that Actions returned, or an error
	// that names the invariant which the step broke.
	Do(A) (System[C, A], error)
	// Say says an action of this state in words.
	Say(A) string
}

// A Trace is a run: what happened, in order, and the invariant that it broke.
type Trace[A comparable] struct {
	Steps []A
	Err   error
}

// Print returns the trace as numbered lines, each said in the state where it
// happens.
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

// Bounds end an exploration early. Zero means unbounded.
type Bounds struct {
	States, Depth int
}

// Result is what an exploration found.
type Result[A comparable] struct {
	States, Depth int
	// Complete says that every reachable state was seen, none cut off by bounds.
	Complete bool
	// Broken is a shortest run to a violation, or nil.
	Broken *Trace[A]
	// Reached is a shortest run to the goal, or nil.
	Reached *Trace[A]
}

var hashSeed = maphash.MakeSeed()

// Explore visits every state that can be reached, breadth first, so that the
// run to the first violation is a shortest one. It stops there, or at the first
// state where goal holds, if there is a goal. States are told apart by 64-bit
// hashes under a seed of the process: of a million states two are taken for one
// with a chance of 3 in 10^8, and hardly the same two the next time.
func Explore[C, A comparable](from System[C, A], bounds Bounds, goal func(C) bool) Result[A] {
	type step struct {
		parent int32
		action A
	}
	type open struct {
		system System[C, A]
		at     int32
	}
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
	seen := map[uint64]struct{}{maphash.Comparable(hashSeed, from.State()): {}}
	frontier := []open{{from, 0}}
	result := Result[A]{Complete: true}
	for depth := 0; len(frontier) > 0; depth++ {
		result.Depth = depth
		if bounds.Depth > 0 && depth == bounds.Depth {
			result.Complete = false
			break
		}
		var next []open
		for _, o := range frontier {
			for _, action := range o.system.Actions() {
				after, err := o.system.Do(action)
				if err != nil {
					result.Broken = &Trace[A]{append(run(o.at), action), err}
					result.States, result.Complete = len(seen), false
					return result
				}
				hash := maphash.Comparable(hashSeed, after.State())
				if _, ok := seen[hash]; ok {
					continue
				}
				if bounds.States > 0 && len(seen) >= bounds.States {
					result.Complete = false
					continue
				}
				seen[hash] = struct{}{}
				steps = append(steps, step{o.at, action})
				at := int32(len(steps) - 1)
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

// Wander makes a run of random actions, of so many steps at most. weight says
// how likely an action is beside others; nil: all alike. watch, if not nil, sees
// each step.
func Wander[C, A comparable](from System[C, A], r *rand.Rand, steps int, weight func(A) int, watch func(before C, a A, after C)) Trace[A] {
	var t Trace[A]
	for s := from; len(t.Steps) < steps; {
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

// Replay does the steps that are possible, in order, and leaves the others out.
// It returns the state before the end, and the run as it went.
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

// Shrink leaves steps out of a broken run as long as it stays broken, in
// whatever way: halves first, single steps at last.
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
