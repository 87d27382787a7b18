// Recovery after the majority of the voters is lost.

package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/directory"
)

// Three of five machines are gone for good. The two that are left go on by the
// operator's word; one of the three, back after all, joins as a new machine.
func TestRecoverMajority(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		first, all := w.machines[0], numbered(0, 4000)
		if _, err := store.Add(t.Context(), w.any().node, all); err != nil {
			t.Fatal(err)
		}
		w.until("the data is spread", func() bool { return first.node.View().Base.Trie.Len() > 24 })
		w.settle()
		w.checkDisks()
		second, gone := w.machines[1], w.machines[2]
		for _, m := range w.machines {
			m.kill()
		}
		v := w.recover(first, true, second)
		if whole := v.Lost; len(whole) == 0 || len(whole[0].Lo) < 2 && len(whole) == 4 {
			t.Errorf("lost: %v", whole)
		}
		first.run()
		second.run()
		w.settle()
		v = first.node.View()
		if v.Generation != 2 || len(v.Lost) == 0 {
			t.Errorf("generation %d, %d lost ranges", v.Generation, len(v.Lost))
		}
		// Whatever the two had of a triple is there in all orders.
		if _, err := first.contents(t.Context()); err == nil {
			t.Error("ranges that may lack rows are read as if they were whole")
		}
		if err := second.node.AcceptLoss(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left map[string]bool
		w.until("what is left is read", func() (ok bool) {
			var err error
			left, err = second.contents(t.Context())
			return err == nil
		})
		if len(left) == 0 {
			t.Error("nothing is left")
		}
		added := setOf(all)
		for text := range left {
			if !added[text] {
				t.Fatalf("%s was never added", text)
			}
		}
		gone.run(first)
		time.Sleep(time.Minute) // of virtual time
		if err := gone.node.Err(); err != nil || gone.node.Lease() == nil {
			t.Fatalf("a machine of the old generation: %v, %v", err, gone.node.Lease())
		}
		gone.giveUp(first)
		w.settle()
		if slices.ContainsFunc(first.node.View().Members, func(m view.Member) bool { return m.Address == w.machines[3].address() }) {
			t.Error("a machine that was given up is a member")
		}
		if kept, err := gone.disk.List(dataDir + "/aside/1"); err != nil || !slices.Contains(kept, "store") {
			t.Errorf("set aside: %v, %v", kept, err)
		}
		if word, err := directory.ReadRejoin(gone.disk, dataDir); err != nil || len(word) > 0 {
			t.Errorf("a member still has word of whom to join: %v, %v", word, err)
		}
	})
}
