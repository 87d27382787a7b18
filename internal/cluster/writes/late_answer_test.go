// Test of a holder's answer from an earlier view.

package writes

import (
	"testing"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
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
	b := ms[0].putInFlight(ms[1], 1)
	ws.inFlight.mu.Lock()
	old := ws.era.streams[ms[0].id]
	ws.inFlight.mu.Unlock()

	// A view without this machine: it is not the one to send the batch anew.
	other := w.spread(ms[1:], facts(0, 1))
	ms[0].adopt(w.viewOf(2, recovery.Idle, ms[1:], other, other))
	ws.answered(old, []part{{b, b.number, b.operations, b.size}})
	select {
	case <-b.committed:
		t.Error("the batch is settled, and one holder does not have it")
	default:
	}
}
