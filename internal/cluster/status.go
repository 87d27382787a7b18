// The status of the cluster, from the leader or, without one, from this machine.

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/upkeep"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// statusTimeout bounds how long a status waits for the leader's. It is below a second, so that an
// answer from this node's own records comes within one.
const statusTimeout = 750 * time.Millisecond

// status is the status of the cluster, and the last one that a leader sent.
type status struct {
	*membership
	peers     *peers
	isolation *isolation
	upkeep    *upkeep.Upkeep
	closing   context.Context
	err       func() error // why this node ends by itself, nil if it does not

	mu   sync.Mutex
	kept api.Status // guarded by mu: the last status of a leader
	at   time.Duration
	has  bool
}

// keep records a leader's status. It is as old as the request for it.
func (c *status) keep(s api.Status, requested time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept, c.at, c.has = s, requested, true
}

func (c *status) last() (s api.Status, at time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept, c.at, c.has
}

// Status returns the state of the cluster from the leader. If no leader is reached, it is the
// state known to this node. If the node is alone, it is the state of its store.
func (c *status) Status() api.Status {
	own := c.store.Status()
	if c.isAlone() {
		own.Members[0].Address = c.peers.address
		return own
	}
	s := c.ofCluster()
	if err := c.err(); err != nil {
		s.Waiting = fmt.Sprintf("the end of this process: %s", err)
	}
	s.NoMajority = c.isolation.NoMajority()
	s.Version, s.ReadOnly = own.Version, own.ReadOnly
	s.FreeBytes, s.Corruptions, s.Error = own.FreeBytes, own.Corruptions, own.Error
	return s
}

// ofCluster returns the state of the cluster from the leader or, if none is reached, from this node.
func (c *status) ofCluster() api.Status {
	if what := c.admission.waiting(); what != "" {
		s := c.local()
		s.Cluster, s.Waiting = c.cfg.Name, what
		return s
	}
	ctx, cancel := context.WithTimeout(c.closing, statusTimeout)
	defer cancel()
	requested := c.leaseTime()
	s, err := c.ofLeader(ctx)
	if err != nil {
		return c.withoutLeader(err)
	}
	c.keep(s, requested)
	return s
}

