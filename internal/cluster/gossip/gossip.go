// Package gossip detects which machines answer, by SWIM (github.com/hashicorp/memberlist) over
// the shared port's streams and packets. It only suspects: the consequences are agreed on
// elsewhere.
//
// To memberlist every start of a process is a node of its own, "machine-incarnation", because it
// lets no node take over the name of a live one. Here the greatest incarnation of a machine is
// the machine, from its first message on. Messages about earlier ones do not count any more.
//
// If a process has the key, it is believed: a member may report another as dead, or with a
// greater incarnation. So Key must be set if strangers can reach the port, because without it
// they can do so too. The consequences cost availability, never data.
//
// memberlist knows nodes by IP address. Their advertised host:port travels in the metadata and is
// dialed, so host names are resolved on use:
//
//	format 0x01 | incarnation u64 big-endian | host:port to the end
package gossip

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/trefoildb/trefoil/trie"
)

const (
	defaultInterval = 200 * time.Millisecond
	// Multiples of Interval.
	streamIntervals = 20
	stateIntervals  = 50
	rejoinIntervals = 10
	deadIntervals   = 150

	minStreamTimeout = time.Second
	resolveTimeout   = 2 * time.Second
	maxJoins         = 8 // at a time
	maxAddressBytes  = 300
)

// Config configures [Start].
type Config struct {
	ID          trie.MachineID
	Incarnation uint64
	// Listener and Packets are the shared port's. Close closes the listener and
	// ends reading from Packets by a deadline, and does not close it.
	Listener net.Listener
	Packets  net.PacketConn
	// Dial opens a stream to another node's listener.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Resolve turns host:port into what Packets sends to; nil queries the DNS.
	Resolve func(ctx context.Context, address string) (net.Addr, error)
	// Address is host:port at which others reach this node.
	Address string
	// Key encrypts and authenticates what is said: 16, 24 or 32 bytes; nil does not. The cluster's
	// node derives it from the secret and the token (gossipKey in internal/cluster/membership.go).
	Key []byte
	// Label is the cluster's name; what comes with another one is dropped.
	Label string
	// Interval is the time between two probes, 200 ms if 0; all other times go
	// with it. A crash is noticed within some ten intervals, in a small cluster.
	Interval time.Duration
	Logger   *slog.Logger
}

// Validate returns an error if the configuration is invalid.
func (c Config) Validate() error {
	switch {
	case c.ID == 0 || c.Incarnation == 0:
		return errors.New("gossip: no machine ID or incarnation")
	case c.Listener == nil || c.Packets == nil || c.Dial == nil:
		return errors.New("gossip: no listener, packets or dialer")
	case len(c.Address) > maxAddressBytes:
		return fmt.Errorf("gossip: the address has %d bytes, %d at most", len(c.Address), maxAddressBytes)
	case len(c.Label) > memberlist.LabelMaxSize:
		return fmt.Errorf("gossip: the cluster's name has %d bytes, %d at most", len(c.Label), memberlist.LabelMaxSize)
	case c.Interval < 0:
		return fmt.Errorf("gossip: an interval of %s", c.Interval)
	case c.Key != nil && memberlist.ValidateKey(c.Key) != nil:
		return fmt.Errorf("gossip: a key of %d bytes, not 16, 24 or 32", len(c.Key))
	}
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return fmt.Errorf("gossip: address: %w", err)
	}
	return nil
}

// Gossip is this node's part in it. Its methods may be called by any number of
// goroutines.
type Gossip struct {
	cfg       Config
	peers     *table
	transport *transport
	list      *memberlist.Memberlist

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup
	once    sync.Once
	closed  error

	mu     sync.Mutex
	ended  bool     // no new goroutines, and no Leave
	others []string // addresses to join again where they are not alive
}

