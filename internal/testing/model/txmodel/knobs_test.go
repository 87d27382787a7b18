// The rules of the design, each of which can be turned off.

package txmodel

// Rules are the knobs. If one is true, one rule is off or a plausible weaker one is in its place.
// The zero value is the design as the package comment has it.
type Rules struct {
	// Decisions.

	// DecideUnprepared: the coordinator requests the tick together with the deliveries.
	DecideUnprepared bool
	// SkipConflicts: a sequencer does not compare the triple with the snapshot.
	SkipConflicts bool
	// AcceptOverIntent: a sequencer accepts a part while another transaction's is undecided.
	AcceptOverIntent bool
	// WaitAlways: a younger transaction waits for an older one, too.
	WaitAlways bool
	// AcceptUnreconciled: a sequencer accepts parts before it has the intents of earlier epochs.
	AcceptUnreconciled bool
	// DeliverAlone: a delivery does not carry the outcomes of the triple's earlier parts.
	DeliverAlone bool
	// OutcomesUnsynced: such outcomes are not on disk together with the part.
	OutcomesUnsynced bool
	// AbortAlone: a coordinator gives up without the oracle.
	AbortAlone bool

	// Oracles.

	// OpenAtOnce: an oracle without memory opens before all members have adopted its view.
	OpenAtOnce bool
	// DecideWithoutLease: an oracle answers without a lease.
	DecideWithoutLease bool
	// AbortLost: an oracle aborts what coordinators that are lost left undecided.
	AbortLost bool
	// AskAgain: a coordinator without an answer from a lost oracle requests another tick.
	AskAgain bool
	// RedoPartial: an oracle commits again what is on one place of each triple.
	RedoPartial bool

	// Reads.

	// IgnoreIntents: a reader ignores an intent whose outcome the holder does not know.
	IgnoreIntents bool
	// ReadOldSnapshots: a reader whose snapshot is older than the oracle's memory goes on.
	ReadOldSnapshots bool
	// ReadUnfilled: a place without all rows answers.
	ReadUnfilled bool
}
