// Datagrams.

package memnet

import (
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	packetBytes = 65507 // the most of UDP
	packetQueue = 1024  // unread datagrams; more are lost
)

// packetConn sends and receives the datagrams of one port. Writes never wait.
type packetConn struct {
	host *Host
	addr netip.AddrPort

	mu     sync.Mutex
	cond   *sync.Cond
	queue  []datagram
	closed bool
	frozen bool
	read   deadline
}

// setFrozen stops or continues reading. Net.mu must be held.
func (p *packetConn) setFrozen(frozen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = frozen
	p.cond.Broadcast()
}

type datagram struct {
	from netip.AddrPort
	text []byte
}

func newPacketConn(h *Host, number uint16) *packetConn {
	p := &packetConn{host: h, addr: netip.AddrPortFrom(h.addr, number)}
	p.cond = sync.NewCond(&p.mu)
	return p
}

func (p *packetConn) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(p.addr) }

// ReadFrom returns the next datagram. If it is longer than b, the rest is lost.
func (p *packetConn) ReadFrom(b []byte) (int, net.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.closed:
			return 0, nil, p.wrap("read", net.ErrClosed)
		case p.read.passed:
			return 0, nil, p.wrap("read", os.ErrDeadlineExceeded)
		case len(p.queue) > 0 && !p.frozen:
			d := p.queue[0]
			p.queue = p.queue[1:]
			return copy(b, d.text), net.UDPAddrFromAddrPort(d.from), nil
		}
		p.cond.Wait()
	}
}

// WriteTo sends a datagram. If it gets lost, that is no error.
func (p *packetConn) WriteTo(b []byte, addr net.Addr) (int, error) {
	to, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return 0, p.wrap("write", err)
	}
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	if len(b) > packetBytes {
		return 0, p.wrap("write", os.NewSyscallError("sendto", syscall.EMSGSIZE))
	}
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return 0, p.wrap("write", net.ErrClosed)
	}
	p.host.net.send(datagram{p.addr, append([]byte(nil), b...)}, to)
	return len(b), nil
}

// send sends a datagram. It draws the same number of times for each, because the fate of one must
// not depend on the faults before it.
func (n *Net) send(d datagram, to netip.AddrPort) {
	n.sent(d.from, to, "packet", d.text)
	w := way{d.from.Addr(), to.Addr()}
	delay, lost, copies := time.Duration(0), false, 1
	n.mu.Lock()
	if w.from != w.to {
		chance := n.chance(w, "packets")
		lost = chance.Float64()*100 < float64(n.loss)
		delay = n.slow[w.from] + n.delayAt(chance.Float64())
		if chance.Float64()*100 < float64(n.twice) {
			copies = 2
		}
	}
	lost = lost || !n.open(w) || n.frozen[w.from]
	n.mu.Unlock()
	if lost {
		return
	}
	for range copies {
		if delay > 0 {
			time.AfterFunc(delay, func() { n.arrive(d, to) })
		} else {
			n.arrive(d, to)
		}
	}
}

// arrive delivers a datagram to the socket of its port, if there is one and the way is still open.
func (n *Net) arrive(d datagram, to netip.AddrPort) {
	n.mu.Lock()
	var p *packetConn
	if h := n.hosts[to.Addr()]; h != nil && n.open(way{d.from.Addr(), to.Addr()}) {
		p = h.packets[to.Port()]
	}
	n.mu.Unlock()
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && len(p.queue) < packetQueue {
		p.queue = append(p.queue, d)
		p.cond.Broadcast()
	}
}

func (p *packetConn) Close() error {
	if !p.close() {
		return p.wrap("close", net.ErrClosed)
	}
	n := p.host.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.host.packets[p.addr.Port()] == p {
		delete(p.host.packets, p.addr.Port())
	}
	return nil
}

// close ends reading and writing. It returns false if it was closed before.
func (p *packetConn) close() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.closed = true
	p.queue = nil
	p.read.stop()
	p.cond.Broadcast()
	return true
}

func (p *packetConn) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

func (p *packetConn) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return p.wrap("set", net.ErrClosed)
	}
	p.read.set(t, &p.mu, p.cond)
	return nil
}

// SetWriteDeadline does nothing, because no write waits.
func (p *packetConn) SetWriteDeadline(time.Time) error { return nil }

func (p *packetConn) wrap(op string, err error) error {
	return &net.OpError{Op: op, Net: "udp", Source: p.LocalAddr(), Err: err}
}
