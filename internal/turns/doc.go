// Package turns shares the processors among computations, so that long ones do not
// delay short ones.
//
// A computation has a [Turn]. It begins in the short lane and calls [Turn.Check] at its
// checkpoints. There it moves to the long lane when it has computed for [Options.Short], or for 10
// ms if others wait for the short lane. If it is known to be long, it moves at once
// ([Turn.ToLong]). Each lane has its own slots, so a short computation waits only for the first
// slices of others. If a computation meets no checkpoint for two slices, it loses its slot to
// waiting ones. At most [Options.Overdue] of them go on without a slot.
//
// In both lanes clients have equal shares: the client with the least time goes first. But three of
// four slots of the short lane go to the computations that have had the fewest slices, whatever
// their clients had: else clients that hang up and begin again fill it with what will move to the
// long lane. The fourth is for those that would starve.
//
// In the long lane, the computations of one client go in the order of their deadlines. A deadline
// is the begin of the wait, plus four times the computed time, at most ten seconds. So a
// computation that has computed little is served soon, and none starves: no deadline is more than
// ten seconds away, and the time of a waiting client falls behind that of others.
//
// A computation must also have a seat if it holds much memory ([Turn.Sit]). There are few. While it
// waits for a seat it holds little. No client can have all seats: it gets one only if it has fewer
// than twice the free ones.
//
// If a computation waits for something else, such as a client or another machine, it gives its slot
// back meanwhile: [Turn.Wait], or [Wait] if only the context is known.
package turns