func (c *status) ofLeader(ctx context.Context) (s api.Status, err error) {
	if c.agreement().IsLeader() {
		return c.local(), nil
	}
	b, err := c.peers.callLeader(ctx, methodStatus, nil)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

func (c *status) answer(context.Context, peer.Header, []byte) ([]byte, error) {
	if !c.agreement().IsLeader() {
		return nil, peer.Refuse(peer.CodeUnavailable, 0, "this node does not lead")
	}
	return json.Marshal(c.local())
}

// local returns the state of the cluster by this node's own records. Only a leader has the
// members' reports.
func (c *status) local() (s api.Status) {
	v := c.View()
	if v == nil {
		s.Waiting = "this machine is no member yet"
		s.Members = []api.Member{} // null in JSON is not the list that clients expect
		return s
	}
	s.Cluster, s.Generation, s.Epoch, s.Phase = v.Cluster, v.Generation, v.Epoch, v.Phase.String()
	s.Protocol = protocol.Name(v.Minor)
	if id, _, ok := c.agreement().Leader(); ok {
		s.Leader = id.String()
	}
	s.Waiting = c.leader().Waiting()
	s.Scrub = c.upkeep.Status()
	s.Copies, s.Bears = v.Target.Copies, v.SpareFailures()
	if s.Lost = len(v.Lost); s.Lost == 0 {
		s.StoredCopies = v.SpareFailures() + 1
	}
	for _, e := range v.Excluded {
		s.Excluded = append(s.Excluded, api.ExcludedMachine{ID: e.ID.String(), Address: e.Address, Epoch: e.Epoch, Why: e.Why})
	}
	for _, l := range v.Lost {
		s.LostRanges = append(s.LostRanges, store.NewLostRange(triple.Range{Lo: l.Lo, Hi: l.Hi}, l.Epoch))
	}
	for _, machine := range v.Base.Placement.Machines() {
		if v.Find(machine) == nil {
			s.Missing = append(s.Missing, machine.String())
		}
	}
	// 1. Count the segments of each owner, and those without a complete copy.
	j := v.Joint()
	segments := map[trie.MachineID]int{}
	for segment := range j.Reads().Trie.All() {
		s.Segments++
		owner, ok := j.ReaderOf(segment)
		if ok {
			segments[owner]++
		}
		if !ok || v.Phase == recovery.Fill && rebuilds(j, segment) {
			s.Rebuilding++
		}
	}
	// 2. Add the members' reports if this node leads.
	voters, _ := c.agreement().Configuration()
	s.Members = c.leader().Members(v)
	for i := range s.Members {
		m, id := &s.Members[i], v.Members[i].ID
		_, m.Voter = voters[id]
		m.Segments = segments[id]
		s.Triples += m.Triples
		s.Bytes += m.Bytes
	}
	return s
}

// rebuilds reports whether a segment's place is another one in target.
func rebuilds(j *recovery.Joint, s trie.Segment) bool {
	target := j.Target.Trie.Lookup(s.Lo)
	return j.Target.Placement.Owner(target) != j.Base.Placement.Owner(s)
}

// refreshEvery is the interval at which a member requests the leader's status, because it may have
// no leader later. It grows with the members, because a status does too. So the leader sends in
// sum an amount that grows with their number, not with its square.
func (c *status) refreshEvery(members int) time.Duration {
	return 15 * c.cfg.Lease * time.Duration(1+members/statusMembers)
}

// statusMembers is the number of members for one more basic interval.
const statusMembers = 32

// refresh fetches the leader's status if the last one is old.
func (c *status) refresh(ctx context.Context) {
	members := 1
	if v := c.View(); v != nil {
		members = len(v.Members)
	}
	requested := c.leaseTime()
	if _, at, ok := c.last(); ok && requested-at < c.refreshEvery(members) {
		return
	}
	s, err := c.ofLeader(ctx)
	if err != nil {
		c.log.Debug("no status of the leader", "error", err)
		return
	}
	c.keep(s, requested)
}

// withoutLeader returns the state of the cluster if no leader is reached: the last report of one,
// with this node's epoch and the members which do not answer it. If the report is of an earlier
// epoch or missing, withoutLeader returns this node's own state.
func (c *status) withoutLeader(unreached error) api.Status {
	s := c.local()
	said, at, ok := c.last()
	if !ok || said.Generation != s.Generation || said.Epoch < s.Epoch {
		s.Waiting = fmt.Sprintf("a leader, which is not reached; the rest is what this node knows by itself: %s", unreached)
		if identity, member := c.store.Identity(); member && c.View() == nil { // started again
			s.Cluster, s.Generation = identity.Cluster, identity.Generation
			if c.isolation.isIsolated() {
				s.Waiting = fmt.Sprintf("%v; %v", c.isolation.unreached(), unreached)
			}
		}
		c.markDown(s.Members)
		return s
	}
	said.Epoch, said.Phase, said.Leader = s.Epoch, s.Phase, s.Leader
	said.Stale = (c.leaseTime() - at).Seconds()
	said.Waiting = fmt.Sprintf("a leader, which is not reached; the rest is what it said %s ago: %s",
		time.Duration(said.Stale*float64(time.Second)).Round(time.Second), unreached)
	said.Members = append([]api.Member(nil), said.Members...)
	for i := range said.Members {
		said.Members[i].Lease, said.Members[i].Slow = 0, 0
	}
	c.markDown(said.Members)
	return said
}

// markDown marks members as down if they do not answer this node's gossip.
func (c *status) markDown(members []api.Member) {
	for id, p := range c.gossiped() {
		for i := range members {
			if m := &members[i]; m.ID == id.String() && !p.Alive && id != c.self {
				m.State = "down"
			}
		}
	}
}
