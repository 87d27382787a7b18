// A node that does not know the members of its cluster.

package cluster

import (
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/store"
)

// TestEachMemberWithoutView: a member that was started again, and reaches no other one, does not know whom to send to.
// That is an error, because an answer with its own part alone would look complete. Its status has an empty list, not null,
// with which the console fails. A node alone has no other members.
func TestEachMemberWithoutView(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		send := func(m *machine) (calls int, err error) {
			err = m.node.EachMember(t.Context(), "nosuch", nil, func(api.Member, []byte, error) { calls++ })
			return calls, err
		}
		first := w.machines[0]
		first.run()
		if calls, err := send(first); calls != 0 || err != nil {
			t.Errorf("alone: %d calls, %v", calls, err)
		}
		first.stop()
		w.form()
		if calls, err := send(first); calls != 2 || err != nil {
			t.Errorf("in the cluster: %d calls, %v", calls, err)
		}
		for _, m := range w.machines {
			m.stop()
		}
		first.run(w.machines[1:]...)
		if calls, err := send(first); first.node.View() != nil || calls != 0 || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("started again: view %v, %d calls, %v", first.node.View(), calls, err)
		}
		if s := first.node.Status(); s.Members == nil {
			t.Errorf("started again: the status has no list of members: %+v", s)
		}
	})
}
