// Machines of a later generation of the cluster.

package cluster

import (
	"errors"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
)

// laterGeneration records answers of a later generation on a machine without a leader.
//
// An operator has begun the later generation because a majority was lost, or seemed to be. If
// this machine belongs to a majority after all, its data is the cluster's truth. If it was given
// up, its data is old. It cannot find out, so it must keep its data either way. Only an operator
// gives it up ([directory.SetAside]).
type laterGeneration struct {
	*membership
	mu     sync.Mutex
	heard  bool
	at     time.Duration // when a machine of a later generation answered last
	logged string
}

// recordAnswer records the answer of a machine of a later generation, and reports whether it is
// another one than the last.
func (l *laterGeneration) recordAnswer(answer string) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard, l.at = true, l.leaseTime()
	changed = l.logged != answer
	l.logged = answer
	return changed
}

// answeredSince reports whether a later generation has answered at or after a moment.
func (l *laterGeneration) answeredSince(at time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard && l.at >= at
}

// record records the answer of the machine at an address if err is of a later generation.
func (l *laterGeneration) record(address string, err error) bool {
	r := (*peer.Refusal)(nil)
	if !errors.As(err, &r) || r.Code != peer.CodeGeneration {
		return false
	}
	if l.recordAnswer(address + r.Message) {
		l.log.Error("a later generation of the cluster runs, and this machine is of an earlier one; its data is kept: "+
			"see \"Two generations\" in docs/operations/cluster.md", "at", address, "answer", r.Message)
	}
	return true
}
