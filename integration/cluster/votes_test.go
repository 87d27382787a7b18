// Changes of leaders, and power loss without a disk.

package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// leader returns the machine that leads.
func (w *world) leader() (leader *machine) {
	w.t.Helper()
	w.until("somebody leads", func() bool {
		for _, m := range w.up() {
			if m.node.Status().Leader == m.node.MachineID().String() {
				leader = m
			}
		}
		return leader != nil
	})
	return leader
}

// vote waits until so many machines have votes, and all know it after a power cut.
func (w *world) vote(voters int) {
	w.t.Helper()
	// The votes are exchanged one by one, so that the number may be right for a moment only.
	since := time.Now()
	w.until(fmt.Sprintf("%d machines vote", voters), func() bool {
		n, leads, leader := 0, false, w.leader()
		for _, m := range leader.node.Status().Members {
			if m.Voter {
				n++
				leads = leads || m.ID == leader.node.MachineID().String()
			}
		}
		if n != voters || !leads {
			since = time.Now()
		}
		return time.Since(since) >= 3*time.Second
	})
	time.Sleep(time.Second) // of virtual time: the leader knows it first
}

// Of four machines three vote, and with each new leader it may be others. They
// must not take turns at it without end: a new leader that had heard of nobody
// took a vote, gave it back for its own, and so did the next.
func TestLeadersChange(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 200)
		if _, err := w.any().node.Add(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		for range 6 {
			m := w.leader()
			m.stop()
			m.run()
			w.settle()
		}
		w.mustHave(setOf(all))
	})
}

// A machine loses its disk, and then all lose power. The two that are left come
// back, exclude the third, and may answer again. The leader among them knew of old
// views only at first, of fewer members, and took the vote of the other one.
func TestPowerLossWithoutADisk(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 200)
		if _, err := w.any().node.Add(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		third := w.machines[2]
		for range 3 {
			w.vote(3)
			for _, m := range w.machines {
				m.kill()
			}
			third.disk = vfs.NewCrashableMem()
			for _, m := range w.machines[:2] {
				m.run()
			}
			w.settle()
			w.mustHave(setOf(all))
			third.run(w.machines[0])
			w.settle()
			w.mustHave(setOf(all))
		}
	})
}
