package writes

import (
	"testing"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Whether a request was begun is known while fewer machines are silent than hold a claim.
// Of the first try of a request nobody is asked.
func TestBegun(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(5, Options{})
	l := w.spread(ms, facts(0, 1))
	l.Copies = 3
	adoptAll(w.viewOf(1, recovery.Idle, ms, l, l), ms...)
	if err := ms[0].writes.Claim(node.WithRequestKey(ctx, "begun", true)); err != nil {
		t.Fatal(err)
	}
	quiet(t, ms...)
	for silent := range ms {
		w.setFate(func(_, to trie.MachineID, _ string) fate {
			for _, m := range ms[1 : 1+silent] {
				if m.id == to {
					return unsent
				}
			}
			return arrives
		})
		begun, err := ms[0].writes.Begun(node.WithRequestKey(ctx, "another", false))
		if begun || (err != nil) != (silent >= 3) {
			t.Errorf("%d machines are silent: %t, %v", silent, begun, err)
		}
		if begun, err = ms[0].writes.Begun(node.WithRequestKey(ctx, "begun", false)); silent < 3 && !begun {
			t.Errorf("%d machines are silent, and what was begun is not: %v", silent, err)
		}
	}
	w.setFate(func(_, _ trie.MachineID, method string) fate {
		t.Errorf("%s is sent for the first try", method)
		return unsent
	})
	if begun, err := ms[0].writes.Begun(node.WithRequestKey(ctx, "another", true)); begun || err != nil {
		t.Error(begun, err)
	}
	w.setFate(nil)
}
