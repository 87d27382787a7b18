// Package triples answers for triples: ranges, patterns, counts, additions, deletions, bulk
// loads, and Triple Pattern Fragments.
//
// A read is a query, of a range or of a pattern. Without a limit its rows are a stream. With
// one they are a page, and a cursor continues after its last row. A write parses a document
// and changes the store; a load hands the body to package rdfload instead, because it may be
// larger than the memory.
package triples
