// How a machine becomes a member, or takes up its membership after a start.

package cluster

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/cluster/generation"
	"github.com/trefoildb/trefoil/internal/cluster/gossip"
	"github.com/trefoildb/trefoil/internal/cluster/leader"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/store"
)

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
		Self: n.self, Lease: n.cfg.Lease, FailureTimeout: n.cfg.FailureTimeout, Now: n.cfg.Clock.Now, Gossip: n.gossiped, Yields: n.standsBack, Logger: n.log,
	})}
	if key, known := n.gossipKey(); known {
		if p.gossip, err = n.startGossip(key, p.leader); err != nil {
			return nil, errors.Join(err, ag.Close())
		}
	}
	n.parts.Store(p)
	n.run(func() { n.follow(n.ctx, ag) })
	n.run(func() { n.renew(n.ctx) })
	n.run(func() { p.leader.Run(n.ctx) })
	n.run(func() { n.watchLeader(n.ctx) })
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
	g.SetPeers(n.others())
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

// gossipAs starts gossip when a joining machine has got the ID of its cluster. Only the goroutine
// of Start may call it.
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
		Heartbeat: n.cfg.Lease / 4, Now: n.cfg.Clock.Now,
	}
}

// lineage names the history of this machine, "" if it has none yet.
func (n *Node) lineage() string {
	identity, ok := n.store.Identity()
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s/%s/%d", identity.ClusterID, identity.Lineage, identity.Generation)
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

// resume starts a machine if it is a member already.
func (n *Node) resume(ctx context.Context, identity store.Identity) error {
	// 1. Read the agreed views from the disk. There is no view until a leader answers. If the
	// cluster went on without this machine, none ever comes, so it must ask others.
	stored, _, err := agreement.Stored(n.agreementConfig())
	if err != nil {
		return err
	}
	if stored != nil && view.Begets(identity.Lineage, stored.Lineage) {
		// A recovery of the majority was interrupted before its last step.
		identity.Lineage, identity.Generation = stored.Lineage, stored.Generation
		if err := n.store.SetIdentity(identity); err != nil {
			return err
		}
	}
	forms, err := n.checkLog(stored, identity)
	if err != nil {
		return err
	}
	if stored != nil {
		n.lease.said(stored.Lease)
		for _, m := range stored.Members {
			if m.ID != n.self { // it may listen elsewhere now
				n.seeds = append(n.seeds, m.Address)
			}
		}
		// Releases without digests have left none on the disk.
		if seen := seenOf(stored); n.seen.Digest == 0 && n.seen.Generation == seen.Generation && n.seen.Epoch == seen.Epoch {
			n.seen = seen
		}
	}
	// 2. The cluster was being formed when the process ended: nobody has adopted a view of
	// it, and it begins anew.
	if forms {
		identity.Lineage, identity.Forming = generation.NewLineage(), true
		if err := n.store.SetIdentity(identity); err != nil {
			return err
		}
	}
	if others := n.others(); n.cfg.Closed && len(others) > 0 {
		return fmt.Errorf("%w: %s is that of a member of %q, as are the machines at %s", ErrOpenMember, n.store.Dir(), identity.Cluster, strings.Join(others, ", "))
	}
	p, err := n.openParts()
	if err != nil || !forms {
		return err
	}
	return n.bootstrap(ctx, p, identity)
}

// checkLog reports whether a member without a stored view must form its cluster. It may only if
// it was forming it before. checkLog returns [agreement.ErrLogLost] if the machine has adopted
// views and its log lacks them.
func (n *Node) checkLog(stored *view.View, identity store.Identity) (forms bool, err error) {
	if n.follows {
		return false, nil
	}
	if stored == nil && (identity.Forming || identity.Lineage == "" && n.seen == store.Seen{}) {
		return true, nil
	}
	raft, lacks := filepath.Join(n.store.Dir(), agreement.DirName), "is missing or empty"
	if stored != nil {
		if stored.Generation > n.seen.Generation || stored.Generation == n.seen.Generation && stored.Epoch >= n.seen.Epoch {
			return false, nil
		}
		lacks = fmt.Sprintf("is an older one, which ends with generation %d, epoch %d", stored.Generation, stored.Epoch)
	}
	return false, fmt.Errorf("%w: %s %s: this directory is of machine %s, a member of cluster %q, which has adopted generation %d, epoch %d, "+
		"and it must not start without what was agreed on. Either put %s back as it was when the process ended last, "+
		"such as by mounting its disk. Or give up what this machine has, which the others have, too: "+
		"trefoil cluster set-aside --data %s --join HOST:PORT --force, with the address of another member; then start it again. "+
		"If most machines are lost, first read \"The directory raft/ is lost\" in OPERATIONS.md",
		agreement.ErrLogLost, raft, lacks, n.self, identity.Cluster, max(n.seen.Generation, identity.Generation), n.seen.Epoch,
		raft, n.store.Dir())
}

// bootstrap makes the first view of a cluster of one.
func (n *Node) bootstrap(ctx context.Context, p *parts, identity store.Identity) error {
	v, err := n.firstView(identity)
	if err != nil {
		return err
	}
	return p.agreement.Bootstrap(ctx, v)
}

// form makes a cluster of one of a lone node. Operations on the lone store must have ended when
// it begins; later ones go through the cluster.
func (n *Node) form(ctx context.Context) error {
	// 1. Only one task forms a cluster at a time; the others find the parts when it has ended.
	select {
	case n.forming <- struct{}{}:
		defer func() { <-n.forming }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if n.parts.Load() != nil {
		return nil
	}
	n.alone.Lock()
	defer n.alone.Unlock()
	// 2. Record the identity durably first. If the process ends here, Forming makes the next
	// start complete it.
	identity := store.Identity{Cluster: n.cfg.Name, ClusterID: rand.Text(), Generation: 1, Lineage: generation.NewLineage(), Forming: true}
	if err := n.store.SetIdentity(identity); err != nil {
		return err
	}
	p, err := n.openParts()
	if err != nil {
		n.fail(err) // the directory is a member's now: nothing else can be done with it
		return err
	}
	// It goes on once begun, even if the requesting machine stops waiting.
	if err := n.bootstrap(n.ctx, p, identity); err != nil {
		n.fail(err)
		return err
	}
	return n.awaitView(ctx, nil, n.View, func() chan struct{} { return nil })
}

// joining is the request of a machine to become a member; joined is the answer.
type joining struct {
	Cluster string        `json:"cluster"`
	Member  view.Member   `json:"member"`
	Lease   time.Duration `json:"lease"`
	// Room is how many bytes it has free above its watermark.
	Room int64 `json:"room"`
}

type joined struct {
	ClusterID  string `json:"clusterId"`
	Generation uint64 `json:"generation"`
	// Waits is why the machine is not a member yet, and what to do about it.
	Waits string `json:"waits,omitempty"`
}

// joinRetry is how long a machine waits before it asks to join again.
const joinRetry = 500 * time.Millisecond

// describe returns this machine as a member, for when it joins or comes back.
func (n *Node) describe() view.Member {
	m := view.Member{ID: n.self, Incarnation: n.incarnation, Address: n.address, State: view.Up, Minor: protocol.Minor}
	if n.cfg.Spare {
		m.State = view.Spare
	}
	return m
}

// join makes a machine without a cluster a member of one. It returns when a view with this
// machine is adopted.
func (n *Node) join(ctx context.Context) error {
	if n.store.Status().Triples > 0 {
		return fmt.Errorf("%w: %s: only the first machine of a cluster brings data; load it through the cluster instead", ErrNotEmpty, n.store.Dir())
	}
	if _, err := n.openParts(); err != nil {
		return err
	}
	// 1. Ask again and again, because a leader may lose its wishes, until a view has this
	// machine.
	m := n.describe()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for said := ""; ; {
		changed := n.Changed()
		if v := n.View(); v != nil && v.Has(n.self, n.incarnation) {
			return n.gossipAs(v.ClusterID)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-n.failed:
			return n.err
		case <-changed:
			continue
		case <-timer.C:
		}
		// 2. Send the request. Gossip can start only when the answer has the cluster's ID,
		// because its key may depend on it.
		timer.Reset(joinRetry)
		body, err := json.Marshal(joining{n.cfg.Name, m, n.cfg.Lease, n.store.Database().Spare()})
		if err != nil {
			return err
		}
		id, err := n.askToJoin(ctx, body)
		if err != nil {
			if errors.Is(err, ErrWrongCluster) || errors.Is(err, errOnlySelf) {
				return err
			}
			if text := err.Error(); text != said { // it is asked twice a second
				n.log.Warn("not joined yet, asking again", "join", n.cfg.Join, "error", err)
				said = text
			}
			continue
		}
		if err := n.gossipAs(id); err != nil {
			return err
		}
		n.parts.Load().gossip.SetPeers(n.others())
	}
}

// errOnlySelf: there is no other machine to ask.
var errOnlySelf = errors.New("this node is to join itself alone: name a member of the cluster")

// askToJoin sends the request to the addresses of Join, one after the other. It returns the
// cluster's ID.
func (n *Node) askToJoin(ctx context.Context, body []byte) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*n.cfg.Lease)
	defer cancel()
	err = errOnlySelf
	// Try the members in turn. If none answers, the last error is returned, and the caller
	// retries.
	for _, address := range n.cfg.Join {
		if address == n.address {
			continue
		}
		var b []byte
		if b, err = n.client.Call(ctx, address, methodJoin, body); err == nil {
			var j joined
			if err := json.Unmarshal(b, &j); err != nil {
				return "", err
			}
			if j.Waits != "" {
				return "", errors.New(j.Waits)
			}
			return j.ClusterID, nil
		}
		// Some errors do not pass with time: then the operator must change something.
		if r := (*peer.Refusal)(nil); errors.As(err, &r) && r.Code == peer.CodeStranger {
			return "", fmt.Errorf("%w: %s: %s", ErrWrongCluster, address, r.Message)
		}
		if errors.Is(err, port.ErrProtocol) {
			return "", fmt.Errorf("%w: %w", ErrWrongCluster, err)
		}
		if errors.Is(err, port.ErrCluster) {
			return "", fmt.Errorf("%w: %w; --cluster says which one to join", ErrWrongCluster, err)
		}
		if errors.Is(err, port.ErrClosed) {
			return "", fmt.Errorf("%w: %w", ErrWrongCluster, err)
		}
	}
	return "", err
}

