// The position of a read right after a machine is down.

package cluster

import (
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestReadPositionAfterAStop checks that a position has every acknowledged change of a machine whose
// port is closed, by what the others have of it. The machine is silent, but not excluded yet.
func TestReadPositionAfterAStop(t *testing.T) {
	for _, killed := range []bool{false, true} {
		simulate(t, 5, func(t *testing.T, w *world) {
			w.form()
			w.spread()
			if _, err := store.Add(t.Context(), w.any().node, fresh()); err != nil {
				t.Fatal(err)
			}
			before, err := w.any().node.ReadPosition(t.Context())
			require.NoError(t, err)
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

// TestReadPositionBeforeAChange checks that the leader begins nothing that can wait if a machine is
// dead, though it is not suspected yet: a read under a new view would wait for its exclusion.
func TestReadPositionBeforeAChange(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		w.spread()
		victim := w.others(w.leader())[0]
		victim.kill()
		killed := time.Now()
		through := w.up()[0].node
		require.NoError(t, through.SetCopies(t.Context(), 2))
		for time.Since(killed) < time.Second {
			begun := time.Now()
			if _, err := through.ReadPosition(t.Context()); err != nil || time.Since(begun) > time.Second {
				t.Fatalf("a read after %s took %s: %v", begun.Sub(killed), time.Since(begun), err)
			}
			sleep(t.Context(), 20*time.Millisecond)
		}
		w.settle()
		if v := through.View(); v.Target.Copies != 2 || len(v.Members) != 4 {
			t.Errorf("the last view has %d copies and %d members", v.Target.Copies, len(v.Members))
		}
	})
}

// TestChangeWithoutReach checks that a change that can wait does not wait for ever. A member that the
// leader cannot reach still reports, through another one, so it is not suspected. It does not adopt the
// next view, and so comes to be excluded.
func TestChangeWithoutReach(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		w.spread()
		leader := w.leader()
		other := w.others(leader)[0]
		w.net.Cut(leader.name, other.name)
		require.NoError(t, leader.node.SetCopies(t.Context(), 2))
		w.until("the number of copies changes", func() bool {
			v := w.leader().node.View()
			return v != nil && v.Target.Copies == 2
		})
	})
}
