// Clocks that jump.

package cluster

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// jumpyClock is the clock of a machine that can be made to jump.
type jumpyClock struct {
	world *world
	ahead atomic.Int64
}

func (c *jumpyClock) Now() time.Duration { return c.world.Now() + time.Duration(c.ahead.Load()) }

// A machine's clock jumps ahead, as after it was suspended, or goes a hundredth fast
// or slow: it asks for its lease again, nobody is excluded, and answers are right.
func TestClocks(t *testing.T) {
	for _, rate := range []float64{0.99, 1, 1.01} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			simulate(t, 3, func(t *testing.T, w *world) {
				w.form()
				all := w.spread()
				m := w.others(w.leader())[0]
				jumpy := &jumpyClock{world: w}
				m.stop()
				if rate == 1 {
					m.runAs(jumpy)
				} else {
					m.runAs(&clock{start: w.start, rate: rate})
				}
				w.settle()
				id := m.node.MachineID()
				reader := w.watched(setOf(all))
				for range 2 {
					jumpy.ahead.Add(int64(time.Minute))
					sleep(t.Context(), 4*time.Second)
				}
				reader.end()
				w.settle()
				if m.node.MachineID() != id || m.node.View().Find(id) == nil {
					t.Error("it was excluded")
				}
				w.mustHave(setOf(all))
			})
		})
	}
}
