// A host: listening and dialing.

package memnet

import (
	"context"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/trefoildb/trefoil/internal/notify"
)

// backlog is the number of connections that wait to be accepted; further dials wait.
const backlog = 128

// firstFree is the first port for port 0.
const firstFree = 40000

// Host is one machine of a network. It has the methods of port.Network.
type Host struct {
	net  *Net
	addr netip.Addr
	dead chan struct{} // closed by Kill

	// Guarded by net.mu; nil after Kill.
	listeners map[uint16]*listener
	packets   map[uint16]*packetConn
	taken     uint16 // number of ports assigned for 0
}

// String returns the host's IP address.
func (h *Host) String() string { return h.addr.String() }

func (h *Host) isDead() bool {
	select {
	case <-h.dead:
		return true
	default:
		return false
	}
}

// Listen accepts connections at one of the host's ports. "" and the unspecified address mean the
// host's own.
func (h *Host) Listen(ctx context.Context, addr string) (net.Listener, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	number, err := h.bind(addr, func(number uint16) bool { return h.listeners[number] != nil })
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: name(addr), Err: err}
	}
	l := &listener{host: h, addr: netip.AddrPortFrom(h.addr, number), conns: make(chan *conn, backlog), done: make(chan struct{})}
	h.listeners[number] = l
	return l, nil
}

// ListenPacket receives datagrams at one of the host's ports.
func (h *Host) ListenPacket(ctx context.Context, addr string) (net.PacketConn, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	number, err := h.bind(addr, func(number uint16) bool { return h.packets[number] != nil })
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "udp", Addr: name(addr), Err: err}
	}
	p := newPacketConn(h, number)
	h.packets[number] = p
	return p, nil
}

// bind returns the port for an address. net.mu must be held.
func (h *Host) bind(addr string, taken func(uint16) bool) (uint16, error) {
	number, err := h.localPort(addr)
	switch {
	case err != nil:
		return 0, err
	case h.isDead():
		return 0, net.ErrClosed
	case number == 0:
		return h.free(), nil
	case taken(number):
		return 0, os.NewSyscallError("bind", syscall.EADDRINUSE)
	}
	return number, nil
}

// localPort returns the port of an address. It fails if the address is another host's.
func (h *Host) localPort(addr string) (uint16, error) {
	ip, text, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, err
	}
	if ip != "" {
		if a, err := netip.ParseAddr(ip); err != nil || a != h.addr && !a.IsUnspecified() {
			return 0, os.NewSyscallError("bind", syscall.EADDRNOTAVAIL)
		}
	}
	return uint16(number), nil
}

// free returns a port that is free for streams and packets. net.mu must be held.
func (h *Host) free() uint16 {
	for {
		number := firstFree + h.taken%(1<<16-firstFree)
		h.taken++
		if h.listeners[number] == nil && h.packets[number] == nil {
			return number
		}
	}
}

// Dial connects to host:port. host must be an IP address. If nobody listens, the dial is refused at
// once. If the way is cut, it waits until ctx ends or the cut is healed.
func (h *Host) Dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := h.dial(ctx, addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: name(addr), Err: err}
	}
	return conn, nil
}

func (h *Host) dial(ctx context.Context, addr string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	// 1. Wait until both ways are open, and once for the delay of a handshake.
	there, back := way{h.addr, to.Addr()}, way{to.Addr(), h.addr}
	n := h.net
	slept := false
	for {
		n.mu.Lock()
		open, changed := n.open(there) && n.open(back), n.changed.Next()
		wait := time.Duration(0)
		if open && !slept {
			wait = n.delay(there) + n.delay(back)
		}
		n.mu.Unlock()
		switch {
		case !open:
			if err := h.wait(ctx, changed); err != nil {
				return nil, err
			}
			continue
		case wait > 0:
			passed := make(chan struct{})
			timer := time.AfterFunc(wait, func() { close(passed) })
			err := h.wait(ctx, passed)
			timer.Stop()
			if err != nil {
				return nil, err
			}
			slept = true
			continue
		}
		// 2. Connect. If the listener's queue is full, wait for room and start over, because a way
		// may be cut meanwhile.
		conn, room, err := n.connect(h, to)
		if conn != nil || err != nil {
			return conn, err
		}
		if err := h.wait(ctx, room); err != nil {
			return nil, err
		}
	}
}

// wait waits for a change. It fails if ctx ends or the host is killed.
func (h *Host) wait(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-h.dead:
		return net.ErrClosed
	}
}

// connect makes a connection and queues its other end at the listener. If the queue is full, the
// returned channel is closed when there is room.
func (n *Net) connect(h *Host, to netip.AddrPort) (net.Conn, <-chan struct{}, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	there := n.hosts[to.Addr()]
	if h.isDead() {
		return nil, nil, net.ErrClosed
	}
	if there == nil || there.listeners[to.Port()] == nil {
		return nil, nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
	}
	l := there.listeners[to.Port()]
	room := l.room.Next() // before the look at the queue, because Accept does not hold net.mu
	if len(l.conns) == cap(l.conns) {
		return nil, room, nil
	}
	s := newStream(n, h, there, netip.AddrPortFrom(h.addr, h.free()), to)
	n.streams = append(n.streams, s)
	n.sent(s.ends[0].addr, to, "dial", nil)
	l.conns <- &conn{s, 1}
	return &conn{s, 0}, nil, nil
}

// listener accepts connections. Its queue is filled and closed under net.mu.
type listener struct {
	host  *Host
	addr  netip.AddrPort
	conns chan *conn
	room  notify.Broadcast // waiting dials may try again
	done  chan struct{}
	once  sync.Once
}

func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.addr) }

func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, l.closed()
	default:
	}
	select {
	case c := <-l.conns:
		l.room.Send()
		return c, nil
	case <-l.done:
		return nil, l.closed()
	}
}

func (l *listener) closed() error {
	return &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
}

// Close refuses further connections, and resets those not yet accepted.
func (l *listener) Close() error {
	l.close()
	return nil
}

func (l *listener) close() {
	l.once.Do(func() {
		n := l.host.net
		n.mu.Lock()
		defer n.mu.Unlock()
		if l.host.listeners[l.addr.Port()] == l {
			delete(l.host.listeners, l.addr.Port())
		}
		close(l.done)
		l.room.Send()
		for {
			select {
			case c := <-l.conns:
				if c.stream.abort(c.end) {
					n.remove(c.stream)
				}
			default:
				return
			}
		}
	})
}

// name is an address as given.
type name string

func (name) Network() string  { return "tcp" }
func (n name) String() string { return string(n) }
