// Package recovery decides which machines must hold a triple, and how its copies replace
// each other after a loss.
//
// A triple is a row in each of the orders SPO, POS and OSP, and in GSPO if it is in a named
// graph. If too few machines own these rows, more machines keep a copy of the SPO row, an
// extra replica. Each row and each extra replica is one [Place]. Any one row regenerates all
// others ([Versions]), because every key holds all terms of the triple.
//
// # The main types
//
//	Layout    the segments and their owners, and the number of copies; gives the places of a triple
//	Joint     a base layout, the target layout that replaces it, and the machines that live
//	Resolver  of one triple: who stamps it, who must write it, which place fills which
//	Backfill  of one machine: the ranges of rows that it must read to fill the target
//	Digest    a sum over rows, equal for the same triples in any order
//
// # How data flows
//
// A write resolves its triple: [Resolver.Sequencer] stamps it, and every place of
// [Resolver.Writes] must have it before it is committed. A read asks [Joint.ReaderOf] for the
// owner of each segment. If the layout changes, each machine reads the ranges of
// [Joint.Backfill], and sends each row to the places of [Resolver.Fills]. A scrub compares the
// digests of two orders, and reads only the buckets that differ.
//
// The package is pure: it has no goroutine, clock, file or socket.
package recovery
