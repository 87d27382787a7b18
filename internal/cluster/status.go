// The status of the cluster, from the leader or, without one, from this machine.

package cluster

import (
	"context"
	"encoding/json"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// statusTimeout bounds how long a status waits for the leader's.
const statusTimeout = time.Second

// Status returns the state of the cluster from the leader. If no leader is reached, it is the
// state known to this node. If the node is alone, it is the state of its store.
func (n *Node) Status() store.Status {
	own := n.store.Status()
	if n.parts.Load() == nil {
		own.Members[0].Address = n.address
		return own
	}
	ctx, cancel := context.WithTimeout(n.ctx, statusTimeout)
	defer cancel()
	s, err := n.leadersStatus(ctx)
	if err != nil {
		s = n.lastStatus(err)
	} else {
		n.stale.keep(s, n.cfg.Clock.Now())
	}
	s.NoMajority = n.NoMajority()
	s.Version, s.ReadOnly = own.Version, own.ReadOnly
	s.FreeBytes, s.Corruptions, s.Error = own.FreeBytes, own.Corruptions, own.Error
	return s
}

func (n *Node) leadersStatus(ctx context.Context) (s store.Status, err error) {
	if n.agreement().IsLeader() {
		return n.ownStatus(), nil
	}
	b, err := n.callLeader(ctx, methodStatus, nil)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

func (n *Node) handleStatus(context.Context, peer.Header, []byte) ([]byte, error) {
	if !n.agreement().IsLeader() {
		return nil, peer.Refuse(peer.CodeUnavailable, 0, "this node does not lead")
	}
	return json.Marshal(n.ownStatus())
}

// ownStatus returns the state of the cluster by this node's own records. Only a leader has the
// members' reports.
func (n *Node) ownStatus() (s store.Status) {
	v := n.View()
	if v == nil {
		s.Waiting = "this machine is no member yet"
		return s
	}
	s.Cluster, s.Generation, s.Epoch, s.Phase = v.Cluster, v.Generation, v.Epoch, v.Phase.String()
	s.Protocol = protocol.Name(v.Minor)
	if id, _, ok := n.agreement().Leader(); ok {
		s.Leader = id.String()
	}
	s.Waiting = n.leader().Waiting()
	s.Scrub = n.upkeep.Status()
	s.Copies, s.Bears = v.Target.Copies, v.Bears()
	s.Lost = len(v.Lost)
	for _, l := range v.Lost {
		s.LostRanges = append(s.LostRanges, store.NewLostRange(triple.Range{Lo: l.Lo, Hi: l.Hi}, l.Epoch))
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
		if !ok || v.Phase == recovery.Fill && n.rebuilds(j, segment) {
			s.Rebuilding++
		}
	}
	// 2. Add the members' reports if this node leads.
	voters, _ := n.agreement().Configuration()
	s.Members = n.leader().Members(v)
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
func (n *Node) rebuilds(j *recovery.Joint, s trie.Segment) bool {
	target := j.Target.Trie.Lookup(s.Lo)
	return j.Target.Placement.Owner(target) != j.Base.Placement.Owner(s)
}

// Isolation returns the present isolation: if a node is alone, it is the isolation of its store.
func (n *Node) Isolation() store.Isolation {
	if n.parts.Load() == nil {
		return n.store.Isolation()
	}
	return store.IsolationTriple
}
