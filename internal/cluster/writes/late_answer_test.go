// Test of a holder's answer from an earlier view.

package writes

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// A holder's answer that comes after the view has changed, and before the batch is
// sent anew, settles nothing: another holder has not answered.
func TestLateAnswer(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(2, Options{})
	w.setFate(func(trie.MachineID, trie.MachineID, string) fate { return unsent })
	first := w.spread(ms[:1], facts(0, 1))
	both := w.viewOf(1, recovery.Idle, ms, first, first)
	adoptAll(both, ms...)
	ws := ms[0].writes
	operations := []replica.Operation{{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 1, Sequence: 1}, Key: keyOf(triple.SPO, fact(0))}}
	b := newBatch()
	ws.inFlight.mu.Lock()
	b.operations, b.size = operations, sizeOf(operations)
	ws.track(b, true)
	ws.send(b, map[trie.MachineID][]replica.Operation{ms[1].id: operations})
	old := ws.era.streams[ms[0].id]
	ws.inFlight.mu.Unlock()

	// A view without this machine: it is not the one to send the batch anew.
	other := w.spread(ms[1:], facts(0, 1))
	ms[0].adopt(w.viewOf(2, recovery.Idle, ms[1:], other, other))
	ws.answered(old, []part{{b, b.number, operations, b.size}})
	select {
	case <-b.settled:
		t.Error("the batch is settled, and one holder does not have it")
	default:
	}
}
