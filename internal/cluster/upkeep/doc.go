// Package upkeep keeps a cluster in order while nothing happens: it purges tombstones, scrubs,
// and checks. One node leads each run, most often the leader; all members answer.
//
//	purger      leads purges, and answers them
//	scrubber    leads scrubs and checks; a comparison is one run
//	rowServer   answers scrubs and checks from the rows of this machine
//	members     messages to all members
//
// # Purges
//
// A tombstone must stay until no operation can arrive that is older than it.
//
//	cluster/bounds  -> number of the last purge, next stamp, lowest stamps in flight
//	cluster/floors  number, floors     the member raises its floors, and proves that
//	                                   nothing below them is in flight
//	cluster/purge   number, floors     -> how many tombstones were deleted
//
// A floor keeps out late duplicates: a delivery or hand-over that was sent twice would restore
// a deleted triple. Purges of one epoch have ascending numbers. If a scrub has read rows before
// a purge, its repairs are refused.
//
// # Scrubs and checks
//
// Each member computes digests of its rows in each order, from one snapshot (package recovery
// describes them). The digests of all members add up. SPO, POS and OSP must agree, GSPO with
// the named graphs of SPO, and the extra copies with those that SPO requires.
//
//	cluster/digest  secret, floors     -> a digest of each order, by buckets
//	cluster/list    the buckets that differ -> their rows, as hashes
//	cluster/look    the triples that differ -> each place of them
//	cluster/repair  rows               the row with the greatest stamp wins
//
// Rows above the floors may be in flight and are left out. If a triple is written meanwhile,
// it differs at first, and is equal when it is read again.
//
// # All members, in one epoch
//
// Every step is a message of one epoch to all members. If another view is adopted, the run
// ends, and a later one starts anew.
package upkeep
