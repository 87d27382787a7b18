// Package scan has the operators that read rows of the source: scans and look-ups of patterns, merge joins, counts.
//
// A [Lookup] or a [Star] has a [Finder], which reads the ranges of many rows in the order of keys, each once. A [Cursor]
// reads one range from its beginning, for merge joins and for counts of terms.
package scan
