// Package backfill copies what a new layout lacks: each member passes once over its own rows
// and sends those that a place of the target layout needs.
//
//	view in phase fill -> Filler.Run
//	    snapshot          taken after the view was adopted: later writes reach the new
//	                      places by themselves
//	    pass              the ranges of recovery.Backfill, row by row
//	    Resolver.Fills    which places of the target have this row from this machine
//	    outbox            one for each machine: messages of some 128 KiB, three at a time
//	    cluster/fill      the receiver writes the rows under the same epoch
//	    cluster/sync      the receiver makes all of them durable; it answers with its mark
//	-> marks              the member reports them, and the leader proposes the next view
//
// A row of an operation in flight is sent with that operation, because its receiver must be
// able to complete it. The pass slows down while requests run (package throttle), and sends
// planned moves at a bounded rate. The answer to a message has the pause of the sender.
//
// If the view changes while a backfill runs, the next one does not send everything again:
// history.go remembers in memory how far each earlier pass came.
package backfill
