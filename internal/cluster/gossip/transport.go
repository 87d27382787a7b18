// Streams and datagrams of memberlist over the shared port.

package gossip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	packetBytes  = 64 << 10
	resolvedTime = 30 * time.Second
	// maxStreams bounds the connections that others opened.
	maxStreams = 128
	// joinMark begins the name of a node that is known by its address only.
	joinMark = "@"
	nowhere  = "0.0.0.0:1" // for memberlist, which wants an IP address
)

// joinTarget is the argument of memberlist's Join that makes it dial an address
// as it stands.
func joinTarget(address string) string { return joinMark + address + "/" + nowhere }

// transport carries memberlist's streams and packets over the shared port.
type transport struct {
	cfg     Config
	peers   *table
	timeout time.Duration // of streams
	ctx     context.Context

	packets chan *memberlist.Packet
	streams chan net.Conn
	done    chan struct{}
	once    sync.Once
	running sync.WaitGroup
	closed  error

	mu       sync.Mutex
	ended    bool
	conns    map[*stream]struct{}
	accepted int
	resolved map[string]resolution
}

type resolution struct {
	addr net.Addr
	at   time.Time
}

var _ memberlist.NodeAwareTransport = (*transport)(nil)

func newTransport(ctx context.Context, cfg Config, peers *table) *transport {
	t := &transport{
		cfg: cfg, peers: peers, timeout: max(streamIntervals*cfg.Interval, minStreamTimeout), ctx: ctx,
		packets: make(chan *memberlist.Packet), streams: make(chan net.Conn), done: make(chan struct{}),
		conns: map[*stream]struct{}{}, resolved: map[string]resolution{},
	}
	t.running.Go(t.readPackets)
	t.running.Go(t.acceptStreams)
	return t
}

// FinalAdvertiseAddr implements memberlist.Transport. Others dial the host:port
// in the metadata, so this one only serves who has not seen that yet.
func (t *transport) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	addr, err := t.resolve(t.cfg.Address)
	if err != nil {
		t.cfg.Logger.Debug("gossip: this node's address cannot be resolved", "address", t.cfg.Address, "error", err)
	} else if ap, err := netip.ParseAddrPort(addr.String()); err == nil {
		return ap.Addr().Unmap().AsSlice(), int(ap.Port()), nil
	}
	ap := netip.MustParseAddrPort(nowhere)
	return ap.Addr().AsSlice(), int(ap.Port()), nil
}

// addressOf returns the host:port of a node.
func (t *transport) addressOf(a memberlist.Address) (string, error) {
	if address, ok := strings.CutPrefix(a.Name, joinMark); ok {
		return address, nil
	}
	if address, ok := t.peers.address(a.Name); ok {
		return address, nil
	}
	if ap, err := netip.ParseAddrPort(a.Addr); err != nil || ap.Addr().IsUnspecified() {
		return "", fmt.Errorf("gossip: the address of %s is not known", a.Name)
	}
	return a.Addr, nil
}

// WriteToAddress implements memberlist.NodeAwareTransport.
func (t *transport) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	address, err := t.addressOf(to)
	if err != nil {
		return time.Time{}, err
	}
	addr, err := t.resolve(address)
	if err != nil {
		return time.Time{}, err
	}
	_, err = t.cfg.Packets.WriteTo(b, addr)
	return time.Now(), err
}

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (t *transport) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	address, err := t.addressOf(to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	c, err := t.cfg.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	if s := t.track(c, false); s != nil {
		return s, nil
	}
	_ = c.Close() // given up: this node ends
	return nil, net.ErrClosed
}

// WriteTo implements memberlist.Transport.
func (t *transport) WriteTo(b []byte, addr string) (time.Time, error) {
	return t.WriteToAddress(b, memberlist.Address{Addr: addr})
}

// DialTimeout implements memberlist.Transport.
func (t *transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return t.DialAddressTimeout(memberlist.Address{Addr: addr}, timeout)
}

// PacketCh implements memberlist.Transport. It is never closed.
func (t *transport) PacketCh() <-chan *memberlist.Packet { return t.packets }

