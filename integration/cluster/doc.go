// Package cluster tests whole clusters: in one process, on a network in memory and
// disks that lose what was not synced, with virtual time; and with real processes.
// Every test of chance prints its seed, and TREFOIL_SEED repeats it.
package cluster
