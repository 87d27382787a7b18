// Package replica is one machine's store as part of a cluster. It is package store with the
// rows that sequencers stamp, and with this machine's reports about the sequencers.
//
// [store.Store.SetIdentity] makes a directory the directory of one machine in a cluster, for
// good. From then on the lone store's writes return [store.ErrMember]. The machine holds the
// rows of its places (package recovery), and they arrive stamped. In every row the greatest
// stamp wins. Therefore the rows are the same in any order of arrival, even if they come twice.
//
// # The route of an operation
//
//	sequencer                                backfill of another machine
//	    | Deliver                                | Fill, then SyncFills
//	stamped job  <-------------------------------+
//	    |  store.Store.Do: the queue and the committer of package store
//	in-flight list     enter: before the rows can be seen, so that a reader finds the batch
//	    |
//	rows               the greatest stamp of each key; deletes leave tombstones
//	    |
//	one batch, one fsync -> [Store.SequencerStates] counts it as received
//
// [Store.RecordCommitted], or the watermark of a later delivery, takes a batch off the list.
// [Store.Forget] does so if another sequencer has committed the operations. A reader must take
// its snapshot first, then wait for the batches of [Store.InFlight], or take those that are not
// committed out of its rows by [Store.Undo].
//
// # The change feed
//
// The row of a batch stays after its commit, because the rows of all machines are the log of the
// change feed: [Store.Logged] reads them. The log costs no write of its own, and survives what the
// triples survive, because each operation is in the rows of all its holders. Package batchlog indexes
// the rows, and trims them by store.Options.FeedRetention. The watermark proves that a row is committed. Only
// rows above it are in flight when a store opens.
//
// Rows leave in two ways. [Store.Sweep] deletes rows if the layout places them elsewhere.
// [Store.Purge] deletes tombstones below the floors, because no machine needs them any more.
// Bulk loads arrive as staged tables: [Staging.Table], [Staging.Seal], then [Staging.TakeIn].
// A scrub compares places by [Snapshot.Digests] and [Snapshot.List].
//
// Fills are not synced one by one: [Store.SyncFills] makes all durable and counts that in
// the mark. If a disk has a smaller mark than before, it has lost rows.
//
// # Rows of local state
//
//	annotated         there are, or were, annotations; empty
//	beat              changes with every [Beats.Beat]; empty
//	heard/SI          of a sequencer: uvarint last batch received, uvarint settled,
//	                  uvarint n, and n times a holder: 8 bytes, uvarint batch
//	incarnation       uvarint: starts of the process
//	load/taken/N      load N of the cluster is taken in, N in 8 bytes; empty
//	loads             for each load of the cluster: uvarint number, uvarint epoch
//	mark              uvarint: see [Store.Mark]
//	seen              uvarint generation, uvarint epoch, uvarint digest: see [Beats.SetView]
//	log/              the index of the kept batches, see package batchlog
//	unsettled/SIB     a batch: 10, uvarint epoch in which it was sent, uvarint unix ms, then
//	                  its operations, one after the other: kind 01 add, 02 delete, 03
//	                  annotation, 04 claim or 05 record (with 80 set a token follows, with 40
//	                  set the machine that stamped it, 8 bytes), uvarint epoch, uvarint
//	                  sequence, uvarint length and key in SPO, uvarint length and value with a
//	                  zero stamp. In place of the value a record has what the sequencer gave
//	                  it.
//
// S is a machine, I its incarnation, B a batch's number: 8 bytes each, big-endian.
package replica
