// Test of the end of the operations that readers must see.

package writes

import (
	"context"
	"testing"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// TestAwaitAcknowledged: readers wait for operations in flight only if a later one is acknowledged, or
// if they are of an earlier epoch.
func TestAwaitAcknowledged(t *testing.T) {
	// 1. Two batches are in flight to a machine that does not answer.
	w := newWorld(t)
	ms := w.machines(2, Options{})
	w.setFate(func(trie.MachineID, trie.MachineID, string) fate { return unsent })
	layout := w.spread(ms, facts(0, 4))
	adoptAll(w.viewOf(1, recovery.Idle, ms, layout, layout), ms...)
	ws := ms[0].writes
	answer := func(b *batch) {
		ws.answered(ws.era.streams[ms[1].id], []part{{b, b.number, b.operations, b.size}})
		<-b.committed
	}
	first, second := ms[0].putInFlight(ms[1], 1), ms[0].putInFlight(ms[1], 2)
	// 2. The call below returns at once: an error if it would wait.
	ended, end := context.WithCancel(t.Context())
	end()
	expect := func(when string, want uint64, wait bool) {
		t.Helper()
		epoch, sequence, err := ws.AwaitAcknowledged(ended)
		if epoch != ws.era.view.Epoch || sequence != want || (err != nil) != wait {
			t.Errorf("%s: epoch %d, sequence %d, %v; want %d, and to wait: %v", when, epoch, sequence, err, want, wait)
		}
	}
	expect("nothing is acknowledged", 0, false)
	answer(second)
	expect("the second one is acknowledged", 2, true)
	answer(first)
	expect("both are acknowledged", 2, false)
	ms[0].putInFlight(ms[1], 3)
	expect("a third one is in flight", 2, false)
	// 3. In the next view its batch is of an earlier epoch.
	adoptAll(w.viewOf(2, recovery.Idle, ms, layout, layout), ms...)
	expect("an operation of the earlier epoch is in flight", 0, true)
}
