// The types of one machine in a cluster: origins, operations, deliveries and rows.

package replica

import (
	"cmp"
	"fmt"

	"github.com/trefoildb/trefoil/internal/replica/batchlog"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// A holder stores the operations that sequencers stamp and send.

// Origin identifies a batch of operations: number Batch of a sequencer's incarnation, from 1. The
// zero Origin is none.
type Origin struct {
	Sequencer          trie.MachineID
	Incarnation, Batch uint64
}

// stream identifies the incarnation that numbers batches.
type stream = batchlog.Stream

func (o Origin) stream() stream { return stream{Machine: o.Sequencer, Incarnation: o.Incarnation} }

// compareOrigins orders by sequencer, incarnation and batch.
func compareOrigins(a, b Origin) int {
	if c := a.stream().Compare(b.stream()); c != 0 {
		return c
	}
	return cmp.Compare(a.Batch, b.Batch)
}

// Operation is an add, a delete or an annotation of a triple, with its stamp.
type Operation struct {
	Kind  store.OperationKind
	Stamp triple.Stamp
	Key   []byte // in SPO
	// Long is the encoding of the triple by triple.AppendValue with a zero stamp, if it has long
	// terms. Otherwise it is nil. Of a record it is the record.
	Long       []byte
	Annotation *Annotation // of OperationAnnotate; nil otherwise
	// Token identifies the operation if its request has an idempotency key.
	Token store.Token
	// Stamper is the machine that stamped the operation, if it is not the sequencer of its batch.
	// Otherwise it is 0.
	Stamper trie.MachineID
}

// Annotation is an application's annotation of a triple.
type Annotation struct {
	ApplicationID string
	// On is the stamp of the annotated row (see [triple.Annotation]). The sequencer sets it if it
	// is certain of the row. Otherwise it rejects zero, and the coordinator must look the row up.
	// A holder takes zero for the operation's own stamp.
	On      triple.Stamp
	Removed bool // the annotation is removed; Data must be empty
	Data    []byte
	// If is set on the way from a coordinator to the sequencer, if the annotation has a condition.
	// A stamped operation has none.
	If *AnnotationCondition
}

// AnnotationCondition is the condition of an annotation, and what its coordinator has looked up.
type AnnotationCondition struct {
	store.Condition
	// Found is the annotation's version by a look-up in the epoch FoundIn, in which all operations
	// of earlier epochs were committed. FoundIn is 0 if there was no look-up.
	FoundIn uint64
	Found   triple.Stamp
}

// Check returns an error if the annotation is invalid.
func (n *Annotation) Check() error {
	if n.Removed && len(n.Data) > 0 {
		return fmt.Errorf("%w: what is removed has %d bytes of data", store.ErrInvalid, len(n.Data))
	}
	if n.If != nil {
		if err := n.If.Check(); err != nil {
			return err
		}
	}
	return store.CheckAnnotation(n.ApplicationID, n.Data)
}

// Delivery is batches of operations from a sequencer to a holder.
type Delivery struct {
	Origin Origin // of the last batch
	// Committed and Open describe the committed batches of the sequencer's incarnation: all up to
	// Settled, except the ones in Open. Open must ascend.
	Committed uint64
	Open      []uint64
	// Parts are the batches, ascending. If it is nil, one batch has all operations.
	Parts []Part
	// Acks is the last batch that each holder has answered. If it is nil, the delivery has no
	// acks.
	Acks map[trie.MachineID]uint64
	// Ticks are those of the committed batches, as far as the sequencer has them and the holder does not.
	Ticks      CommitTicks
	Operations []Operation
	// Epoch is the one in which it was sent; 0 if it is unknown.
	Epoch uint64
}

// Part is one batch of a delivery: its number and its number of operations.
type Part struct {
	Batch      uint64
	Operations int
}

// InFlightBatch is the operations of a batch in flight.
type InFlightBatch struct {
	Origin     Origin
	Operations []Operation
}

// Heard is a machine's proof about a sequencer's incarnation.
type Heard struct {
	Sequencer   trie.MachineID
	Incarnation uint64
	Last        uint64 // the greatest batch received, durably; 0 if none
	Committed   uint64
	Acks        map[trie.MachineID]uint64
}

// RowState is the state of a triple in the storage table.
type RowState struct {
	Stamp  triple.Stamp
	Exists bool // a live row or a tombstone exists
	Live   bool // a live row exists
}

// FillRow is a row of a backfill: a triple, a tombstone or an annotation.
type FillRow struct {
	Table      byte   // TableStorage or TableReplica
	Key, Value []byte // in the form of [Snapshot.Raw]
	// InFlight is the batch of the row if it is in flight. Operation must then be the row's part
	// of it, because another sequencer may have to drive it again.
	InFlight  Origin
	Operation *Operation
}
