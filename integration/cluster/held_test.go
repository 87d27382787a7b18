// A network that holds messages back.

package cluster

import (
	"bytes"
	"context"
	"net"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/port"
)

// held holds back the messages that end the walks of machines: while it does, what was lost
// is not regenerated, and all else goes on.
type held struct {
	mu    sync.Mutex
	until chan struct{} // nil while nothing is held back
}

// begin holds them back until end is called, which may be called twice.
func (h *held) begin() (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	until := make(chan struct{})
	h.until = until
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.until = nil
		close(until)
	})
}

// network returns a host's network.
func (h *held) network(of port.Network) port.Network { return heldNetwork{of, h} }

type heldNetwork struct {
	port.Network
	held *held
}

func (n heldNetwork) Dial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := n.Network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &heldConn{Conn: c, held: n.held, closed: make(chan struct{})}, nil
}

type heldConn struct {
	net.Conn
	held   *held
	once   sync.Once
	closed chan struct{}
}

func (c *heldConn) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte("POST ")) && bytes.Contains(b[:min(len(b), 100)], []byte("cluster/sync ")) {
		c.held.mu.Lock()
		until := c.held.until
		c.held.mu.Unlock()
		if until != nil {
			select {
			case <-until:
			case <-c.closed:
			}
		}
	}
	return c.Conn.Write(b)
}

func (c *heldConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
