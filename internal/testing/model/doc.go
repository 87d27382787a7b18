// Package model is a model of the cluster's protocol: its states, the possible actions in each, and
// the invariants. The invariants are checked after every step. Small settings are explored
// exhaustively, larger ones at random. It is a model, so it has no process, disk or network.
//
// # What is in it
//
//   - Placements, slots and extras of 2-5 machines: the real trie, placements and
//     recovery.Places, over real keys.
//   - Views with base, target and phase, agreed on by a register that is never
//     wrong (Raft is taken for granted) and adopted by each node in its own time;
//     the gate between epochs; joins, moves, leaving (a move to a smaller ring),
//     exclusion, spares, machines that come back with their disk, without it, or
//     with its tail cut off; LOST.
//   - Walks: snapshots, who sends what to whom, syncs, sweeps, purges.
//   - Adds and deletes: stamps, parallel stores, lost answers, settled
//     operations, watermarks, handing over what a dead sequencer left.
//   - Reads of one triple in each order by every machine that may answer, in
//     every state, not only in states where somebody reads: what they would
//     return is held against what was settled.
//   - Bulk loads in two epochs; one row of scrub.
//   - Apart from the rest, because it needs time: leases with messages on their
//     way, slow clocks, suspend and new leaders; and generations.
//
// # What is not
//
// Raft, gossip and elections themselves (the leader is one, and always right);
// one-way partitions, but as lost answers and leases that lapse; GSPO and annotations; ranges over many segments and
// cursors; queries; streams, batches and byte budgets; the choice of the most
// accused slow machine; full disks; salvage; more than one load, or a load
// while a change is filled; two machines that die while a load is ingested (the
// model waits for one of them). A crash ends a lease at once: that the leader waits
// for it is in the model of leases alone. Messages are never delivered in another
// epoch than they were sent in, which the check of epochs sees to; the rule
// CheckThenApply takes it away. An operation has one driver at a time: an
// excluded sequencer and the new one never drive it together here. Of liveness, what
// is checked is that the cluster answers if the faults end in a state, and stays in no epoch for more
// than a bound of steps, in one fair order (recovery_test.go).
//
// # How to read it
//
// kernel.go explores any system; package linkmodel uses it too. All else is the system itself, in test
// files because only the tests run it: state_test.go is the state. views, operations, leader, members and
// faults say what is possible and what it does; each has a method of list for
// the one and methods of step for the other. invariants has the fifteen
// invariants by their numbers. knobs has a knob for each rule of the
// protocol, and the tests show what happens without it: a rule whose absence
// goes unnoticed is a rule that is not tested.
//
// TREFOIL_MODEL_SECONDS makes the random runs longer (with go test -count 1, or
// an old result is shown); they print the seed, and TREFOIL_SEED repeats one run. A run that breaks is shortened and printed step by
// step.
package model
