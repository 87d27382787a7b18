// A port: its options, binding it, closing it.

package port

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a port. All but Listen may be zero.
type Options struct {
	// Network is the machine's if it is nil.
	Network Network
	// Listen is host:port; if the port is 0, it takes a number free for TCP and UDP.
	Listen string
	// Cluster returns the name of this node's cluster, 255 bytes at most; "" or
	// nil is none yet. It is queried at every hello.
	Cluster func() string
	// ClusterID returns the ID of the cluster, because several may have one name; "" or nil is
	// none yet. It is called at every hello.
	ClusterID func() string
	// Closed refuses all connections between nodes, in both directions.
	Closed bool
	// TLS is for all connections, HTTP too; nil is none.
	TLS *TLS
	// Secret is the secret for proofs between nodes; empty requests no proof.
	Secret []byte
	// MaxConnections bounds the connections of others: 4096 if 0. Beyond it the one idle for
	// longest is closed. One address (the first 64 bits of an IPv6 address) has at most three
	// quarters of the connections for HTTP. If none is idle, up to 64 more are accepted as
	// Crowded.
	MaxConnections int
	// MaxStreams bounds the connections between nodes, and is kept for them from HTTP: 1024, or
	// half of MaxConnections, if 0.
	MaxStreams int
	// ReadTimeout is how long a connection may take to show its kind, TLS and hello included, and
	// how long it waits to be accepted. Dial has the same time for all its work. 10 s if 0.
	ReadTimeout time.Duration
	// Logger logs refusals; nil is slog's default.
	Logger *slog.Logger
}

const (
	defaultConnections = 4096
	defaultStreams     = 1024
	defaultTimeout     = 10 * time.Second
)

// Validate returns an error if an option is invalid.
func (o Options) Validate() error {
	switch {
	case o.Listen == "":
		return errors.New("port: no address to listen on")
	case o.MaxConnections < 0 || o.MaxStreams < 0 || o.ReadTimeout < 0:
		return errors.New("port: a limit is below zero")
	case o.MaxConnections == 1:
		return errors.New("port: one connection is too few for HTTP beside one between nodes")
	case o.MaxConnections > 0 && o.MaxStreams >= o.MaxConnections:
		return fmt.Errorf("port: %d connections between nodes leave none of %d for HTTP", o.MaxStreams, o.MaxConnections)
	case o.MaxConnections == 0 && o.MaxStreams >= defaultConnections:
		return fmt.Errorf("port: %d connections between nodes leave none of %d for HTTP", o.MaxStreams, defaultConnections)
	}
	return nil
}

// Port is one address with all of a node behind it.
type Port struct {
	network     Network
	cluster     func() string
	clusterID   func() string
	closed      bool
	secret      []byte
	credentials *credentials // nil is no TLS
	timeout     time.Duration
	log         *slog.Logger

	streams net.Listener
	packets net.PacketConn
	http    *listener
	kinds   map[Kind]*listener
	conns   conns

	rejected atomic.Uint64
	warned   atomic.Int64 // Unix nanoseconds

	mu      sync.Mutex // orders the start of Serve and Close
	serving bool
	done    chan struct{}  // closed by Close
	close   func() error   // once
	running sync.WaitGroup // Serve and all that it starts
}

// Listen binds a port. Serve then lets connections in.
func Listen(ctx context.Context, o Options) (*Port, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	p := &Port{
		network: o.Network, cluster: o.Cluster, clusterID: o.ClusterID, closed: o.Closed, secret: bytes.Clone(o.Secret), timeout: o.ReadTimeout, log: o.Logger,
		kinds: map[Kind]*listener{}, done: make(chan struct{}),
	}
	// 1. Fill in the defaults.
	if p.network == nil {
		p.network = Host
	}
	if p.cluster == nil {
		p.cluster = func() string { return "" }
	}
	if p.clusterID == nil {
		p.clusterID = func() string { return "" }
	}
	if p.timeout == 0 {
		p.timeout = defaultTimeout
	}
	if p.log == nil {
		p.log = slog.Default()
	}
	most, streams := o.MaxConnections, o.MaxStreams
	if most == 0 {
		most = defaultConnections
	}
	if streams == 0 {
		streams = min(defaultStreams, most/2)
	}
	// 2. Make the listeners of all kinds, and bind the port last: a connection may come at
	// once.
	p.conns = newConns(most, streams)
	p.http = newListener(p, most)
	for _, k := range []Kind{Raft, Gossip, Peer} {
		p.kinds[k] = newListener(p, backlog)
	}
	var err error
	if o.TLS != nil {
		if p.credentials, err = newCredentials(*o.TLS, p.cluster, p.log); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
	}
	if p.streams, p.packets, err = bind(ctx, p.network, o.Listen); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", o.Listen, err)
	}
	p.close = sync.OnceValue(p.shut)
	return p, nil
}

// Addr returns the bound address, for TCP and UDP.
func (p *Port) Addr() net.Addr { return p.streams.Addr() }

// HTTP, Raft, Gossip and Peer return the listeners of the kinds. If a connection is not accepted
// within ReadTimeout, it is closed.
func (p *Port) HTTP() net.Listener   { return p.http }
func (p *Port) Raft() net.Listener   { return p.kinds[Raft] }
func (p *Port) Gossip() net.Listener { return p.kinds[Gossip] }
func (p *Port) Peer() net.Listener   { return p.kinds[Peer] }

// Packets returns the datagrams of the port, unchecked: their reader must authenticate them.
func (p *Port) Packets() net.PacketConn { return p.packets }

// Rejected counts the connections closed without being accepted.
func (p *Port) Rejected() uint64 { return p.rejected.Load() }

func (p *Port) isClosed() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Close closes the port with all its connections, also dialed ones, and waits for the goroutines
// of Serve.
func (p *Port) Close() error { return p.close() }

func (p *Port) shut() error {
	p.mu.Lock()
	close(p.done)
	p.mu.Unlock()
	err := errors.Join(p.streams.Close(), p.packets.Close())
	p.conns.closeAll()
	p.running.Wait()
	return err
}
