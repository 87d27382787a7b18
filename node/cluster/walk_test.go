package cluster

import (
	"testing"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// Two sequencers have left an operation on one triple: whoever gets the row of the
// newer one gets that operation with it, so that it can be driven on.
func TestNewestUnsettled(t *testing.T) {
	older := node.Operation{Kind: node.OperationAdd, Stamp: triple.Stamp{Epoch: 5, Sequence: 10}, Key: []byte("k")}
	newer := node.Operation{Kind: node.OperationDelete, Stamp: triple.Stamp{Epoch: 6, Sequence: 2}, Key: []byte("k")}
	of := func(sequencer int, o node.Operation) node.UnsettledBatch {
		return node.UnsettledBatch{Origin: node.Origin{Sequencer: 1, Incarnation: uint64(sequencer), Batch: 1}, Operations: []node.Operation{o}}
	}
	for _, batches := range [][]node.UnsettledBatch{{of(1, older), of(2, newer)}, {of(1, newer), of(2, older)}} {
		w := &walk{unsettled: map[string]pending{}}
		for _, b := range batches {
			w.note(b)
		}
		if p := w.unsettled["k"]; p.operation.Stamp != newer.Stamp {
			t.Errorf("%+v", p)
		}
	}
}
