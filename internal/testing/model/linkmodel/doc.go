// Package linkmodel is a model of the distributed graph of hyperlinks, before its code: copies of
// partitions of pages, which follow the change feed, and UIDs. The invariants are checked after
// every step. Small settings are explored exhaustively, larger ones at random, both by the kernel
// of package model.
//
// # What is granted
//
// Package model proves what this one takes for granted. An acknowledged operation survives as many
// deaths as the cluster promises. Operations in flight roll forward with their old stamps, or no
// machine has them. A joiner has its rows when the view names it. The leader does not exclude a
// machine that has a lease.
//
// # How to read it
//
// state.go is the state. actions.go is the table of all that may happen; truth.go, copies.go,
// reads.go and uids.go have the functions. invariants.go has the eight invariants. rules.go has a
// knob for each rule, and rules_test.go shows what breaks without it.
//
// TREFOIL_MODEL_SECONDS makes the random runs longer; TREFOIL_SEED repeats one.
package linkmodel
