// Raft's connections, over the shared port.

package agreement

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/trie"
)

// maxConns bounds the connections opened by others. Each takes half a MB.
const maxConns = 128

// streams is Raft's connections on the shared port. It has them all, because closing it must end
// all reads from them.
type streams struct {
	net.Listener
	self    trie.MachineID
	address string // advertised
	lineage func() string
	dial    func(ctx context.Context, address string) (net.Conn, error)
	ctx     context.Context // ends with close
	cancel  context.CancelFunc

	mu       sync.Mutex
	conns    map[*tracked]struct{}
	accepted int
	closed   bool
}

var _ raft.StreamLayer = (*streams)(nil)

func newStreams(cfg Config) *streams {
	ctx, cancel := context.WithCancel(context.Background())
	return &streams{
		Listener: cfg.Listener, self: cfg.ID, address: cfg.Address, lineage: cfg.Lineage, dial: cfg.Dial,
		ctx: ctx, cancel: cancel, conns: map[*tracked]struct{}{},
	}
}

// Accept implements net.Listener. Connections beyond maxConns are closed.
func (s *streams) Accept() (net.Conn, error) {
	for {
		c, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if t := s.track(c, true); t != nil {
			return t, nil
		}
		_ = c.Close() // too many, or the end
	}
}

// Dial implements raft.StreamLayer.
func (s *streams) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	id, host, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	c, err := s.dial(ctx, host)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	if err := errors.Join(c.SetWriteDeadline(deadline), greet(c, id, s.lineage()), c.SetWriteDeadline(time.Time{})); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if t := s.track(c, false); t != nil {
		return t, nil
	}
	_ = c.Close()
	return nil, fmt.Errorf("agreement: dial %s: %w", address, net.ErrClosed)
}

func (s *streams) track(c net.Conn, accepted bool) *tracked {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || accepted && s.accepted >= maxConns {
		return nil
	}
	t := &tracked{Conn: c, of: s, accepted: accepted}
	s.conns[t] = struct{}{}
	if accepted {
		s.accepted++
	}
	return t
}

// Close implements net.Listener, and closes all connections.
func (s *streams) Close() error {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	conns := s.conns
	s.conns = map[*tracked]struct{}{}
	s.mu.Unlock()
	err := s.Listener.Close()
	for c := range conns {
		_ = c.Conn.Close() // they are given up
	}
	return err
}

// Addr implements net.Listener: this node's address as Raft has it.
func (s *streams) Addr() net.Addr { return address(serverAddress(s.self, s.address)) }

type tracked struct {
	net.Conn
	of       *streams
	accepted bool
	greeted  bool // whom it is meant for is known; only its reader uses it
}

// Read implements net.Conn. It may wait for the greeting, because Raft reads each accepted
// connection in a goroutine of its own.
func (t *tracked) Read(b []byte) (int, error) {
	if t.accepted && !t.greeted {
		if err := t.Conn.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
			return 0, err
		}
		if err := checkRecipient(t.Conn, t.of.self, t.of.lineage()); err != nil {
			return 0, err
		}
		if err := t.Conn.SetReadDeadline(time.Time{}); err != nil {
			return 0, err
		}
		t.greeted = true
	}
	return t.Conn.Read(b)
}

func (t *tracked) Close() error {
	t.of.mu.Lock()
	if _, ok := t.of.conns[t]; ok {
		delete(t.of.conns, t)
		if t.accepted {
			t.of.accepted--
		}
	}
	t.of.mu.Unlock()
	return t.Conn.Close()
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
