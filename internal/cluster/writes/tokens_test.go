// Tests of Begun.

package writes

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
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
