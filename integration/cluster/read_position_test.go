// The position of a read right after a machine is down.

package cluster

import "testing"

// TestReadPositionAfterAStop checks that a position has every acknowledged change of a machine whose
// port is closed, by what the others have of it. The machine is silent, but not excluded yet.
func TestReadPositionAfterAStop(t *testing.T) {
	for _, killed := range []bool{false, true} {
		simulate(t, 5, func(t *testing.T, w *world) {
			w.form()
			w.spread()
			if _, err := w.any().node.Add(t.Context(), fresh()); err != nil {
				t.Fatal(err)
			}
			before, err := w.any().node.ReadPosition(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if victim := w.others(w.leader())[0]; killed {
				victim.kill()
			} else {
				victim.stop()
			}
			for _, m := range w.up() {
				after, err := m.node.ReadPosition(t.Context())
				if err != nil || !after.Reaches(before) {
					t.Errorf("%s reads from %s on, which was %s; %v", m.name, after, before, err)
				}
			}
		})
	}
}
