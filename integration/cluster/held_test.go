// A network that holds requests back.

package cluster

import (
	"bytes"
	"context"
	"net"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/port"
)

// held holds back requests of one kind between machines, and all else goes on.
type held struct {
	mu      sync.Mutex
	until   chan struct{} // nil while nothing is held back
	request heldRequest
	pass    int // so many requests are not held back
	waiting int // requests that are held back now
}

// heldRequest is a kind of requests: methods, and the first byte of the body if a method has several kinds.
type heldRequest struct {
	methods []string
	kind    byte // 0: all
}

// heldRequests are the kinds that scenarios name.
var heldRequests = map[string]heldRequest{
	"sync":    {methods: []string{"cluster/sync"}},
	"rows":    {methods: []string{"reads/rows", "reads/scan"}},
	"end":     {methods: []string{"changes/end"}},
	"pause":   {methods: []string{"changes/pause"}},
	"changes": {methods: []string{"changes/read"}},
	"assign":  {methods: []string{"links/ask"}, kind: 11},
	"export":  {methods: []string{"links/ask"}, kind: 13},
}

// begin holds back the requests of a kind, behind the next few, until end is called, which may be called twice.
func (h *held) begin(r heldRequest, pass int) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	until := make(chan struct{})
	h.until, h.request, h.pass = until, r, pass
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.until = nil
		close(until)
	})
}

// holds reports whether a request is held back.
func (h *held) holds() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting > 0
}

// await returns when a request may be sent, or its connection is closed.
func (h *held) await(request []byte, closed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until == nil || !h.request.matches(request) {
		return
	}
	if h.pass > 0 {
		h.pass--
		return
	}
	until := h.until
	h.waiting++
	h.mu.Unlock()
	select {
	case <-until:
	case <-closed:
	}
	h.mu.Lock()
	h.waiting--
}

// matches reports whether the bytes that are written begin a request of the kind.
func (r heldRequest) matches(b []byte) bool {
	head, body, _ := bytes.Cut(b, []byte("\r\n\r\n"))
	return slices.ContainsFunc(r.methods, func(m string) bool { return bytes.HasPrefix(head, []byte("POST /"+m+" ")) }) &&
		(r.kind == 0 || len(body) > 0 && body[0] == r.kind)
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
	c.held.await(b, c.closed)
	return c.Conn.Write(b)
}

func (c *heldConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
