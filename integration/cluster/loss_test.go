// The loss of one of three machines.

package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
)

// One of three machines dies: all of it is there again on the two that are left,
// and on three when it comes back.
func TestLoss(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 2000)
		if _, err := w.machines[0].node.Add(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		w.mustHave(setOf(all))
		lost := w.machines[w.random.IntN(3)]
		killed := time.Now()
		lost.kill()
		w.settle()
		t.Logf("after the loss: idle again in %s", time.Since(killed))
		w.mustHave(setOf(all))
		more := numbered(2000, 2100)
		if _, err := w.any().node.Add(t.Context(), more); err != nil {
			t.Fatal(err)
		}
		w.mustHave(setOf(all, more))
		lost.run(w.up()...)
		select {
		case <-lost.node.Failed():
		case <-time.After(time.Minute):
			t.Fatal("the machine that was excluded does not learn of it")
		}
		if err := lost.node.Err(); !errors.Is(err, cluster.ErrExcluded) {
			t.Fatal(err)
		}
		lost.rejoin()
		w.settle()
		w.mustHave(setOf(all, more))
	})
}
