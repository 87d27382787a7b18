// Changes of leaders, and power loss without a disk.

package cluster

import (
	"fmt"
	"time"
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
