// Package processes tests clusters of real processes of the trefoil binary: they
// are killed, stopped, restarted and cut off from each other while clients read
// and write, and every answer is checked against what the clients did.
//
// TREFOIL_TORTURE=10m makes the random runs last so long, and TREFOIL_SEED repeats
// the choices of one.
package processes