// Start begins to listen. The node is alone until it joins others, or they it.
func Start(cfg Config) (*Gossip, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Interval == 0 {
		cfg.Interval = defaultInterval
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Resolve == nil {
		cfg.Resolve = resolve
	}
	g := &Gossip{cfg: cfg, peers: newTable()}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.transport = newTransport(g.ctx, cfg, g.peers)
	var err error
	if g.list, err = memberlist.Create(g.config()); err != nil {
		g.cancel()
		return nil, errors.Join(fmt.Errorf("gossip: %w", err), g.transport.Shutdown())
	}
	g.running.Go(g.rejoin)
	return g, nil
}

func (g *Gossip) config() *memberlist.Config {
	c := memberlist.DefaultLANConfig()
	interval := g.cfg.Interval
	c.Name = nameOf(g.cfg.ID, g.cfg.Incarnation)
	c.Transport = g.transport
	c.Label = g.cfg.Label
	c.SecretKey = g.cfg.Key
	c.ProbeInterval = interval
	c.ProbeTimeout = interval / 2
	c.GossipInterval = interval / 4
	c.SuspicionMult = 4
	c.SuspicionMaxTimeoutMult = 2
	c.PushPullInterval = stateIntervals * interval
	c.GossipToTheDeadTime = deadIntervals * interval
	// Messages have a few hundred bytes. A compressor for each takes more time than all the rest.
	c.EnableCompression = false
	c.TCPTimeout = max(streamIntervals*interval, minStreamTimeout)
	// A process keeps its address, but the IP address of its host name may change.
	c.DeadNodeReclaimTime = interval
	c.Delegate = metadata(metaOf(g.cfg.Incarnation, g.cfg.Address))
	c.Alive = g.peers
	c.Events = g.peers
	c.Logger = log.New(lines{g.cfg.Logger}, "", 0)
	return c
}

// Join exchanges the known machines with the nodes at these addresses. It succeeds if one of
// them answers.
func (g *Gossip) Join(ctx context.Context, addresses []string) error {
	if len(addresses) == 0 {
		return nil
	}
	// 1. Call all of them, at most maxJoins at a time. The channel has room for all answers, so
	// that no goroutine blocks if this one returns early.
	answers := make(chan error, len(addresses))
	slots := make(chan struct{}, maxJoins)
	for _, address := range addresses {
		started := g.spawn(func() {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-ctx.Done():
				answers <- ctx.Err()
				return
			case <-g.ctx.Done():
				answers <- net.ErrClosed
				return
			}
			_, err := g.list.Join([]string{joinTarget(address)})
			answers <- err
		})
		if !started {
			return fmt.Errorf("gossip: join: %w", net.ErrClosed)
		}
	}
	// 2. Wait for all answers.
	var failed error
	joined := false
	for range addresses {
		select {
		case err := <-answers:
			joined = joined || err == nil
			failed = errors.Join(failed, err)
		case <-ctx.Done():
			return fmt.Errorf("gossip: join: %w", ctx.Err())
		}
	}
	if joined {
		return nil
	}
	return fmt.Errorf("gossip: no node answers: %w", failed)
}

// spawn starts f, which Close waits for; not after Close.
func (g *Gossip) spawn(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return false
	}
	g.running.Go(f)
	return true
}

// SetPeers sets the addresses for other members. If nobody is alive at one, it is joined from
// time to time, because after a long partition of the network each half has forgotten the other.
// It keeps nothing of addresses.
func (g *Gossip) SetPeers(addresses []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.others = slices.DeleteFunc(slices.Clone(addresses), func(a string) bool { return a == g.cfg.Address })
}

func (g *Gossip) rejoin() {
	ticker := time.NewTicker(rejoinIntervals * g.cfg.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-g.ctx.Done():
			return
		}
		missing := g.missing()
		if len(missing) == 0 {
			continue
		}
		rand.Shuffle(len(missing), func(i, j int) { missing[i], missing[j] = missing[j], missing[i] })
		if err := g.Join(g.ctx, missing[:min(len(missing), maxJoins)]); err != nil {
			g.cfg.Logger.Debug("gossip: members do not answer", "addresses", missing, "error", err)
		}
	}
}

// missing returns the addresses of SetPeers without a live node.
func (g *Gossip) missing() []string {
	alive := map[string]bool{}
	for _, p := range g.peers.all() {
		if p.Alive {
			alive[p.Address] = true
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(g.others), func(a string) bool { return alive[a] })
}

// State returns the record of a machine; ok is false if there is none.
func (g *Gossip) State(id trie.MachineID) (Peer, bool) { return g.peers.get(id) }

// Snapshot returns the records of all machines, this one too.
func (g *Gossip) Snapshot() map[trie.MachineID]Peer { return g.peers.all() }

// Peer returns the record of a machine.
func (g *Gossip) Peer(id trie.MachineID) (Peer, bool) { return g.peers.get(id) }

// Changed returns a channel that is closed when Snapshot changes. Take it before.
func (g *Gossip) Changed() <-chan struct{} { return g.peers.changed.Next() }

// Leave announces to the others that this node goes, so they need not suspect it. It returns when
// one of them has the message. The node answers until Close.
func (g *Gossip) Leave(ctx context.Context) error {
	done := make(chan error, 1)
	timeout := g.transport.timeout
	if at, ok := ctx.Deadline(); ok {
		timeout = max(min(timeout, time.Until(at)), time.Millisecond)
	}
	if !g.spawn(func() { done <- g.list.Leave(timeout) }) {
		return fmt.Errorf("gossip: leave: %w", net.ErrClosed)
	}
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("gossip: leave: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("gossip: leave: %w", ctx.Err())
	}
}

// Close ends it without a message; the others notice as after a crash.
func (g *Gossip) Close() error {
	g.once.Do(func() {
		g.mu.Lock()
		g.ended = true
		g.mu.Unlock()
		g.cancel()
		g.transport.closeStreams() // ends joins that wait for an answer
		g.running.Wait()
		g.closed = errors.Join(g.list.Shutdown(), g.transport.failure())
	})
	return g.closed
}

// lines passes on memberlist's log at debug level, because the leader logs a silent node when it
// acts on it.
type lines struct{ log *slog.Logger }

func (w lines) Write(p []byte) (int, error) {
	w.log.Debug("gossip: " + strings.TrimSpace(string(p)))
	return len(p), nil
}
