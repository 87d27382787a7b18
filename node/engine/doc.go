// Package engine runs SPARQL on a node's store. It gives package sparql what that
// leaves to others: snapshots, a clock, randomness, temporary files, the network,
// and the limits of time and memory.
package engine
