// Membership: this process in its cluster, and the parts that only a member has.

package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/cluster/gate"
	"github.com/trefoildb/trefoil/internal/cluster/gossip"
	"github.com/trefoildb/trefoil/internal/cluster/leader"
	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/trie"
)

// membership is this process in its cluster, with its configuration and store. Several types share
// it. Its methods are safe for concurrent use.
type membership struct {
	cfg         Config
	log         *slog.Logger
	store       *replica.Store
	self        trie.MachineID
	incarnation uint64
	gate        *gate.Gate            // the adopted view
	parts       atomic.Pointer[parts] // nil while the node is alone
	admission   admission
}

// parts exist only on a member.
type parts struct {
	agreement *agreement.Agreement
	leader    *leader.Leader
	gossip    *gossip.Gossip // nil while a joining machine lacks its key
}

// leaseTime returns the time by the clock of leases.
func (m *membership) leaseTime() time.Duration { return m.cfg.Clock.Now() }

// isAlone reports whether the node belongs to no cluster.
func (m *membership) isAlone() bool { return m.parts.Load() == nil }

func (m *membership) agreement() *agreement.Agreement { return m.parts.Load().agreement }

func (m *membership) leader() *leader.Leader { return m.parts.Load().leader }

// gossiped returns the members by gossip.
func (m *membership) gossiped() map[trie.MachineID]gossip.Peer {
	p := m.parts.Load()
	if p == nil || p.gossip == nil {
		return nil
	}
	return p.gossip.Snapshot()
}

// process returns the entry a view must have while this process is a member.
func (m *membership) process() member.Process {
	return member.Process{Machine: m.self, Incarnation: m.incarnation}
}

// MachineID returns the machine's ID.
func (m *membership) MachineID() trie.MachineID { return m.self }

// View returns the adopted view; nil while the node is alone.
func (m *membership) View() *view.View { return m.gate.View() }

// Changed returns a channel. It is closed when the next view is adopted.
func (m *membership) Changed() <-chan struct{} { return m.gate.Changed() }

// Enter keeps the view from changing until leave is called, see [gate.Gate.Enter].
func (m *membership) Enter(epoch uint64) (leave func(), err error) { return m.gate.Enter(epoch) }

// openParts starts the parts of a member: agreement, gossip and their tasks.
func (n *Node) openParts() (*parts, error) {
	if n.cfg.noClock != nil {
		return nil, n.cfg.noClock
	}
	ag, err := agreement.Open(n.agreementConfig())
	if err != nil {
		return nil, err
	}
	p := &parts{agreement: ag, leader: leader.New(ag, leader.Options{
		Self: n.self, Lease: n.cfg.Lease, FailureTimeout: n.cfg.FailureTimeout, Now: n.leaseTime, Gossip: n.gossiped, Reach: n.reach, Yields: n.yields, Logger: n.log,
	})}
	if key, known := n.gossipKey(); known {
		if p.gossip, err = n.startGossip(key, p.leader); err != nil {
			return nil, errors.Join(err, ag.Close())
		}
	}
	n.parts.Store(p)
	n.run(func() { n.follow(n.ctx, ag) })
	n.run(func() { n.reporter.run(n.ctx) })
	n.run(func() { p.leader.Run(n.ctx) })
	n.run(func() { n.watch(n.ctx) })
	n.run(func() { n.upkeep.Run(n.ctx, leadership{ag, p.leader}) })
	return p, nil
}

// leadership is the leader as package upkeep needs it.
type leadership struct {
	*agreement.Agreement
	*leader.Leader
}

func (n *Node) startGossip(key []byte, l *leader.Leader) (*gossip.Gossip, error) {
	g, err := gossip.Start(gossip.Config{
		ID: n.self, Incarnation: n.incarnation, Address: n.address, Label: n.cfg.Name, Key: key,
		Listener: n.port.Gossip(), Packets: n.port.Packets(), Dial: n.dial(port.Gossip), Logger: n.log,
	})
	if err != nil {
		return nil, err
	}
	g.SetPeers(n.Members())
	n.run(func() { wakeOnGossip(n.ctx, g, l) })
	return g, nil
}

// gossipKey returns the key of gossip, in the length its cipher requires. The key is nil if nodes
// do not authenticate each other at all. If there are certificates and no secret, it follows from
// the cluster's ID, because only nodes have the ID. known is false while a joining machine lacks
// the ID.
func (n *Node) gossipKey() (key []byte, known bool) {
	if len(n.cfg.Secret) > 0 {
		return keyOf(n.cfg.Secret), true
	}
	if n.cfg.TLS == nil {
		return nil, true
	}
	identity, ok := n.store.Identity()
	return keyOf([]byte("trefoil gossip of cluster " + identity.ClusterID)), ok
}

func keyOf(secret []byte) []byte {
	key := sha256.Sum256(secret)
	return key[:]
}

// gossipAs starts gossip when a joining machine has got the ID of its cluster. Only the task
// of joining may call it.
func (n *Node) gossipAs(clusterID string) error {
	p := n.parts.Load()
	if p.gossip != nil {
		return nil
	}
	g, err := n.startGossip(keyOf([]byte("trefoil gossip of cluster "+clusterID)), p.leader)
	if err != nil {
		return err
	}
	n.parts.Store(&parts{agreement: p.agreement, leader: p.leader, gossip: g})
	return nil
}

func (n *Node) agreementConfig() agreement.Config {
	return agreement.Config{
		ID: n.self, Address: n.address, Dir: filepath.Join(n.store.Dir(), agreement.DirName), FS: n.cfg.FS,
		Lineage: n.lineage, Listener: n.port.Raft(), Dial: n.dial(port.Raft), Logger: n.log, OnFatal: n.end,
		Heartbeat: n.cfg.Lease / 4, Now: n.leaseTime,
	}
}

// wakeOnGossip wakes the leader as soon as a member is suspected.
func wakeOnGossip(ctx context.Context, g *gossip.Gossip, l *leader.Leader) {
	for {
		changed := g.Changed()
		select {
		case <-ctx.Done():
			return
		case <-changed:
			l.Wake()
		}
	}
}
