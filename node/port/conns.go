// The connections that are open: their caps, and closing them all.

package port

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// class is what a connection is counted as.
type class int

const (
	unknown class = iota // its first bytes are awaited
	web
	stream
	dialed // by this node: no cap
	classes
)

// conns are the open connections of a port.
//
// Invariant: the counts are those of open; count[unknown] + count[web] +
// count[stream] <= max, count[stream] <= streams, count[web] <= max - streams.
type conns struct {
	max, streams int

	mu     sync.Mutex
	closed bool
	open   map[*conn]struct{}
	count  [classes]int
}

// conn is an open connection, below TLS where there is TLS.
type conn struct {
	net.Conn
	all   *conns
	class class // guarded by all.mu
}

// add takes a connection in, or closes it and returns nil where there is no room.
func (s *conns) add(raw net.Conn, as class) *conn {
	c := &conn{Conn: raw, all: s, class: as}
	s.mu.Lock()
	full := as != dialed && s.count[unknown]+s.count[web]+s.count[stream] >= s.max
	if s.closed || full {
		s.mu.Unlock()
		raw.Close()
		return nil
	}
	s.open[c] = struct{}{}
	s.count[as]++
	s.mu.Unlock()
	return c
}

// become counts a connection as what it has turned out to be; false where there
// is no room for another one, or where it was closed.
func (s *conns) become(c *conn, as class) bool {
	room := s.streams
	if as == web {
		room = s.max - s.streams
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[c]; !ok || s.count[as] >= room {
		return false
	}
	s.count[c.class]--
	s.count[as]++
	c.class = as
	return true
}

// closeAll closes the connections and lets no more in.
func (s *conns) closeAll() {
	s.mu.Lock()
	s.closed = true
	open := make([]*conn, 0, len(s.open))
	for c := range s.open {
		open = append(open, c)
	}
	s.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
}

func (c *conn) Close() error {
	c.all.mu.Lock()
	if _, ok := c.all.open[c]; ok {
		delete(c.all.open, c)
		c.all.count[c.class]--
	}
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends what this side sends, where the network knows such a thing.
func (c *conn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// root accepts for the multiplexer: with caps, and with TLS in front.
type root struct {
	net.Listener
	port *Port
}

// Accept fails only when the port is closed: whatever else fails, such as having
// too many open files, is tried again.
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

// take returns an accepted connection with a deadline for all that comes before
// its kind is known: the multiplexer's is for reading only.
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
