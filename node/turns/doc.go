// Package turns shares the processors among computations, so that long ones do not
// delay short ones.
//
// A computation has a [Turn]. It begins in the short lane and calls [Turn.Check] at its
// checkpoints. There it moves to the long lane once it has computed for
// [Options.Short], or for 10 ms if others wait for the short lane; one that is known to
// be long moves at once ([Turn.ToLong]). The two lanes have slots of their own: however
// many long computations there are, a short one waits for the first slices of others
// only. A computation that meets no checkpoint for two slices loses its slot to those
// that wait; [Options.Overdue] of them go on at once at most.
//
// In both lanes clients have equal shares: the client that had least goes first. Of one
// client the computation goes first in the long lane whose deadline is next: the time
// at which it began to wait, and four times what it has computed, ten seconds at most.
// So one that has computed little is soon served, and nobody starves: no deadline is
// farther away than ten seconds, and a client that waits falls behind in what it had.
//
// A computation that holds much memory needs a seat too ([Turn.Sit]). There are few;
// one that waits for a seat holds little. No client can have all seats: it gets one
// only while it has fewer than twice those that are free.
//
// A computation that waits for something else, a client or another machine, gives its
// slot back meanwhile: [Turn.Wait], or [Wait] where only the context is known.
package turns
