// Joining: how a machine becomes a member of a cluster.

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/leader"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/store"
)

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

// joinRetry is how long a machine waits before it requests to join again.
const joinRetry = 500 * time.Millisecond

// admission is the way of a new machine into its cluster. The machines that were members before, and
// those that stay alone, are not on it.
type admission struct {
	joined chan struct{}  // closed when the machine is a member, or need not become one
	task   sync.WaitGroup // of joining

	mu    sync.Mutex
	waits string // guarded by mu: what it waits for; "" if it is a member
}

func (a *admission) wait(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waits = what
}

// waiting returns what this machine waits for, "" if it is a member.
func (a *admission) waiting() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waits
}

// notJoined returns [store.ErrUnavailable] and the reason while this machine is not a member yet.
func (a *admission) notJoined() error {
	if what := a.waiting(); what != "" {
		return fmt.Errorf("%w: this machine waits for %s", store.ErrUnavailable, what)
	}
	return nil
}

// Joined is closed when the node is a member of its cluster, or alone because it need not join one.
func (n *Node) Joined() <-chan struct{} { return n.admission.joined }

// AwaitJoined waits until the node is a member of the cluster that it is to join. It returns why the
// node ended, or the end of ctx. The node must be closed then.
func (n *Node) AwaitJoined(ctx context.Context) error {
	select {
	case <-n.Joined():
		return nil
	case <-n.failed:
		return n.err
	case <-n.ctx.Done():
		return store.ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// startJoin begins to make a machine without a cluster a member of one. It returns at once, because
// the machine must answer its operators however long that takes.
func (n *Node) startJoin() error {
	if counted, err := n.store.Database().Counters(); err != nil || n.store.Status().Triples > 0 || counted.Links > 0 {
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: %s: only the first machine of a cluster brings data; load it through the cluster instead", ErrNotEmpty, n.store.Dir())
	}
	if !slices.ContainsFunc(n.cfg.Join, func(address string) bool { return address != n.address }) {
		return errOnlySelf
	}
	n.admission.wait(fmt.Sprintf("membership in cluster %q, which it asks %s for", n.cfg.Name, strings.Join(n.cfg.Join, ", ")))
	if _, err := n.openParts(); err != nil {
		return err
	}
	n.admission.task.Go(func() {
		if err := n.join(n.ctx); err != nil {
			n.fail(err)
			return
		}
		n.admission.wait("")
		close(n.admission.joined)
	})
	return nil
}

// join returns when a view with this machine is adopted.
func (n *Node) join(ctx context.Context) error {
	// 1. Ask again and again, because a leader may lose its wishes, until a view has this
	// machine.
	m := n.describe(n.cfg.Spare)
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
		id, err := n.requestJoin(ctx, body)
		if err != nil {
			if errors.Is(err, ErrWrongCluster) {
				return err
			}
			n.admission.wait(fmt.Sprintf("membership in cluster %q: %s", n.cfg.Name, err))
			if text := err.Error(); text != said { // it is asked twice a second
				n.log.Warn("not joined yet, asking again", "join", n.cfg.Join, "error", err)
				said = text
			}
			continue
		}
		if err := n.gossipAs(id); err != nil {
			return err
		}
		n.parts.Load().gossip.SetPeers(n.Members())
	}
}

// errOnlySelf: there is no other machine to ask.
var errOnlySelf = errors.New("this node is to join itself alone: name a member of the cluster")

// requestJoin sends the request to the addresses of Join, one after the other. It returns the
// cluster's ID.
func (n *Node) requestJoin(ctx context.Context, body []byte) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*n.cfg.Lease)
	defer cancel()
	// Try the members in turn. If none answers, the last error is returned, and the caller
	// retries.
	for _, address := range n.cfg.Join {
		if address == n.address {
			continue
		}
		var b []byte
		if b, err = n.client.Call(ctx, peer.Recipient{Address: address}, methodJoin, body); err == nil {
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
	if n.isAlone() {
		// The port is open before the directory is read. It may be that of a member, whose identity a
		// new cluster would replace.
		if !n.mayForm.Load() {
			return nil, peer.Refuse(peer.CodeUnavailable, 0, "this machine is starting, or has not joined yet itself")
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
		b, err := n.client.Call(ctx, peer.Recipient{Machine: id, Address: address}, methodJoin, body)
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

// describe returns this machine as a member, for when it joins or comes back.
func (p *peers) describe(spare bool) view.Member {
	m := view.Member{ID: p.self, Incarnation: p.incarnation, Address: p.address, State: view.Up, Minor: protocol.Minor, NoLinks: p.cfg.NoLinks}
	if spare {
		m.State = view.Spare
	}
	return m
}

// mustReach rejects a machine if it does not answer at its own address. It must, because a member
// that sends and cannot receive would block every write.
func (p *peers) mustReach(ctx context.Context, m view.Member) error {
	timed, cancel := context.WithTimeout(ctx, p.cfg.Lease)
	defer cancel()
	if err := p.reach(timed, m); err != nil {
		return peer.Refuse(peer.CodeUnavailable, 0, "machine %s does not reach the one that wants to join at the address that it gives, %s (--advertise): %s",
			p.self, m.Address, err)
	}
	return nil
}

// reach returns nil if a machine answers at its address.
func (p *peers) reach(ctx context.Context, m view.Member) error {
	_, err := p.client.Call(ctx, peer.Recipient{Machine: m.ID, Address: m.Address}, methodWho, nil)
	return err
}
