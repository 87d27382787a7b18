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
//	staged/   tables of loads into a cluster, until they are published (staged.go)
//	tmp/      checkpoints being made; emptied when the store is opened
//	aside/    what the machine had when its cluster went on without it, see SetAside
//	REJOIN    whom a machine is to join whose data was set aside
//	ASIDE     where what is here goes, while the data is set aside; the next Open completes it
//	restore.partial/  left by an interrupted Restore: Open refuses it, Restore clears it
//
// VERSION is written and synced before anything enters the database, and never
// changed afterwards:
//
//	trefoil data directory
//	format 1
//	uuid 6ba7b810-9dad-41d1-80b4-00c04fd430c8
//	crc32c 1df71c07
//
// The last line is the CRC-32C, in lower-case hexadecimal, of the bytes before it. A file
// without it, of an earlier version, is read too; Open adds the line.
//
// # Rows
//
// The first byte of a Pebble key tells its table:
//
//	+----+-----------------------------+
//	| 01 | key (see package triple)    |   storage table: versions, annotations
//	+----+-----------------------------+
//	| 02 | key of SPO                  |   replica table: extra replicas, annotations
//	+----+-----------------------------+
//	| 03 | name                        |   local state, this machine's own
//	+----+-----------------------------+
//
// A version's value is what triple.AppendValue makes, an annotation's what
// triple.AppendAnnotation makes; annotations stand beside the version in each of
// its orders. A store that is alone removes the rows that it deletes; the member
// of a cluster leaves a tombstone, a value without long terms, that reads pass
// over. The names of local state, and what they hold:
//
//	annotated         there are, or were, annotations; empty
//	counters          uvarint triples, uvarint annotations: rows of SPO in storage
//	feed/N            what a commit changed of triples with watched predicates: for
//	                  each kind 01 added, 02 deleted or 03 noted, uvarint length and
//	                  key in POS, where added also uvarint length and value; or kind
//	                  04 alone: more than is told; N in 8 bytes
//	feeding           the watched predicates, as terms
//	heard/SI          of a sequencer: uvarint last batch received, uvarint settled,
//	                  uvarint n, and n times a holder: 8 bytes, uvarint batch
//	identity          the Identity of a member of a cluster as JSON
//	incarnation       uvarint: starts of the process
//	load/begin/ID     uvarint epoch, uvarint sequence: the stamp of a load's rows
//	load/done/ID      the load's rdfload.Record as JSON
//	load/taken/N      load N of the cluster is taken in, N in 8 bytes; empty
//	loads             for each load of the cluster: uvarint number, uvarint epoch
//	mark              uvarint: see Store.Mark
//	placement         trie.Placement
//	sequence          uvarint epoch, uvarint sequence: greater than all in use
//	token/PT          an operation with token T, 16 bytes, was done in period P, 4
//	                  bytes: Unix time in units of TokenTime; empty
//	trie              trie.Trie
//	unsettled/SIB     operations of a batch, one after the other: kind 01 add, 02
//	                  delete, 03 annotation or 04 claim (with 80 set: then a token
//	                  follows), uvarint epoch, uvarint sequence, uvarint length and
//	                  key in SPO, uvarint length and value with a zero stamp
//
// S is a machine, I its incarnation, B a batch's number: 8 bytes each, big-endian.
//
// Invariants: in a store that is alone a version is in SPO exactly when it is in
// POS and OSP and, in a named graph, in GSPO, with the same value; the same for
// annotations, which have a version beside them. [Store.Check] verifies both.
//
// # A member of a cluster
//
// With [Store.SetIdentity] a store becomes one machine of a cluster, for good: it
// holds the rows of its slots (package recovery), and these come stamped, by
// [Store.Deliver] from the sequencers and by [Store.Fill] from walks. In every
// row the greatest stamp wins, so that it does not matter in which order they
// come, or how often. Its own ways of writing are [ErrMember].
//
// Beside the rows it keeps what it has heard of each incarnation of a sequencer,
// and the batches that are not known to be settled ([Store.UnsettledBatches]): a
// batch is in that list, in memory, from before its rows can be seen, and on the
// disk from the commit of the rows on, until a watermark settles it or another
// sequencer has ([Store.Forget]). A reader takes its snapshot, then asks
// [Store.Unsettled] which batches it has to wait for. A settled batch's row goes
// with a later commit; until then the watermark beside it says that it is settled.
//
// Deliveries that wait share a commit and its fsync. Fills are not synced one by
// one: [Store.SyncFills] makes all durable and counts that in the mark, by which a
// disk can be known that has lost some.
//
// # Concurrency
//
// A [Store] and a [Snapshot] may be used by any number of goroutines, a [Rows]
// by one at a time. Writes queue for one committer, which takes all that wait,
// checks what exists, and commits them with one fsync. [Store.Apply] makes a
// change of many triples and whole graphs as one; [Store.Update] makes one that
// depends on what is there.
package node
