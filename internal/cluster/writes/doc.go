// Package writes carries adds and deletes from clients to all machines that must hold them.
// Operations on one triple are linearizable in every order.
// A machine has all roles of the protocol, see [Writes]; a type each.
//
// # The route of a write
//
//	client -> coordinator -> sequencer -> holders: fsync, answer
//	             Write        submit       deliver
//	                          queue        all answered: committed -> sequencer -> client
//	                          stampGroup
//
// The steps are:
//
//  1. The coordinator is the member that the client calls ([Writes.Write]). It groups the
//     operations by sequencer, the owner of the triple's SPO row, and submits them.
//  2. The sequencer puts them into a batch, unless they change nothing. Each gets a stamp
//     (epoch, sequence), greater than every stamp of the triple before.
//  3. It sends the batch to all places of [recovery.Resolver.Writes], over one stream for each
//     holder, and to itself.
//  4. A holder writes the rows and an entry in its list of operations in flight, syncs, and
//     answers.
//  5. When all holders have answered, the batch is committed, and the client gets its answer.
//
// The batches of one incarnation of a sequencer have the numbers 1, 2, 3 and so on. The
// sequencer reports which are committed: a number, the batches up to it that are in flight, and
// the last batch that each holder has answered. The report goes with each delivery, or alone if
// no delivery follows. If a reader meets rows of batches in flight, it learns from the sequencers of
// these and no others which are committed, and takes the others out of its rows
// ([Writes.Uncommitted]). Only some readers wait ([Writes.WaitCommitted]). In names of this package,
// settled is committed.
//
// A change with several sequencers is a transaction ([Writes.Transact]): a batch at each of them, with one tick for all.
//
// # When the view changes
//
// Operations only roll forward: what is in flight is sent again, with the old stamps, to the places
// of the new view, see inFlight. A holder takes a message only in the epoch for which it was sent.
// So a late message cannot come after those of the next view.
//
// If a sequencer is excluded, the holders send its operations in flight to the new sequencer of
// each triple. It sends them with their old stamps, in batches of its own, and answers when
// they are committed. Then the holder deletes its entry.
//
// # Operations that change nothing
//
// An add of a triple that exists, or a delete of one that does not, needs no stamp if the
// sequencer is certain. It is certain if its SPO place is full and the row is committed. If
// the row is its own operation in flight, that must be committed before the answer. Otherwise
// the operation is stamped although it may change nothing. While the place is being rebuilt,
// the count of changed triples is an estimate.
//
// # Annotations
//
// An annotation ([Writes.Annotate]) is an operation of its triple like the others: it has the
// same sequencer, stamps, streams and places. Its triple must exist. It carries the stamp of
// the row that it annotates, and lives until a delete with a greater stamp. If the sequencer is
// not certain that the triple exists, it stamps nothing, and the coordinator must look it up.
//
// # Full disks
//
// A stamped operation cannot be taken back, because other holders may have it. So a sequencer
// checks the room of all holders before it stamps. Every answer of a holder reports its room,
// and so does the leader. If the free space is below the watermark, adds are refused
// ([store.ErrDiskFull]); below three quarters of it, deletes too. Operations in flight may use
// the disk down to half of it. If a holder has even less, the stream sends its operations again
// until there is room or the view has changed.
package writes
