// The listeners of the kinds. Each ends by itself: closing one leaves the port
// and the others open.

package port

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// backlog is how many connections of a kind between nodes wait until its listener accepts
// them. Those with HTTP are bounded by their room.
const backlog = 128

type listener struct {
	port    *Port
	backlog int64
	conns   chan net.Conn
	waiting atomic.Int64 // reserved, and not accepted yet
	done    chan struct{}
	once    sync.Once
}

func newListener(p *Port, backlog int) *listener {
	return &listener{port: p, backlog: int64(backlog), conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	if !l.isOpen() {
		return nil, net.ErrClosed
	}
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
	case <-l.port.done:
	}
	return nil, net.ErrClosed
}

// Close makes Accept fail, and refuses connections of this kind from now on. Accepted ones stay
// open.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return l.port.Addr() }

func (l *listener) isOpen() bool {
	select {
	case <-l.done:
		return false
	case <-l.port.done:
		return false
	default:
		return true
	}
}

// reserve makes room for a connection; offer then uses it.
func (l *listener) reserve() bool {
	if !l.isOpen() {
		return false
	}
	if l.waiting.Add(1) > l.backlog {
		l.waiting.Add(-1)
		return false
	}
	return true
}

// offer waits until a connection is accepted; it returns false if it is not in time.
func (l *listener) offer(c net.Conn, timeout time.Duration) bool {
	defer l.waiting.Add(-1)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case l.conns <- c:
		return true
	case <-timer.C:
	case <-l.done:
	case <-l.port.done:
	}
	return false
}

// webConn is a connection with HTTP on it.
type webConn struct {
	net.Conn
	below net.Conn // without the multiplexer's buffer
	raw   *conn
}

// SetBusy records whether a request runs on the connection. Between two requests it may
// be closed to make room for others.
func (c *webConn) SetBusy(busy bool) { c.raw.all.becomeBusy(c.raw, busy) }

// Crowded reports whether the connection is beyond the room. It may
// request the health check; other requests are refused with that reason.
func (c *webConn) Crowded() bool {
	as, _ := c.raw.all.classOf(c.raw)
	return as == crowded
}

// CloseWrite lets net/http end an answer before it has read the whole request.
func (c *webConn) CloseWrite() error { return closeWrite(c.below) }

// secureConn is a webConn with TLS: net/http asks it for Request.TLS.
type secureConn struct {
	webConn
	tls *tls.Conn
}

func (c *secureConn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }
