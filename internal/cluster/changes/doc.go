// The change feed of a cluster, seen from one member.

// Package changes is the change feed of a cluster. Any member reads it from the logs of all: the
// batches that each holder keeps after their commit (packages replica and batchlog). [Feed] has the
// member's part for others, and is a [feed.Source].
//
// # The order
//
// A change is identified by its stamp, the machine that stamped it, and its triple. The reader takes
// one epoch after the other. Within an epoch the changes of a stamper come by ascending sequence.
// One triple has one stamper in an epoch, and stamps of later epochs are greater. So the changes of
// a triple come in the order of its commits. A position is an epoch and a sequence for each stamper.
//
// # The present epoch
//
// A stamper is a holder of what it stamps. So its own log has every operation that was committed in
// the epoch of its stamp. It answers up to its watermark: the operations before the first batch in
// flight. The reader waits at all members at the same time (live.go). If a member is down, its
// stream waits, and the others flow.
//
// # A past epoch
//
// An operation that was not committed in its epoch is sent again in a later one, by its stamper or,
// if that is lost, by another sequencer. Its batch then has a row for the epoch of the stamp. The
// reader must not leave an epoch before all its operations are committed, because some may still be
// on their way. It relies on [writes.Writes.Reconciled]: a member is reconciled under a view if it
// has nothing in flight of earlier epochs, and no batch of a lost sequencer. When all members of a
// view are, nothing in flight is left of earlier epochs:
//
//   - A live sequencer has no such batch in flight, by its own records.
//   - Each batch of a lost sequencer was committed by the new sequencers, or no member has it.
//   - Its holder is reconciled only after the new sequencers have committed. So the order in which
//     the members report does not matter.
//
// Then the reader requests what is left of the epoch (past.go): the stamper's own log if the stamper
// is a member with its disk, else the logs of all members for its batches; and of all members the
// late operations. It merges the answers by sequence and key, because several machines have each.
//
// # What is missing
//
// The feed must not skip anything in silence. If a change may be missing, the error is a
// [feed.GoneError]:
//
//   - The view's horizon (view.Feed) lies behind the position: too many logs have left the cluster,
//     ranges were lost, or a majority was recovered.
//   - A log that is needed is trimmed behind the position. A member checks that after it has read.
//
// All answers are given under the view of the reader, within the gate of the member. If a member has
// adopted another view, the reader begins the epoch again, from its position.
//
// # The end
//
// [Feed.Position] queries all members of the view. Each waits until all operations are committed that
// it has stamped, and answers with its lease. An acknowledged change of a later view would need a
// member of this one that has adopted the later view, and that member refuses.
//
// The members answer one after the other, so this end may have a change without another one that was
// acknowledged before it was requested. A backup needs a consistent end ([feed.Request]): all members
// first pause their stamps ([writes.Writes.Pause]), and each resumes when all have paused. A change
// behind the end is stamped when the last member has paused. What is requested after its answer is
// stamped still later, so it lies behind the end, too.
//
// # Bulk loads
//
// The rows of a load are as old as the first stamp of the epoch in which they were ingested. The
// load comes with the step into that epoch, which waits until the load is published.
package changes
