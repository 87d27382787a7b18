// Rebuilds are throttled while requests run.

package cluster

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// Rebuilds and moves give way while clients read, and come to their ends all the
// same; while nobody reads they do not pause.
func TestRebuildGivesWay(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.look = 200 * time.Microsecond
		late := w.machines[4]
		w.machines = w.machines[:4]
		w.form()
		all := numbered(0, 1000)
		w.mustAdd(w.machines[0], all...)
		w.settle()
		read := func() (stop func()) {
			var open []store.Reader
			for _, m := range w.up() {
				for range 4 {
					sn, err := m.node.Reader()
					require.NoError(t, err)
					open = append(open, sn)
				}
			}
			return func() {
				for _, sn := range open {
					sn.Close()
					sn.Close() // does not count twice
				}
			}
		}
		stop := read()
		w.machines[w.random.IntN(4)].kill()
		before := w.paused()
		w.settle()
		lost := w.paused()
		if lost <= before {
			t.Error("a rebuild did not give way to those who read")
		}
		stop()
		w.mustHave(setOf(all))
		stop = read()
		w.machines = append(w.machines, late)
		late.run(w.up()...)
		w.settle()
		moved := w.paused()
		if moved <= lost {
			t.Error("a move did not give way to those who read")
		}
		stop()
		w.mustHave(setOf(all))
		time.Sleep(10 * time.Second) // of virtual time: the reads are long over
		w.up()[0].kill()
		before = w.paused()
		w.settle()
		if paused := w.paused(); paused > before {
			t.Errorf("copies paused for %g s more, and nobody read", paused-before)
		}
		w.mustHave(setOf(all))
	})
}

// TestRebuildIsNoMove: the rate of planned moves does not bound a rebuild after a death, because reads wait for it.
func TestRebuildIsNoMove(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		w.adjust = func(_ *store.Options, _ *replica.Options, c *cluster.Config) { c.MoveRate = 64 }
		w.form()
		all := numbered(0, 1000)
		w.mustAdd(w.machines[0], all...)
		w.settle()
		dead := w.machines[w.random.IntN(4)]
		id := dead.node.MachineID()
		dead.kill()
		w.until("it is excluded", func() bool { return w.excluded(dead, id) })
		// A planned move may follow, which takes hours.
		began := time.Now()
		w.until("all copies are there again", func() bool { return w.leader() != nil && w.leader().node.Status().Bears == 2 })
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("copies were missing for %s", took)
		}
		got, err := contentsOf(t.Context(), w.leader().node, triple.SPO)
		if err != nil || difference(got, setOf(all)) != "" {
			t.Errorf("%s: %v", difference(got, setOf(all)), err)
		}
	})
}

// paused returns for how many seconds work on copies has paused on all machines that
// are up.
func (w *world) paused() (seconds float64) {
	for _, m := range w.up() {
		registry := prometheus.NewPedanticRegistry()
		require.NoError(w.t, m.node.RegisterMetrics(registry))
		families, err := registry.Gather()
		require.NoError(w.t, err)
		for _, f := range families {
			if f.GetName() == "trefoil_cluster_walk_paused_seconds_total" {
				seconds += f.GetMetric()[0].GetCounter().GetValue()
			}
		}
	}
	return seconds
}
