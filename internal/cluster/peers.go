// Messages between members, and their checks; and messages to all members.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/cluster/reads"
	"github.com/trefoildb/trefoil/internal/cluster/throttle"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/logs"
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
	methodWho    = "cluster/who" // answers that the recipient is there, also if it is no member yet
)

// peers are the connections of this node with the others. Its methods are safe for concurrent use.
type peers struct {
	*membership
	address  string   // that others reach this node at
	known    []string // where members may be found; set before all tasks
	later    *laterGeneration
	throttle *throttle.Throttle
	port     *port.Port
	client   *peer.Client
	server   *peer.Server
}

// Methods returns the names of all methods for other nodes, sorted.
func (p *peers) Methods() []string { return p.server.Methods() }

// watchRequest counts the requests for clients of others, because work on copies gives way to them. It logs those
// that have the ID of an HTTP request: a slow one is a warning, because it may be why a query is slow.
func (p *peers) watchRequest(ctx context.Context, method string, from peer.Header) (answered func()) {
	switch method {
	case reads.MethodScan, reads.MethodRows, reads.MethodCount, reads.MethodSkip, writes.MethodSubmit, writes.MethodPart, writes.MethodAnnotate, writes.MethodDeliver:
	default:
		return nil
	}
	p.throttle.Begin()
	if logs.RequestOf(ctx) == "" {
		return p.throttle.End
	}
	began := time.Now()
	return func() {
		p.throttle.End()
		level, message, took := slog.LevelDebug, "message", time.Since(began)
		if slow := p.cfg.SlowQuery; slow > 0 && took >= slow {
			level, message = slog.LevelWarn, "slow message"
		}
		p.log.Log(ctx, level, message, "method", method, "from", from.From, "ms", float64(took.Microseconds())/1e3)
	}
}

// Address returns the node's address for others.
func (p *peers) Address() string { return p.address }

// Handle makes h answer calls of a method from other members. It panics if the method has a
// handler.
func (p *peers) Handle(method string, h peer.Handler) { p.server.Handle(method, p.member(h)) }

// member rejects requests while this node is alone.
func (p *peers) member(h peer.Handler) peer.Handler {
	return func(ctx context.Context, header peer.Header, body []byte) ([]byte, error) {
		if p.isAlone() {
			return nil, peer.Refuse(peer.CodeUnavailable, 0, "this machine is not part of a cluster")
		}
		return h(ctx, header, body)
	}
}

func (p *peers) dial(kind port.Kind) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) {
		return p.port.Dial(ctx, kind, address)
	}
}

// clusterID returns the ID of the directory's cluster, "" if it has none.
func (p *peers) clusterID() string {
	identity, _ := p.store.Identity()
	return identity.ClusterID
}

// lineage names the history of this machine, "" if it has none yet.
func (p *peers) lineage() string {
	identity, ok := p.store.Identity()
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s/%s/%d", identity.ClusterID, identity.Lineage, identity.Generation)
}

// header is the header of every message of this node.
func (p *peers) header() peer.Header {
	h := peer.Header{Cluster: p.cfg.Name, From: p.self, Incarnation: p.incarnation}
	if identity, ok := p.store.Identity(); ok {
		h.ClusterID, h.Lineage = identity.ClusterID, identity.Lineage
	}
	if v := p.View(); v != nil {
		h.Generation, h.Epoch = v.Generation, v.Epoch
	}
	return h
}

// checkHeader rejects messages by their sender, and those for another machine. The sender goes first, because
// it must learn of a new generation from any machine of it.
func (p *peers) checkHeader(h peer.Header) *peer.Refusal {
	refusal := p.checkSender(h)
	if refusal == nil && h.To != 0 && h.To != p.self {
		refusal = peer.Refuse(peer.CodeOther, 0, "this is machine %s, not %s", p.self, h.To)
	}
	return refusal
}

// checkSender rejects messages of other clusters, histories and generations. A machine of another
// cluster may have got an address of this one. Its cluster may have the same name, or the same ID
// and another lineage. Its refusal must not count as one of this cluster's leader, so it has no
// epoch. If a message has no generation, its machine has no view yet. It may request to join, report,
// and send requests without an epoch.
func (p *peers) checkSender(h peer.Header) *peer.Refusal {
	if h.Cluster != p.cfg.Name {
		return peer.Refuse(peer.CodeStranger, 0, "this is cluster %q, not %q", p.cfg.Name, h.Cluster)
	}
	v := p.View()
	if identity, ok := p.store.Identity(); ok && h.ClusterID != "" {
		switch {
		case h.ClusterID != identity.ClusterID:
			return peer.Refuse(peer.CodeStranger, 0, "this is another cluster that is called %q, too", h.Cluster)
		case h.Lineage == identity.Lineage:
		case view.IsAncestor(h.Lineage, identity.Lineage):
			return peer.Refuse(peer.CodeGeneration, max(h.Epoch, 1), "an operator has begun generation %d of the cluster here, after a lost majority", identity.Generation)
		case view.IsAncestor(identity.Lineage, h.Lineage):
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

// recipient returns a member as the recipient of a message.
func (p *peers) recipient(id trie.MachineID) (peer.Recipient, error) {
	v := p.View()
	if v == nil {
		return peer.Recipient{}, fmt.Errorf("%w: this machine is no member yet", store.ErrUnavailable)
	}
	m := v.Find(id)
	if m == nil {
		return peer.Recipient{}, peer.Refuse(peer.CodeEpoch, v.Epoch, "machine %s is no member", id)
	}
	return peer.Recipient{Machine: id, Address: m.Address}, nil
}

// Call sends a message to a member and returns its answer.
func (p *peers) Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error) {
	r, err := p.recipient(to)
	if err != nil {
		return nil, err
	}
	return p.client.Call(ctx, r, method, body)
}

// Stream sends a message to a member; the answer is a stream.
func (p *peers) Stream(ctx context.Context, to trie.MachineID, method string, body []byte) (*peer.Stream, error) {
	r, err := p.recipient(to)
	if err != nil {
		return nil, err
	}
	return p.client.Stream(ctx, r, method, body)
}

func isRefusal(err error) bool { return errors.As(err, new(*peer.Refusal)) }

// callLeader sends a message to the leader. If the leader is unknown, it sends it to any member,
// because the member may know the leader.
func (p *peers) callLeader(ctx context.Context, method string, body []byte) ([]byte, error) {
	if id, address, ok := p.agreement().Leader(); ok && id != p.self {
		return p.client.Call(ctx, peer.Recipient{Machine: id, Address: address}, method, body)
	}
	err, refused := error(store.ErrUnavailable), error(nil)
	for _, address := range p.Members() {
		var b []byte
		if b, err = p.client.Call(ctx, peer.Recipient{Address: address}, method, body); err == nil {
			return b, nil
		}
		// A stranger's answer has no epoch.
		if r := (*peer.Refusal)(nil); errors.As(err, &r) && r.Epoch != 0 && (r.Code == peer.CodeStranger || r.Code == peer.CodeSuperseded) {
			return nil, err
		}
		if p.later.record(address, err) || refused == nil && isRefusal(err) {
			refused = err // it says more than that the next address does not answer
		}
	}
	if refused != nil {
		err = refused
	}
	return nil, fmt.Errorf("no leader of the cluster is reached: %w", err)
}

// Members returns the addresses of the other members, and others where members may be found.
func (p *peers) Members() []string {
	var addresses []string
	if v := p.View(); v != nil {
		for _, m := range v.Members {
			if m.ID != p.self {
				addresses = append(addresses, m.Address)
			}
		}
	}
	for _, a := range p.known {
		if a != p.address && !slices.Contains(addresses, a) {
			addresses = append(addresses, a)
		}
	}
	return addresses
}

// memberTimeout bounds how long one machine may take to answer a message to all.
const memberTimeout = 2 * time.Second

// errDown is the error of a member that does not answer gossip. It gets no message.
var errDown = errors.New("the machine is down")

// EachMember sends a message to all other members of the adopted view at the same time. It calls take once
// for each of them, one call at a time, with its answer or the reason why there is none. A node alone
// has no other members. A member that was started again does not know the others before it has a view: until then
// the error is [store.ErrUnavailable].
func (n *Node) EachMember(ctx context.Context, method string, body []byte, take func(m api.Member, answer []byte, err error)) error {
	v := n.View()
	switch {
	case v != nil:
		n.eachMemberOf(ctx, v, method, body, take)
	case !n.isAlone():
		return fmt.Errorf("%w: this machine has no view of the cluster yet", store.ErrUnavailable)
	}
	return nil
}

// eachMemberOf is EachMember for the members of a view.
func (n *Node) eachMemberOf(ctx context.Context, v *view.View, method string, body []byte, take func(m api.Member, answer []byte, err error)) {
	// 1. Send to those that are up, all at once.
	states := n.memberStates(v)
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i := range v.Members {
		id := v.Members[i].ID
		if id == n.self {
			continue
		}
		wait.Go(func() {
			m, answer, err := states[id.String()], []byte(nil), errDown
			if m.State != "down" {
				answer, err = n.callMember(ctx, id, method, body)
			}
			// 2. The caller needs no lock of its own.
			mu.Lock()
			defer mu.Unlock()
			take(m, answer, err)
		})
	}
	wait.Wait()
}

// callMember sends a message to a member that must answer soon.
func (n *Node) callMember(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, memberTimeout, fmt.Errorf("no answer within %s", memberTimeout))
	defer cancel()
	answer, err := n.Call(ctx, to, method, body)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return answer, err
}

// AnswerMembers makes h answer a method for EachMember of other members. It must be called once for a method.
func (n *Node) AnswerMembers(method string, h func(ctx context.Context, body []byte) ([]byte, error)) {
	n.Handle(method, func(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) { return h(ctx, body) })
}
