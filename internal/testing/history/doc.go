// The package comment.

// Package history records transactions that clients ran on a store, and finds out which isolation
// levels the store broke. It sees what clients see, and nothing of the store.
//
// # Problem
//
// A store promises snapshot isolation. A test that only compares sums sees few of the ways in which
// the promise can fail, and cannot name them. Search for an order of all transactions that explains
// every answer is NP-complete for registers. Elle avoids the search: if each write appends a unique
// element to a list, then a read of the list shows all versions before it, in their order, and each
// element names its writer. So the dependencies between transactions follow from the answers, and
// an anomaly is a cycle of dependencies.
//
// # Route of the data
//
// A [Recorder] takes the begin and the end of each transaction, and [Recorder.History] returns them
// as a list of [Txn]. [Check] finds the anomalies of the list, as follows:
//
//	observations   each read less the transaction's own appends      internal, torn-read
//	versions       for each key, the longest list that was read      incompatible-order, G1a, G1b, ...
//	dependencies   ww, wr and rw edges between committed transactions
//	orders         edges of processes and of real time
//	cycles         components of several graphs, one cycle of each
//
// # Outcomes
//
// A transaction is committed, aborted or unknown. An unknown one counts as committed if somebody read
// one of its appends, and is left out if not. Nothing follows it in real time, because it may have been
// committed at any time after its begin. Its own reads are not known.
//
// # Dependencies
//
//	ww  T1 -> T2   T2 appended the next element behind one of T1
//	wr  T1 -> T2   the last element that T2 read is T1's
//	rw  T1 -> T2   T2 appended the next element behind what T1 read (anti-dependency)
//	process        one process ran T1 and then T2
//	real time      T1 ended before T2 began
//
// A committed append that no read has is behind all elements that were read, because each read is a
// prefix of the order. It gets edges from the last writer and from the last readers.
//
// Only few edges of real time are needed, because it is transitive. T2 gets edges from transactions that
// ended before its begin, unless another one began and ended in between (Elle does the same).
//
// # Cycles and levels
//
// Let a transaction have a snapshot s and a commit c, and s < c. Under snapshot isolation an edge of
// ww or wr means c1 < s2, and so do the edges of processes and real time if these are promised. An
// edge of rw means only s1 < c2. Hence a history is of snapshot isolation if and only if the graph of
// these points in time has no cycle. It is the same to say that each cycle of transactions has two rw
// edges in a row (Cerone and Gotsman). A history is serializable if transactions have no cycle at all.
// Both are decided by strongly connected components in linear time. So the verdict about a level is
// exact, while the cycles are only examples: one or more of each component. They are named by their
// edges:
//
//	G0             ww only                                        breaks all levels
//	G1c            ww and wr                                      read committed
//	G-single       one rw: read skew                              snapshot isolation
//	G-nonadjacent  several rw, no two in a row: long fork         snapshot isolation
//	G2-item        two rw in a row: write skew                    serializable
//
// The suffix -process or -realtime says that the cycle needs such an edge. It breaks only the level
// with that promise: G-single-realtime breaks strong snapshot isolation, but no plain one. What is
// found without the graph: G1a (read of an aborted transaction), G1b (read of an intermediate version),
// internal (a transaction contradicts itself), lost-update (two transactions read the same version of
// a key, and both appended to it), torn-read (no execution makes that list), incompatible-order,
// duplicate-element and garbage-read.
//
// # What is left out
//
// Predicates (G2 without -item), deletes, registers. Elle infers more from registers, but less
// surely. Counters are recorded for package workload, and Check ignores them.
//
// No Go library does this: the one port of Elle, in pingcap/tipocket, is archived, is a part of a tool
// for Kubernetes, and no proxy has it. Components are computed here, in forty lines, because gonum's
// topo is recursive, keeps nodes in maps, and would bring a numeric library.
//
// # Figures
//
// 100,000 transactions of a correct store take 1.1 to 1.4 s on a busy machine, those of a broken one 8 to 13 s. The
// verdicts about small histories are those of a search of all orders of snapshots and commits (TestAgainstSearch); if
// no read has all committed appends, Check may miss what the search finds. Of 1,500 verdicts about 300
// histories of up to 70 transactions, at five levels, 1,499 are those of adya 0.1.0, a program in Rust that follows
// Elle. In the other history, what was given to adya had one process divided into two.
//
// # Sources
//
//   - Kingsbury and Alvaro, Elle: Inferring Isolation Anomalies from Experimental Observations, VLDB
//     2020, and the program, https://github.com/jepsen-io/elle
//   - Adya, Liskov and O'Neil, Generalized Isolation Level Definitions, ICDE 2000
//   - Cerone and Gotsman, Analysing Snapshot Isolation, PODC 2016
//   - Daudjee and Salem, Lazy Database Replication with Snapshot Isolation, VLDB 2006: strong and
//     strong session snapshot isolation
//   - Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1972
package history
