// Package cluster tests whole clusters in one process, on a network in memory and disks that lose
// what was not synced, in virtual time. testdata/scenarios has failures of machines as scripts, which
// TestScenarios plays. Failures between two messages are Go (TestInterleavings), and TestTorture makes
// random ones. A random test prints its seed, and TREFOIL_SEED repeats it.
package cluster
