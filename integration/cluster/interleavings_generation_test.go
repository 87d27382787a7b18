package cluster

import (
	"testing"
	"time"

	"github.com/trefoildb/trefoil/node/cluster"
	"github.com/trefoildb/trefoil/trie"
)

// The others serve on while the operator believes that they are gone. The two
// generations have nothing to do with each other; one that is started again among
// machines of the new one is refused, ends, and joins it as a new machine.
func othersOnlySeemedDead(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	few, many := w.machines[:2], w.machines[2:]
	for _, a := range few {
		for _, b := range many {
			w.net.Cut(a.name, b.name)
		}
	}
	keep := []trie.MachineID{few[1].node.MachineID()}
	few[0].kill()
	few[1].kill()
	if _, err := cluster.RecoverMajority(few[0].disk, dataDir, keep, w.log); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Follow(few[1].disk, dataDir, []string{few[0].address()}, w.log); err != nil {
		t.Fatal(err)
	}
	few[0].run()
	few[1].run()
	w.until("both generations serve", func() bool {
		return few[0].node.Lease() == nil && few[1].node.Lease() == nil && len(few[1].node.View().Members) == 2 &&
			many[0].node.Lease() == nil && len(many[0].node.View().Members) == 3
	})
	var err error
	w.until("the loss is accepted", func() bool { // asked again, where the leader changes
		if len(few[1].node.View().Lost) == 0 {
			return true
		}
		err = few[1].node.AcceptLoss(t.Context())
		return false
	})
	if err != nil {
		t.Logf("accept the loss: %v", err) // it was accepted before
	}
	w.net.Heal()
	added, forgotten := fresh()[:20], fresh()[20:1000]
	w.mustAdd(few[1], added...)
	w.mustAdd(many[0], forgotten...) // in the old generation, whose epochs go on
	time.Sleep(10 * time.Second)     // of virtual time
	old, young := many[0].node.View(), few[0].node.View()
	if len(old.Members) != 3 || old.Generation != 1 || len(young.Members) != 2 || young.Generation != 2 {
		t.Fatalf("generation %d has %d members, %d has %d", old.Generation, len(old.Members), young.Generation, len(young.Members))
	}
	t.Logf("epochs of the old and the new generation: %d, %d", old.Epoch, young.Epoch)
	for _, m := range many {
		m.stop()
	}
	for _, m := range many {
		w.mustJoinAnew(m)
	}
	w.settle()
	if v := w.machines[4].node.View(); v.Generation != 2 {
		t.Errorf("generation %d", v.Generation)
	}
	got, err := w.any().contents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known := setOf(all, added)
	for text := range got {
		if !known[text] {
			t.Fatalf("%s is not of this generation", text)
		}
	}
	for text := range setOf(added) {
		if !got[text] {
			t.Fatalf("%s is missing", text)
		}
	}
	w.mustHave(got)
}
