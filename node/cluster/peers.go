package cluster

import (
	"context"
	"fmt"
	"net"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/port"
	"github.com/trefoildb/trefoil/node/reads"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/node/writes"
	"github.com/trefoildb/trefoil/trie"
)

// Methods of this package between nodes.
const (
	methodJoin   = "cluster/join"
	methodReport = "cluster/report"
	methodFill   = "cluster/fill"
	methodSync   = "cluster/sync"
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
	n.server.Handle(methodFill, n.member(n.handleFill))
	n.server.Handle(methodSync, n.member(n.handleSync))
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

// Methods returns the names of all that other nodes can call here, sorted.
func (n *Node) Methods() []string { return n.server.Methods() }

// watch counts what others ask for their clients, which work on copies gives way to.
func (n *Node) watch(method string) (answered func()) {
	switch method {
	case reads.MethodScan, reads.MethodRows, reads.MethodCount, writes.MethodSubmit, writes.MethodDeliver:
		n.pace.begin()
		return n.pace.end
	}
	return nil
}

// member refuses what comes while this node is alone.
func (n *Node) member(h peer.Handler) peer.Handler {
	return func(ctx context.Context, header peer.Header, body []byte) ([]byte, error) {
		if n.parts.Load() == nil {
			return nil, refuse(peer.CodeUnavailable, 0, "this machine is not part of a cluster")
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

// header is what every message of this node carries.
func (n *Node) header() peer.Header {
	h := peer.Header{Cluster: n.cfg.Name, From: n.self, Incarnation: n.incarnation}
	if identity, ok := n.store.Identity(); ok {
		h.ClusterID, h.Lineage = identity.ClusterID, identity.Lineage
	}
	if v := n.current.Load(); v != nil {
		h.Generation, h.Epoch = v.Generation, v.Epoch
	}
	return h
}

// checkHeader refuses messages of other clusters, histories and generations. An address
// may have become that of a machine of another cluster, which may have the same name, or
// the same ID and another lineage: its refusal is not that of this cluster's leader, and
// so it has no epoch. A message without a generation is of a machine that has no view
// yet, which may ask to join, report, and nothing that needs an epoch.
func (n *Node) checkHeader(h peer.Header) *peer.Refusal {
	if h.Cluster != n.cfg.Name {
		return refuse(peer.CodeStranger, 0, "this is cluster %q, not %q", n.cfg.Name, h.Cluster)
	}
	v := n.current.Load()
	if identity, ok := n.store.Identity(); ok && h.ClusterID != "" {
		switch {
		case h.ClusterID != identity.ClusterID:
			return refuse(peer.CodeStranger, 0, "this is another cluster that is called %q, too", h.Cluster)
		case h.Lineage == identity.Lineage:
		case view.Begets(h.Lineage, identity.Lineage):
			return refuse(peer.CodeGeneration, max(h.Epoch, 1), "an operator has begun generation %d of the cluster here, after a lost majority", identity.Generation)
		case view.Begets(identity.Lineage, h.Lineage):
			return refuse(peer.CodeUnavailable, 0, "this machine is of generation %d of the cluster, an earlier one", identity.Generation)
		default:
			return refuse(peer.CodeStranger, 0, "this cluster %q has the same ID and another history (lineage %q, not %q)", h.Cluster, identity.Lineage, h.Lineage)
		}
	}
	if v == nil || h.Generation == 0 || h.Generation == v.Generation {
		return nil
	}
	code := peer.CodeGeneration
	if h.Generation > v.Generation { // it is this node that has missed something
		code = peer.CodeUnavailable
	}
	return refuse(code, v.Epoch, "this is generation %d of the cluster, not %d", v.Generation, h.Generation)
}

// addressOf returns where a member is reached.
func (n *Node) addressOf(id trie.MachineID) (string, error) {
	v := n.current.Load()
	if v == nil {
		return "", fmt.Errorf("%w: this machine is no member yet", node.ErrUnavailable)
	}
	m := v.Find(id)
	if m == nil {
		return "", refuse(peer.CodeEpoch, v.Epoch, "machine %s is no member", id)
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

// Stream sends a message to a member whose answer is a stream.
func (n *Node) Stream(ctx context.Context, to trie.MachineID, method string, body []byte) (*peer.Stream, error) {
	address, err := n.addressOf(to)
	if err != nil {
		return nil, err
	}
	return n.client.Stream(ctx, address, method, body)
}
