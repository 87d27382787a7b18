// Tests of floors and of a handover that comes late.

package writes

import (
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// Bounds tell of what is on its way, at the sequencer and at holders, and of the next
// stamp.
func TestBounds(t *testing.T) {
	asleep, wake := make(chan struct{}), make(chan struct{})
	var once sync.Once
	_, ms := held(t, Options{}, func(*replica.Delivery) error {
		once.Do(func() { close(asleep); <-wake })
		return nil
	})
	bounds := func(m *machine) Bounds {
		t.Helper()
		b, err := m.writes.Bounds()
		require.NoError(t, err)
		return b
	}
	first := triple.Stamp{Epoch: 2, Sequence: 1}
	if b := bounds(ms[0]); b.Epoch != 2 || b.Next != first || len(b.Lowest) != 0 {
		t.Errorf("at first: %+v", b)
	}
	added := ms[1].inBackground(ctx, store.OperationAdd, fact(1), fact(2))
	<-asleep
	if b := bounds(ms[0]); b.Next.Sequence != 3 || b.Lowest[ms[0].id] != first {
		t.Errorf("on its way: %+v", b)
	}
	await.Condition(t, "the other holder has it", func() bool { return len(ms[1].store.InFlightBatches()) > 0 })
	if b := bounds(ms[1]); b.Next != first || b.Lowest[ms[0].id] != first {
		t.Errorf("at a holder: %+v", b)
	}
	close(wake)
	require.NoError(t, <-added)
	quiet(t, ms...)
	for _, m := range ms {
		if b := bounds(m); len(b.Lowest) != 0 {
			t.Errorf("settled: %+v", b)
		}
	}
}

// If an operation is handed over once more after its commit, it is not driven again.
func TestLateHandover(t *testing.T) {
	_, ms := held(t, Options{}, func(*replica.Delivery) error { return nil })
	old := replica.Operation{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 1, Sequence: 1}, Key: keyOf(triple.SPO, fact(1))}
	ms[0].writes.SetFloors(replica.Floors{ms[0].id: {Epoch: 2, Sequence: 1}})
	require.NoError(t, ms[0].writes.sequencer.drive(ctx, 2, []replica.Operation{old}))
	if n := ms[0].writes.Stats().HandedOver; n != 0 {
		t.Errorf("%d operations are driven", n)
	}
	if n := ms[0].writes.Stats().InFlightBytes; n != 0 {
		t.Errorf("%d bytes are in use", n)
	}
	late := old
	late.Stamp = triple.Stamp{Epoch: 2, Sequence: 1}
	require.NoError(t, ms[0].writes.sequencer.drive(ctx, 2, []replica.Operation{old, late}))
	if n := ms[0].writes.Stats().HandedOver; n != 1 {
		t.Errorf("%d operations are driven, want 1", n)
	}
}
