// Messages between members, and their checks.

package cluster

import (
	"context"
	"fmt"
	"net"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/cluster/reads"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// Methods of this package between nodes.
const (
	methodJoin   = "cluster/join"
	methodReport = "cluster/report"
	methodStatus = "cluster/status"
	methodLeave  = "cluster/leave"
	methodRemove = "cluster/remove"
	methodWish   = "cluster/wish"
	methodAccept = "cluster/accept-loss"
	methodCopies = "cluster/copies"
	methodWho    = "cluster/who" // answers with the machine's ID, also of one that is no member yet
)

func (n *Node) register() {
	n.server.Handle(methodJoin, n.handleJoin)
	n.server.Handle(methodWho, func(context.Context, peer.Header, []byte) ([]byte, error) { return []byte(n.self.String()), nil })
	n.server.Handle(methodReport, n.member(n.handleReport))
	n.server.Handle(methodStatus, n.member(n.handleStatus))
	n.server.Handle(methodLeave, n.member(n.handleLeave))
	n.server.Handle(methodRemove, n.member(n.handleRemove))
	n.server.Handle(methodAccept, n.member(n.handleAccept))
	n.server.Handle(methodCopies, n.member(n.handleCopies))
	n.server.Handle(methodWish, n.member(n.handleWish))
	n.server.Handle(methodJournal, n.member(n.handleJournal))
	n.writes.Register(n.server)
	n.loads.Register(n.server)
	n.reads.Register(n.server)
}

// Methods returns the names of all methods for other nodes, sorted.
func (n *Node) Methods() []string { return n.server.Methods() }

// watch counts the requests for clients of others, because work on copies gives way to them.
func (n *Node) watch(method string) (answered func()) {
	switch method {
	case reads.MethodScan, reads.MethodRows, reads.MethodCount, writes.MethodSubmit, writes.MethodDeliver:
		n.throttle.Begin()
		return n.throttle.End
	}
	return nil
}

// Handle makes h answer calls of a method from other members. It panics if the method has a
// handler.
func (n *Node) Handle(method string, h peer.Handler) { n.server.Handle(method, n.member(h)) }

// member rejects requests while this node is alone.
func (n *Node) member(h peer.Handler) peer.Handler {
	return func(ctx context.Context, header peer.Header, body []byte) ([]byte, error) {
		if n.parts.Load() == nil {
			return nil, peer.Refuse(peer.CodeUnavailable, 0, "this machine is not part of a cluster")
		}
		return h(ctx, header, body)
	}
}

func (n *Node) dial(kind port.Kind) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) {
		return n.port.Dial(ctx, kind, address)
	}
}

func (n *Node) dialPeer(ctx context.Context, address string) (net.Conn, error) {
	return n.port.Dial(ctx, port.Peer, address)
}

// header is the header of every message of this node.
func (n *Node) header() peer.Header {
	h := peer.Header{Cluster: n.cfg.Name, From: n.self, Incarnation: n.incarnation}
	if identity, ok := n.store.Identity(); ok {
		h.ClusterID, h.Lineage = identity.ClusterID, identity.Lineage
	}
	if v := n.View(); v != nil {
		h.Generation, h.Epoch = v.Generation, v.Epoch
	}
	return h
}

// checkHeader rejects messages of other clusters, histories and generations. A machine of another
// cluster may have got an address of this one. Its cluster may have the same name, or the same ID
// and another lineage. Its refusal must not count as one of this cluster's leader, so it has no
// epoch. If a message has no generation, its machine has no view yet. It may ask to join, report,
// and send requests without an epoch.
func (n *Node) checkHeader(h peer.Header) *peer.Refusal {
	if h.Cluster != n.cfg.Name {
		return peer.Refuse(peer.CodeStranger, 0, "this is cluster %q, not %q", n.cfg.Name, h.Cluster)
	}
	v := n.View()
	if identity, ok := n.store.Identity(); ok && h.ClusterID != "" {
		switch {
		case h.ClusterID != identity.ClusterID:
			return peer.Refuse(peer.CodeStranger, 0, "this is another cluster that is called %q, too", h.Cluster)
		case h.Lineage == identity.Lineage:
		case view.Begets(h.Lineage, identity.Lineage):
			return peer.Refuse(peer.CodeGeneration, max(h.Epoch, 1), "an operator has begun generation %d of the cluster here, after a lost majority", identity.Generation)
		case view.Begets(identity.Lineage, h.Lineage):
			return peer.Refuse(peer.CodeUnavailable, 0, "this machine is of generation %d of the cluster, an earlier one", identity.Generation)
		default:
			return peer.Refuse(peer.CodeStranger, 0, "this cluster %q has the same ID and another history (lineage %q, not %q)", h.Cluster, identity.Lineage, h.Lineage)
		}
	}
	if v == nil || h.Generation == 0 || h.Generation == v.Generation {
		return nil
	}
	code := peer.CodeGeneration
	if h.Generation > v.Generation { // it is this node that has missed something
		code = peer.CodeUnavailable
	}
	return peer.Refuse(code, v.Epoch, "this is generation %d of the cluster, not %d", v.Generation, h.Generation)
}

// addressOf returns the address of a member.
func (n *Node) addressOf(id trie.MachineID) (string, error) {
	v := n.View()
	if v == nil {
		return "", fmt.Errorf("%w: this machine is no member yet", store.ErrUnavailable)
	}
	m := v.Find(id)
	if m == nil {
		return "", peer.Refuse(peer.CodeEpoch, v.Epoch, "machine %s is no member", id)
	}
	return m.Address, nil
}

// Call sends a message to a member and returns its answer.
func (n *Node) Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error) {
	address, err := n.addressOf(to)
	if err != nil {
		return nil, err
	}
	return n.client.Call(ctx, address, method, body)
}

// Stream sends a message to a member; the answer is a stream.
func (n *Node) Stream(ctx context.Context, to trie.MachineID, method string, body []byte) (*peer.Stream, error) {
	address, err := n.addressOf(to)
	if err != nil {
		return nil, err
	}
	return n.client.Stream(ctx, address, method, body)
}
