// Package linkmodel is a model of the distributed graph of hyperlinks, before its code: copies of
// partitions of pages, which follow the change feed, and UIDs. The invariants are checked after
// every step. Small settings are explored exhaustively, larger ones at random, both by the kernel
// of package model.
//
// # The design
//
// A link belongs to the partitions of its two pages. Under a view, each partition has a ranking of
// the members. The first ones are its holders, one for each copy, and the very first is its primary.
// A holder has a copy with one position in the feed. A reader must get every change that was
// acknowledged before its read began. There are two options, with a variant each:
//
//   - A: the reader requests the committed end of all members, then any holder that has reached it
//     answers.
//   - A with a quorum: the reader requests what each member has of the epoch, of any sequencer. It
//     needs the answers of all members but copies-1.
//   - B: a writer waits, after the commit, until each member has taken the change in or does not
//     serve. A holder with a lease answers at once.
//   - B, narrow: a holder stops serving when it adopts a view in which it is none. Then a writer waits
//     for the holders under its view and the one before only.
//
// # Conclusions
//
// n is the number of members. Each rule here has a knob, and a trace without it.
//
//	                      A                 A with a quorum     B                  B, narrow
//	messages of a read    n-1, and holders  the same            holders only       holders only
//	messages of a write   none              none                n-1 answers        a holder's answer
//	reads while one is    none              all, but behind     all                all
//	down, not excluded                      what it stamped
//	links written then    as triples        as triples          none               if it holds neither
//	                                                                               page's partition
//	reads after that      when the view is reconciled           at once            at once
//	rules of its own      5                 5                   7, and 4 of A to begin service
//
// "As triples" means: if no place of the triple is on that machine. A writer of B waits for the feed,
// too: its answers come when the copies have taken the change in.
//
// All options need these rules:
//
//   - A copy leaves an epoch, and is built of rows, only when all earlier epochs are reconciled.
//   - A copy's position is read before its content. A fetch must end if its source loses the copy,
//     because the next copy of the source may be older.
//   - A machine may drop its copy when all holders under its own view have reported theirs. If the
//     view was older than the newest, another death before all have adopted that one may cost the
//     last copy. Then the partition is built of rows.
//
// Rules of A: all members answer, each under the reader's epoch and with a lease, after all that it
// has stamped is committed. The lease matters only if all members of the reader's view were replaced.
// Holders need neither lease nor the reader's view, because a position is true in any view. The
// quorum needs that the places of a joiner are added to the old ones until all have adopted its
// view; TestQuorum has the trace without.
//
// Rules of B: the writer needs the answers of all members, because a former holder serves until it
// drops its copy. In the narrow variant it stops before. Silence is no answer. The writer's view must
// be as new as the stamp, which matters only for a writer that was excluded. To begin service, a copy
// must reach the ends of all members. If its machine meanwhile reports to a writer that it does not
// serve, those ends are void. Answers need a lease, and the leader must not exclude within one. A drop
// must not block a catch-up, because two machines may wait for each other's service.
//
// UIDs: the primary waits until earlier epochs are committed, reads its partition, and sends writes
// that are fenced to its epoch. A write whose outcome is unknown may still be on its way under the
// same epoch. So to forget and read again is not enough: the primary must keep the number for its
// page, and send the same triple again, until the epoch ends.
//
// # What is granted
//
// Package model proves what this one takes for granted. An acknowledged operation survives as many
// deaths as the cluster promises. Operations in flight roll forward with their old stamps, or no
// machine has them. A joiner has its rows when the view names it. Agreement and messages take no
// time, but those of UIDs, and requests to several machines are sent one after the other. A change
// has no direction: the copy of a link's first partition has its forward list, the other copy its
// backward list. Planned leaves, splits, bulk loads and trimmed logs are not in it.
//
// # How to read it
//
// All is in test files. state_test.go is the state. actions_test.go is the table of all that may
// happen; truth_test.go, copies_test.go, reads_test.go and uids_test.go have the functions.
// invariants_test.go has the eight invariants. knobs_test.go has a knob for each rule, rules_test.go shows what breaks without it, and options_test.go what the
// options do while a machine is down.
//
// TREFOIL_MODEL_SECONDS makes the random runs longer; TREFOIL_SEED repeats one.
package linkmodel
