package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node"
)

// This file is about a member that is cut off: it has no lease any more and hears of
// no leader, so that no view comes to wait for. Elections are over before leases are.

// cutAfter is for how long a member without lease and leader still waits for them.
func (c *Config) cutAfter() time.Duration { return c.Lease / 2 }

// cut reports whether a member is cut off.
type cut struct {
	mu    sync.Mutex
	off   bool
	c     chan struct{} // closed while it is
	began time.Duration // since when this member looks for a leader
}

// set changes it, and reports whether it was otherwise before.
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

// done returns a channel that is closed while the member is cut off.
func (c *cut) done() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c == nil {
		c.c = make(chan struct{})
	}
	return c.c
}

// watchLeader looks whether this member is cut off, until ctx ends.
func (n *Node) watchLeader(ctx context.Context) {
	ticker := time.NewTicker(leaderTick)
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

// lookForLeader notes and returns whether this member is cut off.
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

// newerOrCut is Newer, which ends with [node.ErrUnavailable] where this member is cut
// off.
func (n *Node) newerOrCut(ctx context.Context, epoch uint64) error {
	for {
		changed := n.Changed()
		if v := n.current.Load(); v != nil && v.Epoch > epoch {
			return nil
		}
		select {
		case <-changed:
		case <-n.cut.done():
			if !n.lookForLeader() {
				continue // since the last tick, as when it has just become a member
			}
			return n.unreached()
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-n.ctx.Done():
			return node.ErrClosed
		}
	}
}

// stale is the last status that came from a leader.
type stale struct {
	mu     sync.Mutex
	status node.Status
	at     time.Duration
	kept   bool
}

func (k *stale) keep(s node.Status, now time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status, k.at, k.kept = s, now, true
}

func (k *stale) last() (s node.Status, at time.Duration, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.status, k.at, k.kept
}

// statusEvery is how often a member asks for the leader's status, to have it when there is
// no leader. A status grows with the members, so a member of many asks seldom: what the
// leader sends in all then grows with their number, not with its square.
func (c *Config) statusEvery(members int) time.Duration {
	return 15 * c.Lease * time.Duration(1+members/statusMembers)
}

// statusMembers is a number of members that ask as often as one.
const statusMembers = 32

// refreshStatus keeps the leader's status, where the last one is old.
func (n *Node) refreshStatus(ctx context.Context) {
	now := n.cfg.Clock.Now()
	members := 1
	if v := n.current.Load(); v != nil {
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

// lastStatus is the state of the cluster where no leader is reached: what the last one
// said, the epoch of this node, and who is down for this node.
func (n *Node) lastStatus(unreached error) node.Status {
	s := n.ownStatus()
	said, at, ok := n.stale.last()
	if !ok || said.Generation != s.Generation {
		s.Waiting = fmt.Sprintf("a leader, which is not reached; the rest is what this node knows by itself: %s", unreached)
		n.markDown(s.Members)
		return s
	}
	said.Epoch, said.Phase, said.Leader = s.Epoch, s.Phase, s.Leader
	said.Stale = (n.cfg.Clock.Now() - at).Seconds()
	said.Waiting = fmt.Sprintf("a leader, which is not reached; the rest is what it said %s ago: %s",
		time.Duration(said.Stale*float64(time.Second)).Round(time.Second), unreached)
	said.Members = append([]node.Member(nil), said.Members...)
	for i := range said.Members {
		said.Members[i].Lease, said.Members[i].Slow = 0, 0
	}
	n.markDown(said.Members)
	return said
}

// markDown notes who does not answer this node's gossip.
func (n *Node) markDown(members []node.Member) {
	for id, p := range n.gossiped() {
		for i := range members {
			if m := &members[i]; m.ID == id.String() && !p.Alive && id != n.self {
				m.State = "down"
			}
		}
	}
}
