// Isolation of a member: no lease and no leader.

package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
)

// A member is isolated if it has no lease any more and knows no leader. Then no view can come, so
// waits for one must end. Elections must end before leases do, because an election must not
// isolate anybody.

// cutAfter is how long a member without a lease and a leader still waits for them.
func (c *Config) cutAfter() time.Duration { return c.Lease / 2 }

// cut is whether this member is isolated.
type cut struct {
	mu    sync.Mutex
	off   bool
	c     chan struct{} // closed while it is
	began time.Duration // when this member began to look for a leader
}

// set changes the state, and reports whether it was different before.
func (c *cut) set(off bool) (changed bool) {
	done := c.done()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case off == c.off:
		return false
	case off:
		close(done)
	default:
		c.c = make(chan struct{})
	}
	c.off = off
	return true
}

func (c *cut) is() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.off
}

// done returns a channel. It is closed while the member is isolated.
func (c *cut) done() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c == nil {
		c.c = make(chan struct{})
	}
	return c.c
}

// isolationTick is the interval at which a member looks for a leader.
const isolationTick = 100 * time.Millisecond

// watchLeader checks in each tick if this member is isolated, until ctx ends.
func (n *Node) watchLeader(ctx context.Context) {
	ticker := time.NewTicker(isolationTick)
	defer ticker.Stop()
	n.cut.mu.Lock()
	n.cut.began = n.cfg.Clock.Now()
	n.cut.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		n.lookForLeader()
	}
}

// lookForLeader updates and returns whether this member is isolated.
func (n *Node) lookForLeader() (off bool) {
	n.cut.mu.Lock()
	began := n.cut.began
	n.cut.mu.Unlock()
	_, _, led := n.agreement().Leader()
	end := max(n.lease.end(), began+n.cfg.Lease)
	off = !led && n.cfg.Clock.Now() >= end+n.cfg.cutAfter()
	n.setNoMajority(off) // first, because n.cut.set ends the waits for a leader
	if n.cut.set(off) {
		n.log.Warn("the way to a leader of the cluster has changed", "cut off", off)
	}
	return off
}

// stale is the last status of a leader.
type stale struct {
	mu     sync.Mutex
	status store.Status
	at     time.Duration
	kept   bool
}

func (k *stale) keep(s store.Status, now time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status, k.at, k.kept = s, now, true
}

func (k *stale) last() (s store.Status, at time.Duration, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.status, k.at, k.kept
}

// statusEvery is the interval at which a member requests the leader's status, because it may have
// no leader later. It grows with the members, because a status does too. So the leader sends in
// sum an amount that grows with their number, not with its square.
func (c *Config) statusEvery(members int) time.Duration {
	return 15 * c.Lease * time.Duration(1+members/statusMembers)
}

// statusMembers is the number of members for one more basic interval.
const statusMembers = 32

// refreshStatus fetches the leader's status if the last one is old.
func (n *Node) refreshStatus(ctx context.Context) {
	now := n.cfg.Clock.Now()
	members := 1
	if v := n.View(); v != nil {
		members = len(v.Members)
	}
	if _, at, ok := n.stale.last(); ok && now-at < n.cfg.statusEvery(members) {
		return
	}
	s, err := n.leadersStatus(ctx)
	if err != nil {
		n.log.Debug("no status of the leader", "error", err)
		return
	}
	n.stale.keep(s, now)
}

// lastStatus returns the state of the cluster if no leader is reached: the last report of one,
// with this node's epoch and the members which do not answer it. If the report is of an earlier
// epoch or missing, lastStatus returns this node's own state.
func (n *Node) lastStatus(unreached error) store.Status {
	s := n.ownStatus()
	said, at, ok := n.stale.last()
	if !ok || said.Generation != s.Generation || said.Epoch < s.Epoch {
		s.Waiting = fmt.Sprintf("a leader, which is not reached; the rest is what this node knows by itself: %s", unreached)
		if identity, member := n.store.Identity(); member && n.View() == nil { // started again
			s.Cluster, s.Generation = identity.Cluster, identity.Generation
			if n.cut.is() {
				s.Waiting = fmt.Sprintf("%v; %v", n.unreached(), unreached)
			}
		}
		n.markDown(s.Members)
		return s
	}
	said.Epoch, said.Phase, said.Leader = s.Epoch, s.Phase, s.Leader
	said.Stale = (n.cfg.Clock.Now() - at).Seconds()
	said.Waiting = fmt.Sprintf("a leader, which is not reached; the rest is what it said %s ago: %s",
		time.Duration(said.Stale*float64(time.Second)).Round(time.Second), unreached)
	said.Members = append([]store.Member(nil), said.Members...)
	for i := range said.Members {
		said.Members[i].Lease, said.Members[i].Slow = 0, 0
	}
	n.markDown(said.Members)
	return said
}

// markDown marks members as down if they do not answer this node's gossip.
func (n *Node) markDown(members []store.Member) {
	for id, p := range n.gossiped() {
		for i := range members {
			if m := &members[i]; m.ID == id.String() && !p.Alive && id != n.self {
				m.State = "down"
			}
		}
	}
}
