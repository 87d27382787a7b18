// Tests of operations in flight in a pass.

package backfill

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// Two sequencers have left an operation on one triple. The receiver of the newer row must get its
// operation, because it may have to drive it.
func TestNewestUnsettled(t *testing.T) {
	older := replica.Operation{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 5, Sequence: 10}, Key: []byte("k")}
	newer := replica.Operation{Kind: store.OperationDelete, Stamp: triple.Stamp{Epoch: 6, Sequence: 2}, Key: []byte("k")}
	of := func(sequencer int, o replica.Operation) replica.InFlightBatch {
		return replica.InFlightBatch{Origin: replica.Origin{Sequencer: 1, Incarnation: uint64(sequencer), Batch: 1}, Operations: []replica.Operation{o}}
	}
	for _, batches := range [][]replica.InFlightBatch{{of(1, older), of(2, newer)}, {of(1, newer), of(2, older)}} {
		w := &pass{inFlight: map[string]pending{}}
		for _, b := range batches {
			w.addInFlight(b)
		}
		w.addInFlight(of(2, replica.Operation{Kind: store.OperationRecord, Stamp: triple.Stamp{Epoch: 7}, Key: []byte("k")})) // no row of k
		if p := w.inFlight["k"]; p.operation.Stamp != newer.Stamp {
			t.Errorf("%+v", p)
		}
	}
}