// StreamCh implements memberlist.Transport. It is never closed.
func (t *transport) StreamCh() <-chan net.Conn { return t.streams }

func (t *transport) readPackets() {
	buf := make([]byte, packetBytes)
	for {
		n, from, err := t.cfg.Packets.ReadFrom(buf)
		if err != nil {
			// An error may be another node's, which is not there: go on, but for
			// the end, and not too fast.
			if errors.Is(err, net.ErrClosed) || !t.pause() {
				return
			}
			continue
		}
		p := &memberlist.Packet{Buf: append([]byte(nil), buf[:n]...), From: from, Timestamp: time.Now()}
		select {
		case t.packets <- p:
		case <-t.done:
			return
		}
	}
}

func (t *transport) acceptStreams() {
	for {
		c, err := t.cfg.Listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || !t.pause() {
				return
			}
			continue
		}
		s := t.track(c, true)
		if s == nil {
			_ = c.Close() // too many, or the end
			continue
		}
		select {
		case t.streams <- s:
		case <-t.done:
			_ = s.Close() // given up
			return
		}
	}
}

// pause waits a moment after an error, and is false at the end.
func (t *transport) pause() bool {
	timer := time.NewTimer(10 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.done:
		return false
	}
}

// Shutdown implements memberlist.Transport. It may be called again.
func (t *transport) Shutdown() error {
	t.once.Do(func() {
		close(t.done)
		t.closeStreams()
		err := errors.Join(t.cfg.Listener.Close(), t.cfg.Packets.SetReadDeadline(time.Unix(1, 0)))
		if err != nil && !errors.Is(err, net.ErrClosed) {
			t.closed = fmt.Errorf("gossip: close: %w", err)
		}
		t.running.Wait()
	})
	return t.closed
}

// failure returns what Shutdown did, which memberlist only logs.
func (t *transport) failure() error { return t.Shutdown() }

// closeStreams closes all connections, and all that come later.
func (t *transport) closeStreams() {
	t.mu.Lock()
	t.ended = true
	conns := t.conns
	t.conns = map[*stream]struct{}{}
	t.mu.Unlock()
	for s := range conns {
		_ = s.Conn.Close() // they are given up
	}
}

func (t *transport) track(c net.Conn, accepted bool) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || accepted && t.accepted >= maxStreams {
		return nil
	}
	s := &stream{Conn: c, of: t, accepted: accepted}
	t.conns[s] = struct{}{}
	if accepted {
		t.accepted++
	}
	return s
}

// stream is a connection that the transport knows until it is closed.
type stream struct {
	net.Conn
	of       *transport
	accepted bool
}

func (s *stream) Close() error {
	s.of.mu.Lock()
	if _, ok := s.of.conns[s]; ok {
		delete(s.of.conns, s)
		if s.accepted {
			s.of.accepted--
		}
	}
	s.of.mu.Unlock()
	return s.Conn.Close()
}

// resolve returns where packets for an address go. Of a host name that cannot be
// resolved any more, the last answer counts.
func (t *transport) resolve(address string) (net.Addr, error) {
	t.mu.Lock()
	last, known := t.resolved[address]
	t.mu.Unlock()
	if known && time.Since(last.at) < resolvedTime {
		return last.addr, nil
	}
	ctx, cancel := context.WithTimeout(t.ctx, resolveTimeout)
	defer cancel()
	addr, err := t.cfg.Resolve(ctx, address)
	if err != nil && !known {
		return nil, fmt.Errorf("gossip: resolve %s: %w", address, err)
	}
	if err != nil {
		addr = last.addr
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.resolved) >= maxPeers {
		clear(t.resolved)
	}
	t.resolved[address] = resolution{addr, time.Now()}
	return addr, nil
}

// resolve is the default of Config.Resolve.
func resolve(ctx context.Context, address string) (net.Addr, error) {
	if ap, err := netip.ParseAddrPort(address); err == nil {
		return net.UDPAddrFromAddrPort(ap), nil
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "udp", service)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(ips) == 0 {
		return nil, fmt.Errorf("%s has no address", host)
	}
	return net.UDPAddrFromAddrPort(netip.AddrPortFrom(ips[0].Unmap(), uint16(port))), nil
}
