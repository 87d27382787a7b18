// Package state has what readers see of the cells of one machine: a [State] is immutable, and belongs to
// a position of the feed. The [Board] has the last one, waits for newer ones, and knows why there is none.
//
// The keeper publishes to the board; reads take a state from it, and read lists, labels and pages from it
// without locks.
package state
