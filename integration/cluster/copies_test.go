// The number of copies of each triple, chosen at the start and changed later.

package cluster

import (
	"errors"
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
)

// TestCopies forms a cluster of six with each number of copies. One machine less than
// that number dies, one after the other without a rebuild between them if a majority
// stays, and nothing is lost.
func TestCopies(t *testing.T) {
	for copies := recovery.MinCopies; copies <= recovery.MaxCopies; copies++ {
		t.Run(fmt.Sprint(copies), func(t *testing.T) {
			simulate(t, 6, func(t *testing.T, w *world) {
				w.machines[0].copies = copies
				w.form()
				want := setOf(w.spread())
				w.mustHave(want)
				if s := w.any().node.Status(); s.Copies != copies || s.Bears != copies-1 {
					t.Fatalf("the status shows %d copies, bears %d", s.Copies, s.Bears)
				}
				for range min(copies-1, 2) { // of five voters
					w.any().kill()
				}
				w.settle()
				if lost := w.any().node.Status().Lost; lost != 0 {
					t.Errorf("%d ranges are lost", lost)
				}
				w.mustHave(want)
			})
		})
	}
}

// TestSetCopies changes the number of copies up and down, with writes meanwhile.
func TestSetCopies(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		want := w.spread()
		for i, n := range []int{5, 2, 4, 3} {
			writer := w.writer(w.machines, numbered(1000*(i+1), 1000*(i+1)+500))
			if err := w.any().node.SetCopies(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			w.until(fmt.Sprintf("%d copies", n), func() bool { return w.machines[0].node.View().Base.Copies == n })
			writer.end()
			w.settle()
			// The add that was under way when the writer ended may be done or not.
			got, err := w.any().contents(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			written := numbered(1000*(i+1), 1000*(i+1)+writer.written+1)
			if last := len(written) - 1; !got[written[last].String()] {
				written = written[:last]
			}
			want = append(want, written...)
			w.mustHave(setOf(want))
		}
		for _, n := range []int{-1, 0, 1, 6} {
			if err := w.any().node.SetCopies(t.Context(), n); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%d copies: %v", n, err)
			}
		}
	})
}

// TestLossBeyondCopies: if as many machines die at once as hold a triple, the view says
// which ranges may lack rows.
func TestLossBeyondCopies(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.machines[0].copies = 2
		w.form()
		w.spread()
		dead := w.others(w.leader())[:2]
		for _, m := range dead {
			m.kill()
		}
		w.until("the loss is shown", func() bool { return w.any().node.Status().Lost > 0 })
	})
}
