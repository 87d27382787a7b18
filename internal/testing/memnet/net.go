// The network: its hosts, and the faults between them.

package memnet

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/notify"
)

// Net is a network. It is safe for concurrent use.
type Net struct {
	seed uint64
	// watch, if set before the first host is used, is called with everything sent.
	watch func(from, to netip.AddrPort, kind string, text []byte)

	mu       sync.Mutex
	hosts    map[netip.Addr]*Host // living ones
	chances  map[string]*rand.Rand
	cut      map[way]bool
	isolated map[netip.Addr]bool
	min, max time.Duration // delay
	slow     map[netip.Addr]time.Duration
	loss     int // percent of datagrams
	twice    int // percent of datagrams
	frozen   map[netip.Addr]bool
	changed  notify.Broadcast // anything above changes
	streams  []*stream        // in the order of their dials, because a seed must repeat
}

// way is one direction between two hosts.
type way struct{ from, to netip.Addr }

// New returns a network without faults or delay.
func New(seed uint64) *Net {
	return &Net{
		seed: seed, hosts: map[netip.Addr]*Host{}, chances: map[string]*rand.Rand{}, cut: map[way]bool{},
		isolated: map[netip.Addr]bool{}, slow: map[netip.Addr]time.Duration{}, frozen: map[netip.Addr]bool{},
	}
}

// Watch makes the network call do with everything sent by hosts, in order. kind is "stream",
// "packet" or, for a connection, "dial". do must neither keep text nor call the network. It must be
// set before the first host is used.
func (n *Net) Watch(do func(from, to netip.AddrPort, kind string, text []byte)) { n.watch = do }

func (n *Net) sent(from, to netip.AddrPort, kind string, text []byte) {
	if n.watch != nil {
		n.watch(from, to, kind, text)
	}
}

// Host returns the host with an IP address. The first call creates it. After Kill it is a new one,
// as after a restart.
func (n *Net) Host(ip string) *Host {
	addr := parse(ip)
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.hosts[addr]
	if h == nil {
		h = &Host{net: n, addr: addr, listeners: map[uint16]*listener{}, packets: map[uint16]*packetConn{}, dead: make(chan struct{})}
		n.hosts[addr] = h
	}
	return h
}

// parse parses an IP address. It panics if that fails, because then the test is wrong.
func parse(ip string) netip.Addr {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		panic(fmt.Sprintf("memnet: host %q: %v", ip, err))
	}
	return addr
}

// Cut stops everything between two hosts, both ways.
func (n *Net) Cut(a, b string) { n.setCut(true, way{parse(a), parse(b)}, way{parse(b), parse(a)}) }

// CutOneWay stops everything from one host to another.
func (n *Net) CutOneWay(from, to string) { n.setCut(true, way{parse(from), parse(to)}) }

// Mend heals the ways between two hosts, but not their isolation.
func (n *Net) Mend(a, b string) { n.setCut(false, way{parse(a), parse(b)}, way{parse(b), parse(a)}) }

func (n *Net) setCut(cut bool, ways ...way) {
	n.change(func() {
		for _, w := range ways {
			n.cut[w] = cut
		}
	})
}

// Isolate cuts a host off from all others, also from later ones.
func (n *Net) Isolate(ip string) { n.change(func() { n.isolated[parse(ip)] = true }) }

// Heal mends all cuts and isolations.
func (n *Net) Heal() {
	n.change(func() {
		clear(n.cut)
		clear(n.isolated)
	})
}

// Delay sets the delay between hosts for everything sent from now on. It panics unless 0 <= min <=
// max.
func (n *Net) Delay(min, max time.Duration) {
	if min < 0 || min > max {
		panic(fmt.Sprintf("memnet: delay from %v to %v", min, max))
	}
	n.change(func() { n.min, n.max = min, max })
}

// Slow adds a delay to everything that a host sends to others from now on, as if it took that long
// to answer. It panics if the delay is negative.
func (n *Net) Slow(ip string, by time.Duration) {
	if by < 0 {
		panic(fmt.Sprintf("memnet: slow by %v", by))
	}
	n.change(func() { n.slow[parse(ip)] = by })
}

