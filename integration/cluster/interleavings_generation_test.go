// The interleaving of a recovery while the others only seemed dead.

package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The others serve on while the operator believes that they are gone. The two
// generations have nothing to do with each other, and machines of the old one keep what
// they have, in any order of starts.
func othersOnlySeemedDead(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	few, many := w.machines[:2], w.machines[2:]
	for _, a := range few {
		for _, b := range many {
			w.net.Cut(a.name, b.name)
		}
	}
	few[0].kill()
	few[1].kill()
	w.recover(few[0], false, few[1])
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
	// 1. One of them is restarted while the others serve: it is a member again.
	many[0].stop()
	many[0].run(few...)
	w.until("the old generation is whole", func() bool {
		return !slices.ContainsFunc(many, func(m *machine) bool { return m.node.Lease() != nil || len(m.node.View().Members) != 3 })
	})
	// 2. All are restarted and meet the new generation: they do not serve, and keep what
	// they have until an operator gives it up.
	for _, m := range many {
		m.stop()
	}
	for _, m := range many {
		m.run(few...)
	}
	time.Sleep(time.Minute) // of virtual time
	for _, m := range many {
		if err := m.node.Err(); err != nil || m.node.Lease() == nil {
			t.Errorf("%s: ended with %v, serves: %v", m.name, err, m.node.Lease() == nil)
		}
		if waiting := m.node.Status().Waiting; !strings.Contains(waiting, "generation 2") {
			t.Errorf("%s waits for %q", m.name, waiting)
		}
		if _, err := m.disk.Stat(dataDir + "/aside"); err == nil {
			t.Errorf("%s has set its data aside", m.name)
		}
	}
	// 3. The new one ends: the old one serves again, with all that it had.
	few[0].stop()
	few[1].stop()
	w.until("the old generation serves", func() bool {
		return !slices.ContainsFunc(many, func(m *machine) bool { return m.node.Lease() != nil })
	})
	w.mustHave(setOf(all, forgotten))
	for _, m := range many {
		m.stop()
	}
	// 4. The operator gives it up.
	few[0].run()
	few[1].run()
	w.settle()
	for _, m := range many {
		m.run()
		m.giveUp(few...)
	}
	w.settle()
	if v := w.machines[4].node.View(); v.Generation != 2 {
		t.Errorf("generation %d", v.Generation)
	}
	w.decided()
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
