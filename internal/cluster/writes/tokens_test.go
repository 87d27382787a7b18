// Tests of the look-ups of tokens.

package writes

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Begun fails if as many machines are silent as there are copies, less one, which may have
// been replaced. For the first try of a request it sends no message.
func TestBegun(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(5, Options{})
	l := w.spread(ms, facts(0, 1))
	l.Copies = 3
	adoptAll(w.viewOf(1, recovery.Idle, ms, l, l), ms...)
	if err := ms[0].writes.Claim(store.WithRequestKey(ctx, "begun", true)); err != nil {
		t.Fatal(err)
	}
	quiet(t, ms...)
	// 1. No machine is silent, then one, and so on.
	for silent := range ms {
		w.setFate(func(_, to trie.MachineID, _ string) fate {
			for _, m := range ms[1 : 1+silent] {
				if m.id == to {
					return unsent
				}
			}
			return arrives
		})
		begun, err := ms[0].writes.Begun(store.WithRequestKey(ctx, "another", false))
		if begun || (err != nil) != (silent >= 2) {
			t.Errorf("%d machines are silent: %t, %v", silent, begun, err)
		}
		if begun, err = ms[0].writes.Begun(store.WithRequestKey(ctx, "begun", false)); silent < 2 && !begun {
			t.Errorf("%d machines are silent, and what was begun is not: %v", silent, err)
		}
	}
	// 2. The first try.
	w.setFate(func(_, _ trie.MachineID, method string) fate {
		t.Errorf("%s is sent for the first try", method)
		return unsent
	})
	if begun, err := ms[0].writes.Begun(store.WithRequestKey(ctx, "another", true)); begun || err != nil {
		t.Error(begun, err)
	}
	w.setFate(nil)
}

// An operation that arrives at a holder during a look-up of its token is in flight, not done.
func TestTokenArrivesDuringLookUp(t *testing.T) {
	_, ms := sequencers(t, 3, 3, Options{})
	sequencer, holder := ms[0], ms[1]
	for i := range 300 {
		token := store.Token{1, byte(i), byte(i >> 8)}
		seen := make(chan tokenState)
		go func() {
			for {
				s, err := holder.writes.localStates([]store.Token{token})
				if err != nil || s[0] != tokenUnknown {
					seen <- s[0]
					return
				}
			}
		}()
		o := replica.Operation{Kind: store.OperationAdd, Token: token, Stamp: triple.Stamp{Epoch: 1, Sequence: uint64(i + 1)}, Key: keyOf(triple.SPO, fact(i))}
		d := replica.Delivery{Origin: replica.Origin{Sequencer: sequencer.id, Incarnation: sequencer.incarnation, Batch: uint64(1000 + i)}, Operations: []replica.Operation{o}}
		require.NoError(t, holder.store.Deliver(ctx, &d, holder.View().Joint()))
		if s := <-seen; s != tokenPending {
			t.Fatalf("operation %d: state %d", i, s)
		}
	}
}
