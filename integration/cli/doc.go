// Package cli tests the trefoil binary as its users meet it: arguments in,
// answers, messages and exit codes out, processes that are killed, pipes that
// close, disks' worth of bad input.
package cli
