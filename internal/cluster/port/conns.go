// The open connections: the room of each class, and the choice of which to close for another one.

package port

import (
	"container/list"
	"errors"
	"net"
	"net/netip"
	"sync"
)

// class is the kind of a connection, for counting.
type class int

const (
	unknown class = iota // its first bytes, or its proof, are awaited
	web                  // HTTP
	crowded              // HTTP beyond the room: for health checks
	stream               // between nodes, after the hello
	dialed               // by this node: no bound
	classes
)

// crowdedRoom is the number of connections beyond the room of clients. They are accepted because
// a node must still report its state, and a health check needs its answer.
const crowdedRoom = 64

// conns are the open connections of a port. clients is the room for HTTP, share is one address's
// part of it, streams is the room between nodes.
//
// Invariant: the counts are those of open; count[web] <= clients, count[stream] <= streams,
// count[unknown] + count[web] + count[crowded] <= clients + crowdedRoom; web[a] <= share for
// every address a. idle holds the connections which may be closed for others, the longest waiting
// first: class unknown, and HTTP between two requests.
type conns struct {
	clients, share, streams int

	mu     sync.Mutex
	closed bool
	open   map[*conn]struct{}
	count  [classes]int
	web    map[netip.Prefix]int
	idle   list.List // of *conn
}

// conn is an open connection, below TLS if there is TLS.
type conn struct {
	net.Conn
	all  *conns
	from netip.Prefix

	// guarded by all.mu
	class  class
	place  *list.Element // in all.idle; nil while it is busy
	pushed bool          // closed to make room
}

// newConns returns the bounds of a port with most connections of others, streams of them kept for
// nodes. One address may have three quarters of the rest, because others must find room, and a
// proxy needs much.
func newConns(most, streams int) conns {
	clients := most - streams
	return conns{clients: clients, share: clients - clients/4, streams: streams, open: map[*conn]struct{}{}, web: map[netip.Prefix]int{}}
}

// add takes a connection in. If there is no room it closes the one idle for longest; if none is
// idle it closes the new one and returns nil.
func (s *conns) add(raw net.Conn, as class) *conn {
	c := &conn{Conn: raw, all: s, class: as, from: addressOf(raw)}
	s.mu.Lock()
	full := !s.closed && as != dialed && s.count[unknown]+s.count[web]+s.count[crowded] >= s.clients+crowdedRoom
	var out *conn
	if full {
		out = s.push(nil)
	}
	if s.closed || full && out == nil {
		s.mu.Unlock()
		raw.Close()
		return nil
	}
	s.open[c] = struct{}{}
	s.count[as]++
	if as == unknown {
		c.place = s.idle.PushBack(c)
	}
	s.mu.Unlock()
	out.end()
	return c
}

// push removes the connection idle for longest of all that fit; if fit is nil, all do. The caller
// must close it without the lock.
func (s *conns) push(fit func(*conn) bool) *conn {
	for e := s.idle.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*conn); fit == nil || fit(c) {
			c.pushed = true
			s.remove(c)
			return c
		}
	}
	return nil
}

// remove takes a connection out of the counts. The lock is held.
func (s *conns) remove(c *conn) {
	if _, ok := s.open[c]; !ok {
		return
	}
	delete(s.open, c)
	s.leave(c)
	s.setBusy(c, true)
}

// leave takes a connection out of its class, enter puts it into one. The lock is held.
func (s *conns) leave(c *conn) {
	s.count[c.class]--
	if c.class == web {
		if s.web[c.from]--; s.web[c.from] == 0 {
			delete(s.web, c.from)
		}
	}
}

func (s *conns) enter(c *conn, as class) {
	c.class = as
	s.count[as]++
	if as == web {
		s.web[c.from]++
	}
}

// setBusy keeps a connection from being closed to make room, or not any more. The
// lock is held.
func (s *conns) setBusy(c *conn, busy bool) {
	switch {
	case busy && c.place != nil:
		s.idle.Remove(c.place)
		c.place = nil
	case !busy && c.place == nil:
		c.place = s.idle.PushBack(c)
	}
}

// becomeStream counts a connection as one between nodes; false if there is no room
// for another one, or if it was closed.
func (s *conns) becomeStream(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[c]; !ok || s.count[stream] >= s.streams {
		return false
	}
	s.leave(c)
	s.enter(c, stream)
	s.setBusy(c, true)
	return true
}

// becomeWeb counts a connection as HTTP: within the room if there is some, or if
// another idle one can be closed for it, else as crowded. It returns false if the
// connection was closed.
func (s *conns) becomeWeb(c *conn) bool {
	s.mu.Lock()
	if _, ok := s.open[c]; !ok {
		s.mu.Unlock()
		return false
	}
	as, out := web, (*conn)(nil)
	switch {
	case s.web[c.from] >= s.share:
		out = s.push(func(o *conn) bool { return o.class == web && o.from == c.from })
		if out == nil {
			as = crowded
		}
	case s.count[web] >= s.clients:
		out = s.push(func(o *conn) bool { return o.class == web })
		if out == nil {
			as = crowded
		}
	}
	s.leave(c)
	s.enter(c, as)
	s.mu.Unlock()
	out.end()
	return true
}

// becomeBusy records whether a request runs on an HTTP connection.
func (s *conns) becomeBusy(c *conn, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[c]; ok {
		s.setBusy(c, busy)
	}
}

// pushIdle closes the connection idle for longest.
func (s *conns) pushIdle() {
	s.mu.Lock()
	out := s.push(nil)
	s.mu.Unlock()
	out.end()
}

// classOf returns the class of a connection, and whether it was closed to make room.
func (s *conns) classOf(c *conn) (as class, pushed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.class, c.pushed
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

// end closes a connection after push has removed it.
func (c *conn) end() {
	if c != nil {
		c.Conn.Close()
	}
}

func (c *conn) Close() error {
	c.all.mu.Lock()
	c.all.remove(c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends this side's sending if the network can do so.
func (c *conn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// addressOf returns the owner of a connection: an IPv4 address, or the first 64 bits of an IPv6
// address, because one customer has them. The zero prefix is an unknown address.
func addressOf(c net.Conn) netip.Prefix {
	from, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Prefix{}
	}
	bits := 64
	a := from.Addr().Unmap().WithZone("")
	if a.Is4() || a.IsLoopback() {
		bits = a.BitLen()
	}
	p, _ := a.Prefix(bits) // the bits fit the address
	return p
}
