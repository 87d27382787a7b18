// Package txmodel is a model of transactions over the triples of a cluster, before their code: atomic
// updates, queries of one moment, and refusal of the second of two updates that conflict. The
// invariants are checked after every step. Small settings are explored exhaustively, larger ones at
// random, both by the kernel of package model.
//
// # The design
//
// One member is the oracle of a view. It issues ticks (epoch, n) from memory. A query reads at the
// last tick that was issued when it began. A transaction reads at one, too, and writes as follows:
//
//	coordinator            sequencer of a triple           places             oracle
//	   | submit, snapshot ---> | conflict? wait for a younger  |                 |
//	   |                       |   transaction's part          |                 |
//	   |                       | deliver intent -------------> | write, fsync    |
//	   | <----- in all places  | <---------------------------- |                 |
//	   | all parts are durable: request a tick ------------------------------> | tick: committed
//	   | <------------------------------------------------------------------ |
//	   | acknowledge           |                               |                 |
//	   | outcome, later -----> | with later deliveries ------> | row of the tick |
//
// The tick is requested after all parts are durable. So each snapshot that was issued before is lower,
// and a reader that meets an intent needs neither the writer nor its places: the oracle has the tick,
// or any tick to come is greater than the snapshot. There are no read floors, no records of
// transactions, and a second round of messages, but none of syncs.
//
// The oracle's memory is the ticks of transactions whose outcome some place lacks. If the next view has
// the same oracle, its memory goes on. Else the next one waits until all members have adopted its view,
// and collects the outcomes that they know. A transaction that nobody knows is committed again, under a
// tick before the first snapshot, if its coordinator is lost or has requested a tick, and all places
// with all rows have all its parts; otherwise it is aborted, because it never had a tick.
//
// # Conclusions
//
// Each rule has a knob, and a trace without it (TestRules). Those that are easily forgotten:
//
//   - A part is written with the outcomes of the triple's earlier parts, in one batch. So do fills.
//   - A sequencer accepts parts when it has the intents of all members of its view (reconcile).
//   - A part that meets an older transaction's undecided part is refused at once; only an older one waits.
//     If both wait, two transactions on the same two triples never end.
//   - A coordinator without an answer from a lost oracle must not request a second tick, because a query
//     may have seen the first one.
//   - A query whose snapshot is older than the oracle's memory ends with an error if it meets a
//     transaction that began before and was decided after. No other query is disturbed.
//   - A coordinator reports "nothing was done" only after a conflict. If it gives up for another reason,
//     the outcome is unknown, as it is today.
//
// Not needed: answers of parts from one and the same epoch, because full places keep intents and fills
// copy them; ticks of a transaction's own for what is committed again; a delivery to other places before
// snapshots are issued.
//
// # What the code does differently
//
// Package writes commits as here: at a tick that is requested when all parts are durable. But its sequencers request
// it, one message each, and the oracle issues it with the last one. It does not abort what is left of a lost
// coordinator: parts carry all operations of the transaction, and other members complete it. Updates take turns
// (package lock) in place of conflicts. After a change of the view its readers may see a part until that is done.
//
// # What is granted
//
// Package model proves what this one takes for granted: views, leases, gates, and that writes go to the
// places of base and target. Agreement takes no time. The oracle collects from all members in one
// step, because a member of its epoch can only learn more. Messages are not delivered in another epoch.
// Not in it: writes without a snapshot, reads of ranges, purges of old rows, bulk loads.
//
// # How to read it
//
// All is in test files. state_test.go is the state, actions_test.go the table of all that may happen;
// transactions_test.go, oracle_test.go, reads_test.go and views_test.go have the functions.
// invariants_test.go has the six invariants, knobs_test.go a knob for each rule.
//
// TREFOIL_MODEL_SECONDS makes the random runs longer; TREFOIL_SEED repeats one.
package txmodel
