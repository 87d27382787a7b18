// The rules of the design, each of which can be turned off.

package linkmodel

// Rules are the knobs. If one is true, one rule is off or a plausible weaker one is in its place.
// The zero value is the design as the package comment has it.
type Rules struct {
	// Feed and copies.

	// LeaveUnreconciled: a copy leaves an epoch while operations of it are in flight.
	LeaveUnreconciled bool
	// BuildUnreconciled: a copy is built while operations of earlier epochs are in flight.
	BuildUnreconciled bool
	// RowsBeforePosition: a copy is built of rows, then its position is read.
	RowsBeforePosition bool
	// FetchedPositionLate: a fetched copy gets the position that its source has at the end.
	FetchedPositionLate bool
	// FetchedPositionOwn: a fetched copy gets the present end of the feed as its position.
	FetchedPositionOwn bool
	// FetchAcrossDrop: a fetch continues if its source drops the copy and gets another one.
	FetchAcrossDrop bool
	// DropAtOnce: a machine drops its copy when its view has other holders.
	DropAtOnce bool

	// Option A, reads.

	// EndOfAnyEpoch: a member returns its end although its epoch is not the reader's.
	EndOfAnyEpoch bool
	// EndOfSome: a reader requests the end of the machines that hold the partition only.
	EndOfSome bool
	// EndWithoutWait: a member returns its watermark and does not wait for what it has stamped.
	EndWithoutWait bool
	// EndWithoutLease: a member returns its end without a lease.
	EndWithoutLease bool
	// AnswerAtOnce: a holder answers before its position has reached the end.
	AnswerAtOnce bool

	// Option B, reads.

	// WriterOldView: a writer uses its view although the stamp is of a later epoch.
	WriterOldView bool
	// RequestHolders: a writer waits only for the machines that hold the partition under its view.
	RequestHolders bool
	// AckPastSilent: a writer takes a machine that does not answer for one that stepped down.
	AckPastSilent bool
	// AckAtCommit: a writer does not wait at all.
	AckAtCommit bool
	// ServeAtOnce: a machine that has got a copy or has stepped down serves without the ends of all
	// members.
	ServeAtOnce bool
	// KeepEnds: a machine that reports "not serving" keeps the ends that it has collected.
	KeepEnds bool
	// ServeWithoutLease: a machine answers without a lease.
	ServeWithoutLease bool

	// Views.

	// ExcludeAtOnce: the leader excludes a machine while that has a lease.
	ExcludeAtOnce bool
	// RestartInEpoch: a restarted machine continues in its epoch, with its lease.
	RestartInEpoch bool

	// UIDs.

	// NoFence: a sequencer of a later epoch stamps a primary's write.
	NoFence bool
	// AssignUnreconciled: a primary assigns while operations of earlier epochs are in flight.
	AssignUnreconciled bool
	// AssignUnread: a primary assigns from 1 without reading its partition.
	AssignUnread bool
	// TellAtOnce: a primary sends a number to clients before its write is committed.
	TellAtOnce bool
	// ForgetAttempts: if an outcome is unknown, the primary forgets its numbers and reads again.
	ForgetAttempts bool
}
