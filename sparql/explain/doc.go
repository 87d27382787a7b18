// Package explain holds the tree of a query's operators as EXPLAIN shows it.
//
// Package plan makes a [Plan] for each operator, with its estimate. The operators of package exec
// count their rows, reads, time and memory in it while they run.
package explain
