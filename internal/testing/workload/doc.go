// The package comment.

// Package workload runs workloads of transactions on a store, and judges their histories.
//
// # Workloads
//
// A [Workload] says which transactions are run, and what must hold besides [history.Check]:
//
//	Bank        transfers between counters: each read of all has the same sum
//	ListAppend  reads and appends of some lists: any anomaly of Elle
//	WriteSkew   each reads two lists and appends to one: G2-item unless the store is serializable
//	LongFork    blind appends to single lists, reads of several: G-nonadjacent
//	Counter     increments and reads of one counter: never fewer than were acknowledged
//
// [Run] runs one by concurrent processes, records the transactions, reads all keys at the end, and
// returns the history with its anomalies. [history.Report.Violations] selects those that break a level.
//
// # Stores
//
// A [Store] runs a transaction, and the processes may have different ones, such as the members of a
// cluster. [SPARQL] is any server with SPARQL queries and updates. [Memory] is the reference: it has
// strong snapshot isolation, and [Bugs] that the workloads must find.
//
// # How triples carry lists and counters
//
//	<list/3>    :length 2 .             a counter is one triple, which each Add replaces
//	<list/3>    :element "0:17", "1:23" . position:element
//	<counter/3> :value 95 .
//	<txn/a-7>   :reads "list 3 2 0:17 1:23;counter 3 95" .
//
// Two appends to one list must conflict, as two writes of one object do. Both delete the same triple, the
// length, and so the second one to commit is rejected if the first writer wins. Their elements would
// not conflict, because they are different triples. A list is torn if its positions are not 0 to length-1.
//
// A transaction that only reads is one query. One that writes is one update, because a request is the
// largest transaction of a server. An update returns counts only. If it reads, it therefore writes
// what it read, into one triple of its own, and a query fetches that afterwards. One triple is
// atomic in every store, so that the record is reliable even if updates are not atomic.
//
// # Outcomes
//
// The answer to an update decides the outcome. An error leaves it unknown, except for those that
// promise that nothing was done. A transaction whose record cannot be fetched is unknown, too: that is
// weaker and never wrong.
//
// # Sources
//
//   - Jepsen's workloads: bank, append, long-fork, https://github.com/jepsen-io/jepsen
//   - Berenson et al., A Critique of ANSI SQL Isolation Levels, SIGMOD 1995: write skew, lost update
//   - Sovran et al., Transactional Storage for Geo-Replicated Systems, SOSP 2011: long fork
package workload
