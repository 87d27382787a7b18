// Accepting for the multiplexer: within the bounds, and with TLS in front.

package port

import (
	"crypto/tls"
	"net"
	"time"
)

// root is the listener of the multiplexer.
type root struct {
	net.Listener
	port *Port
}

// Accept fails only when the port is closed. After any other failure, such as too many open
// files, it closes the connection idle for longest and tries again.
func (r root) Accept() (net.Conn, error) {
	const most = time.Second
	wait := 5 * time.Millisecond
	for {
		raw, err := r.Listener.Accept()
		switch {
		case r.port.isClosed():
			if err == nil {
				raw.Close()
			}
			return nil, net.ErrClosed
		case err != nil:
			r.port.log.Error("accepting a connection failed", "error", err, "again", wait)
			r.port.conns.pushIdle()
			select {
			case <-time.After(wait):
			case <-r.port.done:
			}
			wait = min(2*wait, most)
			continue
		}
		if c := r.take(raw); c != nil {
			return c, nil
		}
		wait = 5 * time.Millisecond
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
