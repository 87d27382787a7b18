// Accepting for the multiplexer: within the bounds, and with TLS in front.

package port

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/trefoildb/trefoil/internal/retry"
)

// root is the listener of the multiplexer.
type root struct {
	net.Listener
	port *Port
}

// Accept fails only when the port is closed. After any other failure, such as too many open
// files, it closes the connection idle for longest and tries again.
func (r root) Accept() (net.Conn, error) {
	pauses := retry.Backoff{First: 5 * time.Millisecond, Last: time.Second}
	for {
		raw, err := r.Listener.Accept()
		switch {
		case r.port.isClosed():
			if err == nil {
				raw.Close()
			}
			return nil, net.ErrClosed
		case err != nil:
			wait := pauses.Next()
			r.port.log.Error("accepting a connection failed", "error", err, "again", wait)
			r.port.conns.pushIdle()
			retry.SleepUntil(context.Background(), wait, r.port.done)
			continue
		}
		if c := r.take(raw); c != nil {
			return c, nil
		}
		pauses.Reset()
	}
}

// take returns an accepted connection with a deadline until its kind is known. It is needed
// because the multiplexer's deadline is for reading only.
func (r root) take(raw net.Conn) net.Conn {
	c := r.port.conns.add(raw, unknown)
	if c == nil {
		r.port.reject(raw, errFull)
		return nil
	}
	c.SetWriteDeadline(time.Now().Add(r.port.timeout))
	if r.port.credentials == nil {
		return c
	}
	return tls.Server(c, r.port.credentials.server())
}
