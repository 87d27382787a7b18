// Package writes carries adds and deletes from clients to all machines that must
// hold them, so that operations on one triple are linearizable in every order.
//
// # The way of an operation
//
// The node that a client talks to is the coordinator ([Writes.Write]). It groups
// operations by their sequencer, the owner of the triple's SPO version, and
// submits them. The sequencer puts those that change something in a batch, gives
// each a stamp (epoch, sequence), which is greater than all that the triple had,
// and sends the batch to all slots of [recovery.Resolver.Writes], over one stream
// for each holder, itself among them. A holder writes the rows and an entry in
// its list of unsettled operations, syncs, and answers. When all have answered,
// the batch is settled, and so is the client.
//
// Batches of one incarnation of a sequencer are numbered 1, 2, 3 and so on. The
// watermark is the greatest number up to which all are settled. With each delivery,
// and by itself if no delivery follows, goes what is settled: a number, the batches
// below it that are still open, and up to where each holder has answered. A reader
// that meets rows of batches that are not known to be settled asks their sequencers
// about these batches and no others ([Writes.WaitSettled]): one holder that does not
// answer must not stop reads of what other holders have acknowledged.
//
// # Streams
//
// A stream has one message on its way at a time. Batches that wait become one
// message, and that is one delivery: it has the operations of all of them, each
// batch with its number. So numbers ascend at a holder, each message takes one
// sync, and "the last batch from this sequencer" says that all before it are
// there. A message that fails is sent again as it was: a holder passes over what
// it has. It carries the epoch of the view that it was addressed under, and is
// taken in that epoch only; so a message that is late cannot come after those of
// the next view.
//
// # When the view changes
//
// Operations only roll forward. All that is not settled gets a new number and is
// sent, with the old stamps, to the slots of the new view, whoever had it
// before: what a holder answered in another epoch does not count. The old number
// is settled when the new one is. Clients just wait longer.
//
// What sequencers left that are no more, holders send to the new sequencer of
// each triple. It drives the operations with their old stamps in batches of its
// own and answers when they are settled; then the holder forgets its entry.
//
// # What changes nothing
//
// An add of a triple that is there, or a delete of one that is not, needs no
// stamp, if the sequencer can tell: its SPO slot is full, and what it finds is
// settled, or is its own operation on its way, which then has to be settled
// first. Where the state rests on the operation of another sequencer, the
// operation is stamped although it may change nothing. Where the slot is being
// rebuilt it is, too, and what is counted as changed is a guess then.
//
// # Annotations
//
// What an application notes on a triple ([Writes.Annotate]) is an operation of that
// triple like the others: same sequencer, stamps, streams and slots. It needs the
// triple to be there, and carries the stamp of the version on which it was noted,
// which outlives it only as long as no delete with a greater stamp comes. A
// sequencer that cannot tell whether the triple is there stamps nothing, and has the
// coordinator look it up.
//
// # Full disks
//
// A stamped operation cannot be taken back: other holders may have it. So sequencers
// look before they stamp: every answer of a holder says how much room it has, and so
// does the leader of all. Below its watermark of free space adds for it are refused
// ([node.ErrDiskFull]), below three quarters of that deletes, too; what is on its way
// may use it down to the half. A holder that has not even that keeps what is on its
// way waiting: it is sent again and again, and is settled when there is room, or when
// the view has changed.
package writes
