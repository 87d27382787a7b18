// Package store is a store of RDF triples on one machine: every triple in all its orders, in one
// Pebble database in one directory. It can be embedded: open a directory, use it, close it.
// Package replica makes it one machine's part of a cluster.
//
// # The route of a change
//
//	Add, Delete, Apply, Update, Annotate     encode keys and values, on the caller's core
//	        |
//	     queue                               bounded by bytes; a caller may give up here
//	        |
//	     committer                           takes all waiting writes, looks up their triples
//	        |
//	     batch -> feed -> Pebble             one batch, one fsync, then all callers return
//
//	Sink (bulk loads)                        tables beside the database, ingested as one
//	Job (package replica)                    shares the queue and the Committer
//
// The packages below have the parts: database (Pebble and the disk), directory (the files beside
// it), keyspace (the keys), segments, changefeed, check, backup and fault (the errors).
//
// Reads take a [Snapshot] and iterate over it: [Rows], or [Snapshot.Source] for queries. In the
// background, growing segments are split (package segments), and [Store.Tidy] merges shrunken ones.
//
// # The data directory
//
//	VERSION   format number and UUID of the directory, as text (see below)
//	LOCK      held while the store is open; a second opener gets ErrLocked
//	store/    the Pebble database; RESTORED in it marks a backup that was not opened yet
//	loads/    files of bulk loads, each load in a directory of its own
//	staged/   tables of loads into a cluster, until they are published; see package replica
//	columns   the columns of a position of the feed, see [ColumnFile]
//	tmp/      temporary files; emptied when the store is opened
//	aside/    data of the machine before its cluster went on without it, see package directory
//	REJOIN    members that a machine must join after its data was set aside
//	ASIDE     the target of the moves while data is set aside; the next Open completes them
//	restore.partial/  left by an interrupted Restore: Open rejects it, Restore removes it
//
// Packages textsearch, linkgraph and agreement keep text/, links/ and raft/ beside these, by plain files of the
// system where a library opens them.
//
// VERSION is written and synced before any row enters the database. Only [directory.NewIdentity]
// changes it later, to a new UUID:
//
//	trefoil data directory
//	format 1
//	uuid 6ba7b810-9dad-41d1-80b4-00c04fd430c8
//	crc32c 1df71c07
//
// The last line is the CRC-32C, in lower-case hexadecimal, of the bytes before it.
//
// # Rows
//
// The first byte of a Pebble key is its table:
//
//	+----+-----------------------------+
//	| 01 | key (see package triple)    |   storage table: rows, annotations
//	+----+-----------------------------+
//	| 02 | key of SPO                  |   replica table: extra copies, annotations
//	+----+-----------------------------+
//	| 03 | name                        |   local state, this machine's own
//	+----+-----------------------------+
//
// The value of a triple's row is made by triple.AppendValue, the value of an annotation by
// triple.AppendAnnotation. Annotations stand beside the row in each of its orders. A lone store
// removes the rows that it deletes. A member of a cluster leaves a tombstone, a value without long
// terms, and reads skip it. These are the rows of local state:
//
//	changes/...       the log of changes, see package changefeed
//	counters          uvarint triples, uvarint annotations: rows of SPO in storage; uvarint UIDs and hosts
//	                  of links among the triples, unless 0
//	counters/inexact  nothing; a bulk load beside other writes has made the counters inexact
//	identity          the Identity of a member of a cluster as JSON
//	load/begin/ID     uvarint epoch, uvarint sequence: the stamp of a load's rows
//	load/done/ID      the load's rdfload.Record as JSON
//	placement         trie.Placement
//	sequence          uvarint epoch, uvarint sequence: greater than all in use
//	token/PT          an operation with token T, 16 bytes, was done in period P, 4
//	                  bytes: Unix time in units of TokenTime; empty
//	trie              trie.Trie
//
// Package replica lists the rows of a machine in a cluster.
//
// Invariants of a lone store: if a triple has a row in SPO, it must have one in POS and OSP with
// the same value. If its graph is named, it must have one in GSPO, too. The reverse holds for all.
// Annotations follow the same rule, and must have a row beside them. [Store.Check] verifies both.
//
// # Concurrency
//
// A [Store] and a [Snapshot] are safe for concurrent use, a [Rows] is not. Writes queue for one
// committer. It takes all that wait, looks up the triples, and commits with one fsync.
// [Apply] makes one change of many triples and whole graphs. [Update] makes one that
// depends on the current triples.
package store