// handleJoin handles the request of a machine to become a member. If this node is alone, it forms
// a cluster first. If it does not lead, it forwards the request.
func (n *Node) handleJoin(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	var j joining
	if err := json.Unmarshal(body, &j); err != nil {
		return nil, err
	}
	// 1. Reject a machine if it can never join this cluster.
	if j.Cluster != n.cfg.Name {
		return nil, peer.Refuse(peer.CodeStranger, 0, "this is cluster %q, not %q", n.cfg.Name, j.Cluster)
	}
	if j.Member.ID == n.self {
		return nil, peer.Refuse(peer.CodeStranger, 0, "machine %s cannot join itself: name another one; "+
			"or its directory is a copy of this one's, and needs an identity of its own", j.Member.ID)
	}
	agreed, minor := n.cfg.Lease, uint64(protocol.Minor) // a lone node would form a cluster of its own minor
	if v := n.View(); v != nil {
		agreed, minor = v.Lease, v.Minor
	}
	if j.Member.Minor < minor {
		return nil, peer.Refuse(peer.CodeStranger, 0, "%s", leader.Outdated(j.Member.Minor, minor))
	}
	if j.Lease != agreed {
		return nil, peer.Refuse(peer.CodeStranger, 0, "its failure timeout is %s, not %s: all nodes of a cluster have the same (--failure-timeout)",
			leader.FailureTimeout(agreed), leader.FailureTimeout(j.Lease))
	}
	if err := j.Member.CheckUnknown(); err != nil {
		return nil, peer.Refuse(peer.CodeStranger, 0, "%s", err)
	}
	if n.cfg.noClock != nil {
		return nil, peer.Refuse(peer.CodeStranger, 0, "%s", n.cfg.noClock)
	}
	// 2. Form a cluster if this node is alone.
	if n.parts.Load() == nil {
		if len(n.cfg.Join) > 0 {
			return nil, peer.Refuse(peer.CodeUnavailable, 0, "this machine has not joined yet itself")
		}
		if err := n.mustReach(ctx, j.Member); err != nil {
			return nil, err
		}
		if err := n.form(ctx); err != nil {
			return nil, err
		}
	}
	v := n.View()
	if v == nil {
		return nil, peer.Refuse(peer.CodeUnavailable, 0, "this machine is no member yet")
	}
	if !n.agreement().IsLeader() {
		id, address, ok := n.agreement().Leader()
		// If a leader has lost its disk, others still take it for the leader when it joins as a
		// new machine at the old address.
		if !ok || id == n.self || address == j.Member.Address {
			return nil, peer.Refuse(peer.CodeUnavailable, v.Epoch, "the cluster has no leader at the moment")
		}
		b, err := n.client.Call(ctx, address, methodJoin, body)
		return b, passOn(err)
	}
	// 3. Record the wish as the leader. The machine asks again until a view has it.
	if v.Find(j.Member.ID) == nil {
		if err := n.mustReach(ctx, j.Member); err != nil {
			return nil, err
		}
	}
	waits, err := n.leader().Join(v, j.Member, j.Room)
	if err != nil {
		return nil, err
	}
	return json.Marshal(joined{v.ClusterID, v.Generation, waits})
}

// mustReach rejects a machine if it does not answer at its own address. It must, because a member
// that sends and cannot receive would block every write.
func (n *Node) mustReach(ctx context.Context, m view.Member) error {
	timed, cancel := context.WithTimeout(ctx, n.cfg.Lease)
	defer cancel()
	body, err := n.client.Call(timed, m.Address, methodWho, nil)
	if err == nil && string(body) != m.ID.String() {
		err = fmt.Errorf("another machine answers there: %.40q", body)
	}
	if err != nil {
		return peer.Refuse(peer.CodeUnavailable, 0, "machine %s does not reach the one that wants to join at the address that it gives, %s (--advertise): %s",
			n.self, m.Address, err)
	}
	return nil
}
