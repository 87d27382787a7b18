// Package generation begins a new generation of a cluster when the majority of its voters is
// gone for good. It works on the directories of stopped nodes.
//
// Raft needs a majority to agree on anything (D. Ongaro, Consensus: Bridging Theory and
// Practice, 2014). If most voters are lost, an operator must decide which machines go on. Two
// steps carry that out:
//
//	Inspect   a directory -> its Position: generation, epoch, term
//	Recover   on the newest directory, with the Positions of the others that are kept:
//	          the first view of the new generation, alone in a new log
//	Follow    on each kept directory, with the Ticket of that view: without a log, it joins
//
// A generation has a lineage: the random names of all generations before it. So machines of
// two generations recognize each other, and neither serves the other's data. If the new
// generation may lack acknowledged operations, its first view marks the ranges as lost, and
// reads of them fail until an operator accepts the loss.
package generation

import (
	"crypto/rand"
)

// NewLineage returns a new random name for a history.
func NewLineage() string { return rand.Text()[:16] }
