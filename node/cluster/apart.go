// A machine apart: others of its cluster answer that they belong to a later generation.

package cluster

import (
	"errors"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node/peer"
)

// apart is what a machine without a leader knows of a later generation.
//
// An operator has begun that generation after a majority was lost, or seemed to be. If
// this machine belongs to a majority that was not lost, what it has is the cluster's
// truth; if it was given up, what it has is old. It cannot tell which, so it keeps its
// data either way: only an operator gives it up ([node.SetAside]).
type apart struct {
	mu     sync.Mutex
	heard  bool
	at     time.Duration // when a machine of a later generation answered last
	logged string
}

// note notes the answer of a machine of a later generation, and reports whether it is
// another one than the last.
func (a *apart) note(answer string, now time.Duration) (changed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard, a.at = true, now
	changed = a.logged != answer
	a.logged = answer
	return changed
}

// since reports whether a later generation has answered at or after a moment.
func (a *apart) since(at time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard && a.at >= at
}

// noteApart notes that a machine at an address is of a later generation, if err is that.
func (n *Node) noteApart(address string, err error) bool {
	r := (*peer.Refusal)(nil)
	if !errors.As(err, &r) || r.Code != peer.CodeGeneration {
		return false
	}
	if n.apart.note(address+r.Message, n.cfg.Clock.Now()) {
		n.log.Error("a later generation of the cluster runs, and this machine is of an earlier one; its data is kept: "+
			"see \"Two generations\" in OPERATIONS.md", "at", address, "answer", r.Message)
	}
	return true
}

// standsBack reports whether this machine stands for no election, because a later
// generation answers and no leader of its own generation has granted this process a
// lease. So machines that were given up do not serve each other when they are started
// again, and a majority that serves goes on.
func (n *Node) standsBack() bool {
	return n.lease.end() == 0 && n.apart.since(n.cfg.Clock.Now()-2*n.cfg.Patience)
}
