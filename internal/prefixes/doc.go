// What prefixes are, and where they are kept.

// Package prefixes keeps the prefixes of a store: names such as "ex" for the beginnings of IRIs, by
// which people write ex:age. It is for a lone store and for a cluster.
//
//	@prefix of a document -> Found -> Keep ->+
//	PUT /prefixes/ex, trefoil prefixes add -> Set ->+-> annotation of systemgraph.PrefixRow -> Read -> Names
//
// All prefixes are one JSON object in one annotation. It is written by compare-and-set, so of two
// documents with different IRIs for one name the first one wins, also in a cluster. A prefix that a
// document declares never replaces another one; [Set] does.
//
// The names of [WellKnown] need no annotation. A prefix of the store goes before a well-known one of
// the same name; only Set makes one.
//
// # The row
//
// The annotation needs a triple. Users did not add it, so their reads must not show it: who loads ten
// triples must count ten. [Hide] returns a store without it, and every read of clients goes through
// Hide. Only a read that names the system graph has the row.
package prefixes
