package node

import (
	"cmp"
	"fmt"

	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// This file is the words of a store that is one machine of a cluster: it holds
// what sequencers stamp and send.

// Origin names a batch of operations: the Batch-th of a sequencer's incarnation,
// from 1. The zero Origin is none.
type Origin struct {
	Sequencer          trie.MachineID
	Incarnation, Batch uint64
}

// stream is who numbers batches.
type stream struct {
	machine     trie.MachineID
	incarnation uint64
}

func (o Origin) stream() stream { return stream{o.Sequencer, o.Incarnation} }

// compareOrigins orders by sequencer, incarnation and batch.
func compareOrigins(a, b Origin) int {
	if c := compareStreams(a.stream(), b.stream()); c != 0 {
		return c
	}
	return cmp.Compare(a.Batch, b.Batch)
}

func compareStreams(a, b stream) int {
	if c := cmp.Compare(a.machine, b.machine); c != 0 {
		return c
	}
	return cmp.Compare(a.incarnation, b.incarnation)
}

// OperationKind is what an operation does.
type OperationKind uint8

// The kinds of operations.
const (
	OperationAdd OperationKind = iota + 1
	OperationDelete
	OperationAnnotate
	OperationClaim // changes nothing: its token is remembered
)

// Valid reports whether there is such a kind.
func (k OperationKind) Valid() bool { return k >= OperationAdd && k <= OperationClaim }

// Operation is an add or a delete of a triple, or what an application notes on it,
// that has its stamp.
type Operation struct {
	Kind  OperationKind
	Stamp triple.Stamp
	Key   []byte // in SPO
	// Long is what triple.AppendValue makes of the triple with a zero stamp, where
	// it has long terms and is added; nil otherwise.
	Long []byte
	Note *Note // of OperationAnnotate; nil otherwise
	// Token names the operation if its request has an idempotency key.
	Token Token
}

// Note is what an application notes on a triple.
type Note struct {
	ApplicationID string
	// On is the stamp of the version that it is noted on (see [triple.Annotation]).
	// A coordinator that has looked it up says so; zero: the sequencer knows.
	On      triple.Stamp
	Removed bool // nothing is noted any more
	Data    []byte
}

// Check tells what is wrong with a note.
func (n *Note) Check() error {
	switch {
	case len(n.ApplicationID) == 0 || len(n.ApplicationID) > triple.MaxApplicationID:
		return fmt.Errorf("%w: the application id has %d bytes, not 1 to %d", ErrInvalid, len(n.ApplicationID), triple.MaxApplicationID)
	case len(n.Data) > MaxAnnotationBytes:
		return fmt.Errorf("%w: %d bytes of data, at most %d", ErrInvalid, len(n.Data), MaxAnnotationBytes)
	case n.Removed && len(n.Data) > 0:
		return fmt.Errorf("%w: what is removed has %d bytes of data", ErrInvalid, len(n.Data))
	}
	return nil
}

// Delivery is batches of operations on their way from a sequencer to a holder.
type Delivery struct {
	Origin Origin // of the last batch
	// Settled and Open are what is settled of the sequencer's incarnation: its
	// batches up to Settled, except those in Open, which ascend.
	Settled uint64
	Open    []uint64
	// Parts are the batches, ascending; nil is one batch with all operations.
	Parts []Part
	// Acks is the last batch that each holder has answered; nil says nothing.
	Acks       map[trie.MachineID]uint64
	Operations []Operation
}

// Part is one batch of a delivery: its number, and how many of the operations are
// its own.
type Part struct {
	Batch      uint64
	Operations int
}

// UnsettledBatch is operations of a batch that are not known to be settled.
type UnsettledBatch struct {
	Origin     Origin
	Operations []Operation
}

// Heard is what a machine can prove about a sequencer's incarnation.
type Heard struct {
	Sequencer   trie.MachineID
	Incarnation uint64
	Last        uint64 // the greatest batch received, durably; 0 is none
	Settled     uint64
	Acks        map[trie.MachineID]uint64
}

// RowState is what the storage table holds of a triple.
type RowState struct {
	Stamp  triple.Stamp
	Exists bool // there is a row, of a version or a tombstone
	Live   bool // there is a version
}

// FillRow is a row that a walk sends: a version, a tombstone or an annotation.
type FillRow struct {
	Table      byte   // TableStorage or TableReplica
	Key, Value []byte // as [Snapshot.Raw] has them
	// Unsettled is the batch that the row comes from where that is not known to be
	// settled, and Operation what it is of it, so that it can be driven again.
	Unsettled Origin
	Operation *Operation
}

// RawRow is a row of a table. Its slices are valid until the next step.
type RawRow struct{ Key, Value []byte }
