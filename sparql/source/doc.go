// Package source is the contract between queries and stores: a [Source] is a consistent state of
// an ordered store, and [Rows] iterates over its rows.
//
// A query calls Scan, Lookup, Count and Estimate with ranges of keys, and decodes the rows with
// package triple. The planner requests estimates and samples through [Survey], because over a
// cluster each question by itself is a message. Package sourcetest tests if a source keeps the
// contract; package memsource is a source in memory.
package source
