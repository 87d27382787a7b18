// A cluster with all machines suspended.

package cluster

import (
	"testing"
	"time"
)

// All machines are suspended at once, as those of one host are. Nobody was silent but
// in the leader's eyes: all are members afterwards.
func TestAllSuspended(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 100)
		w.mustAdd(w.any(), all...)
		for range 3 {
			w.slept.Add(int64(time.Hour))
			time.Sleep(10 * time.Second) // of virtual time
			for _, m := range w.machines {
				if err := m.node.Err(); err != nil {
					t.Fatalf("%s: %v", m.name, err)
				}
			}
			w.settle()
		}
		w.mustHave(setOf(all))
	})
}
