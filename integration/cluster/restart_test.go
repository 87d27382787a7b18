// Power loss and quick restarts.

package cluster

import "testing"

// All machines lose power at once, and what was acknowledged is there when they
// are back, on the same disks.
func TestPowerLoss(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 500)
		if _, err := w.any().node.Add(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			for _, m := range w.machines {
				m.kill()
			}
			for _, m := range w.machines {
				m.run()
			}
			w.settle()
			w.mustHave(setOf(all))
			more := numbered(len(all), len(all)+100)
			if _, err := w.any().node.Add(t.Context(), more); err != nil {
				t.Fatal(err)
			}
			all = append(all, more...)
		}
		w.mustHave(setOf(all))
	})
}

// A machine that is back before it is excluded is a member again, with its disk.
func TestQuickRestart(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 500)
		if _, err := w.any().node.Add(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		for _, m := range w.machines {
			id := m.node.MachineID()
			m.kill()
			m.run()
			w.settle()
			if m.node.MachineID() != id {
				t.Errorf("%s is another machine", m.name)
			}
			w.mustHave(setOf(all))
		}
	})
}
