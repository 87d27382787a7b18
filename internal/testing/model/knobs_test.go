// The rules of the protocol, each of which can be turned off.

package model

// Rules are the knobs: each one true turns one rule of the protocol off, or
// puts a plausible weaker one in its place. The zero value is the protocol.
type Rules struct {
	// ExtraIsGreatestPlusOne: extras go to max(m1,m2,m3)+1, owner or not.
	ExtraIsGreatestPlusOne bool
	// RepairMissingTriples: a walk sends to machines that lack the triple, not
	// to slots that are empty.
	RepairMissingTriples bool
	// FillsOverwrite: what a walk sends replaces what is there, newer or not.
	FillsOverwrite bool
	// TargetBecomesBase: a change in fill takes the unfinished target as base.
	TargetBecomesBase bool
	// RepairerByTarget: the repairer is a live holder under target, not base.
	RepairerByTarget bool
	// LiveByAddress: a machine that came back counts as live in base, whatever
	// its incarnation.
	LiveByAddress bool
	// NoSweep: planned changes do not wait for the sweep.
	NoSweep bool
	// SweepEarly: rows outside of the target are deleted in serve.
	SweepEarly bool
	// ReadInFlight: readers answer with rows that are not settled.
	ReadInFlight bool
	// LateRowsKeepUndo: if an older row comes after a newer one, readers still take what that one
	// replaced for the row before it.
	LateRowsKeepUndo bool
	// FillsKeepUndo: a fill that brings what is there does not take away what operations replaced there.
	FillsKeepUndo bool
	// UndoUnasked: a reader takes the row before an operation in flight without asking its driver.
	UndoUnasked bool
	// CheckThenRead: a reader checks lease and epoch, then takes its snapshot.
	CheckThenRead bool
	// FillsAreCommitted: a walk does not say which rows are unsettled.
	FillsAreCommitted bool
	// DropInFlight: what a dead sequencer left unsettled is not handed over;
	// survivors take it for settled.
	DropInFlight bool
	// NoLost: the view does not say which triples have no holder left.
	NoLost bool
	// KeepRows: a machine that joins as new keeps the rows that it had.
	KeepRows bool
	// PurgeByTimer: tombstones are purged at any time.
	PurgeByTimer bool
	// PurgeInFlight: the purge does not look for unsettled operations.
	PurgeInFlight bool
	// ExcludeAtOnce: a machine is excluded while its lease lives.
	ExcludeAtOnce bool
	// ProposeAtOnce: the leader does not wait until an epoch is adopted.
	ProposeAtOnce bool
	// ServeBeforeDone: serve does not wait for the walks.
	ServeBeforeDone bool
	// IdleBeforeAdopted: idle waits for leases, not for serve's adoption.
	IdleBeforeAdopted bool
	// CheckThenApply: a holder checks the epoch, then applies, and the view may
	// change between.
	CheckThenApply bool
	// SnapshotEarly: a walk's snapshot is taken before the adoption.
	SnapshotEarly bool
	// WriteTargetOnly: in fill, writes go to the target's slots alone.
	WriteTargetOnly bool
	// WriteBaseOnly: in fill, writes go to the base's slots alone.
	WriteBaseOnly bool
	// ReadTargetInFill: if a base owner is dead, its successor answers.
	ReadTargetInFill bool
	// DoneBeforeSync: a walk is done when its repairs are sent.
	DoneBeforeSync bool
	// AnyDiskReturns: a restarted machine is a member again, even if its disk lacks rows.
	AnyDiskReturns bool
	// DiskShowsSeqOnly: a restarted machine shows the last operations that it
	// had, not which fills and loads.
	DiskShowsSeqOnly bool
	// ReadUnreconciled: a machine that came back answers, and a fill ends, before
	// what a dead sequencer left is driven again.
	ReadUnreconciled bool
	// MarkByEpoch: a machine's mark of its fills is their epoch, not a count.
	MarkByEpoch bool
	// LastSeqIsGreatest: a restarted machine shows the greatest stamp that it had
	// of a sequencer, and operations come in any order.
	LastSeqIsGreatest bool
	// RestartInEpoch: a restarted machine goes on in its epoch, unannounced.
	RestartInEpoch bool
	// LeaseWithoutWrite: a lease asks for no proof that the disk still writes.
	LeaseWithoutWrite bool
	// NewStampOnRedrive: an operation that is driven again gets a new stamp.
	NewStampOnRedrive bool
	// StampUnconfirmed: the sequencer of a triple whose owner of SPO is dead stamps without asking a
	// machine that its successor needs.
	StampUnconfirmed bool
	// ResendByNode: a node sends an operation again after a timeout.
	ResendByNode bool
	// ScrubUnfenced: a scrub's repair may cross a purge.
	ScrubUnfenced bool
	// IngestOnTop: ingested tables lie on top of what is there.
	IngestOnTop bool
	// AbortLoad: if a member dies while a load is ingested, the load is given up.
	AbortLoad bool
	// PublishInOneEpoch: the epoch that ingests a load shows it.
	PublishInOneEpoch bool
	// ReturnAfterAll: a machine that waited and started again is a member again only
	// when all members can say what its disk had, as for its lease.
	ReturnAfterAll bool
	// LoadEndsFirst: while a dead machine cannot be excluded because of a load, no other
	// one is taken back.
	LoadEndsFirst bool
}
