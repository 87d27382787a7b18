// Package node is a store of RDF triples on one machine: every triple in all its
// orders, in one Pebble database under one directory. It can be embedded: open
// a directory, use it, close it.
//
// # The data directory
//
//	VERSION   what the directory is: format number and UUID, as text (see below)
//	LOCK      held while the store is open; a second opener gets ErrLocked
//	store/    the Pebble database
//	loads/    files of bulk loads, each load in a directory of its own
//	tmp/      checkpoints being made; emptied when the store is opened
//	restore.partial/  left by an interrupted Restore: Open refuses it, Restore clears it
//
// VERSION is written and synced before anything enters the database, and never
// changed afterwards:
//
//	trefoil data directory
//	format 1
//	uuid 6ba7b810-9dad-41d1-80b4-00c04fd430c8
//
// # Rows
//
// The first byte of a Pebble key tells its table:
//
//	+----+-----------------------------+
//	| 01 | key (see package triple)    |   storage table: versions, annotations
//	+----+-----------------------------+
//	| 02 | key                         |   replica table: reserved
//	+----+-----------------------------+
//	| 03 | name                        |   local state, this machine's own
//	+----+-----------------------------+
//
// A version's value is what triple.AppendValue makes, an annotation's what
// triple.AppendAnnotation makes; annotations stand beside the version in each of
// its orders. A delete removes the rows (tombstones are read past, and written
// by no one yet). The names of local state, and what they hold:
//
//	counters          uvarint triples, uvarint annotations
//	load/begin/ID     uvarint epoch, uvarint sequence: the stamp of a load's rows
//	load/done/ID      the load's rdfload.Record as JSON
//	placement         trie.Placement
//	sequence          uvarint epoch, uvarint sequence: greater than all in use
//	trie              trie.Trie
//
// Invariants: a version is in SPO exactly when it is in POS and OSP and, in a
// named graph, in GSPO, with the same value; the same for annotations, which
// have a version beside them. [Store.Check] verifies both.
//
// # Concurrency
//
// A [Store] and a [Snapshot] may be used by any number of goroutines, a [Rows]
// by one at a time. Writes queue for one committer, which takes all that wait,
// checks what exists, and commits them with one fsync. [Store.Apply] makes a
// change of many triples and whole graphs as one; [Store.Update] makes one that
// depends on what is there.
package node