// Loss sets the percentage of datagrams lost between hosts.
func (n *Net) Loss(percent int) { n.change(func() { n.loss = percent }) }

// Duplicate sets the percentage of datagrams that arrive twice between hosts.
func (n *Net) Duplicate(percent int) { n.change(func() { n.twice = percent }) }

// Freeze stops a host's reads and writes, as if its processes were stopped. Data sent to it
// waits; datagrams from it are lost. Deadlines still pass.
func (n *Net) Freeze(ip string) { n.setFrozen(ip, true) }

// Thaw ends Freeze.
func (n *Net) Thaw(ip string) { n.setFrozen(ip, false) }

func (n *Net) setFrozen(ip string, frozen bool) {
	n.change(func() {
		addr := parse(ip)
		n.frozen[addr] = frozen
		if h := n.hosts[addr]; h != nil {
			for _, p := range h.packets {
				p.setFrozen(frozen)
			}
		}
	})
}

// change changes the network and passes the open ways to the streams.
func (n *Net) change(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
	n.changed.Send()
	for _, s := range n.streams {
		s.set(n.open(s.way(0)), n.open(s.way(1)), n.frozen[s.ends[0].addr.Addr()], n.frozen[s.ends[1].addr.Addr()])
	}
}

// open reports whether a way is open. n.mu must be held.
func (n *Net) open(w way) bool {
	return w.from == w.to || !n.cut[w] && !n.isolated[w.from] && !n.isolated[w.to]
}

// chance returns the random source for one purpose on a way. n.mu must be held.
func (n *Net) chance(w way, what string) *rand.Rand {
	key := fmt.Sprintf("%s>%s %s", w.from, w.to, what)
	r := n.chances[key]
	if r == nil {
		hash := fnv.New64a()
		io.WriteString(hash, key)
		r = rand.New(rand.NewPCG(n.seed, hash.Sum64()))
		n.chances[key] = r
	}
	return r
}

// delay draws the delay of bytes of a stream. n.mu must be held.
func (n *Net) delay(w way) time.Duration {
	switch {
	case w.from == w.to:
		return 0
	case n.max <= 0:
		return n.slow[w.from]
	}
	return n.slow[w.from] + n.delayAt(n.chance(w, "streams").Float64())
}

// delayAt returns a delay between the least and the longest; at is 0 to 1.
func (n *Net) delayAt(at float64) time.Duration {
	return n.min + time.Duration(at*float64(n.max-n.min))
}

// Reset breaks the connections between two hosts. Both ends get an error, also across cuts.
func (n *Net) Reset(a, b string) {
	from, to := parse(a), parse(b)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.streams = slices.DeleteFunc(n.streams, func(s *stream) bool {
		w := s.way(0)
		if w != (way{from, to}) && w != (way{to, from}) {
			return false
		}
		s.breakNow()
		return true
	})
}

func (n *Net) forget(s *stream) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.remove(s)
}

// remove removes a stream. n.mu must be held.
func (n *Net) remove(s *stream) {
	n.streams = slices.DeleteFunc(n.streams, func(o *stream) bool { return o == s })
}

// Kill ends a host like a crash of its only process. Its listeners are closed and its connections
// reset. The other ends get the reset when the way is open. Everything that the host returned is
// dead from then on, and so is the Host. After a restart, Host must be called again.
func (n *Net) Kill(ip string) {
	n.mu.Lock()
	h := n.hosts[parse(ip)]
	if h == nil {
		n.mu.Unlock()
		return
	}
	delete(n.hosts, h.addr)
	delete(n.frozen, h.addr)
	close(h.dead)
	n.streams = slices.DeleteFunc(n.streams, func(s *stream) bool {
		over := false
		for i := range s.ends {
			over = s.ends[i].host == h && s.abort(i) || over
		}
		return over
	})
	listeners, packets := h.listeners, h.packets
	h.listeners, h.packets = nil, nil
	n.mu.Unlock()
	for _, l := range listeners {
		l.close()
	}
	for _, p := range packets {
		p.close()
	}
}

// Connections returns the number of open streams.
func (n *Net) Connections() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.streams)
}
