// A second failure during a rebuild.

package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/recovery"
)

// A second machine dies while what the first one had is being rebuilt, when so many
// of the walks are done: nothing is lost, and all is rebuilt.
func TestSecondFailureDuringRebuild(t *testing.T) {
	for _, percent := range []int{0, 50, 100} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			simulate(t, 5, func(t *testing.T, w *world) {
				w.form()
				all := w.spread()
				leader := w.leader()
				first, second := w.others(leader)[0], w.others(leader)[1]
				w.net.Delay(20*time.Millisecond, 100*time.Millisecond) // so that it takes a while
				epoch := leader.node.View().Epoch
				first.kill()
				walked := func() (n int) {
					for _, m := range leader.node.Status().Members {
						if m.Walk == nil && m.Lag == 0 {
							n++
						}
					}
					return n
				}
				done, began := -1, false
				for deadline := time.Now().Add(waitLimit); done < 0; sleep(t.Context(), time.Millisecond) {
					v := leader.node.View()
					began = began || v.Epoch > epoch && (percent == 0 || walked() == 0)
					switch {
					case time.Now().After(deadline):
						t.Fatal("no rebuild begins")
					case v.Epoch == epoch:
					case v.Phase != recovery.Fill: // all walks are done
						done = 4
					case began && percent < 100 && walked() >= percent/25:
						done = walked()
					}
				}
				second.kill()
				t.Logf("the second machine dies when %d of four walks are done, in %s", done, leader.node.View().Phase)
				w.net.Delay(0, 0)
				w.settle()
				if lost := leader.node.View().Lost; len(lost) > 0 {
					t.Errorf("%d ranges are lost", len(lost))
				}
				w.mustHave(setOf(all))
			})
		})
	}
}
