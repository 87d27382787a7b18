// A machine apart: others of its cluster belong to a later generation.

package cluster

import (
	"errors"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
)

// apart records answers of a later generation on a machine without a leader.
//
// An operator has begun the later generation because a majority was lost, or seemed to be. If
// this machine belongs to a majority after all, its data is the cluster's truth. If it was given
// up, its data is old. It cannot find out, so it must keep its data either way. Only an operator
// gives it up ([directory.SetAside]).
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

// noteApart records the answer of the machine at an address if err is of a later generation.
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

// standsBack reports whether this machine must not stand for election. It must not if a later
// generation answers and no leader of its own generation has granted this process a lease.
// Because of this, machines do not serve each other if they were given up and started again. A
// majority with leases goes on.
func (n *Node) standsBack() bool {
	return n.lease.end() == 0 && n.apart.since(n.cfg.Clock.Now()-2*n.cfg.FailureTimeout)
}
