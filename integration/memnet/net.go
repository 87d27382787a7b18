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
)

// Net is a network. Its methods may be called at any time.
type Net struct {
	seed uint64
	// watch, if set before the first host is used, is called with all that is sent.
	watch func(from, to netip.AddrPort, kind string, text []byte)

	mu       sync.Mutex
	hosts    map[netip.Addr]*Host // that live
	chances  map[string]*rand.Rand
	cut      map[way]bool
	isolated map[netip.Addr]bool
	min, max time.Duration // delay
	slow     map[netip.Addr]time.Duration
	loss     int // percent of datagrams
	twice    int // percent of datagrams
	frozen   map[netip.Addr]bool
	changed  chan struct{} // closed and replaced when anything above changes
	streams  []*stream     // in the order of their dials, so that a seed repeats
}

// way is one direction between two hosts.
type way struct{ from, to netip.Addr }

// New returns a network without faults or delay.
func New(seed uint64) *Net {
	return &Net{
		seed: seed, hosts: map[netip.Addr]*Host{}, chances: map[string]*rand.Rand{}, cut: map[way]bool{},
		isolated: map[netip.Addr]bool{}, slow: map[netip.Addr]time.Duration{}, changed: make(chan struct{}), frozen: map[netip.Addr]bool{},
	}
}

// Watch has do called with everything that hosts send, in order: kind is "stream",
// "packet" or, for a connection, "dial". do must neither keep text nor call the
// network. It must be set before the first host is used.
func (n *Net) Watch(do func(from, to netip.AddrPort, kind string, text []byte)) { n.watch = do }

func (n *Net) sent(from, to netip.AddrPort, kind string, text []byte) {
	if n.watch != nil {
		n.watch(from, to, kind, text)
	}
}

// Host returns the host with an IP address; it is there from the first call on.
// After Kill it is a new one, as after a restart.
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

// parse reads an IP address; a test that gives another one is wrong.
func parse(ip string) netip.Addr {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		panic(fmt.Sprintf("memnet: host %q: %v", ip, err))
	}
	return addr
}

// Cut stops what goes between two hosts, both ways.
func (n *Net) Cut(a, b string) { n.setCut(true, way{parse(a), parse(b)}, way{parse(b), parse(a)}) }

// CutOneWay stops what goes from one host to another.
func (n *Net) CutOneWay(from, to string) { n.setCut(true, way{parse(from), parse(to)}) }

// Mend heals what is between two hosts, both ways, but not their isolation.
func (n *Net) Mend(a, b string) { n.setCut(false, way{parse(a), parse(b)}, way{parse(b), parse(a)}) }

func (n *Net) setCut(cut bool, ways ...way) {
	n.change(func() {
		for _, w := range ways {
			n.cut[w] = cut
		}
	})
}

// Isolate cuts a host off from all others, also from those that come later.
func (n *Net) Isolate(ip string) { n.change(func() { n.isolated[parse(ip)] = true }) }

// Heal mends all cuts and isolations.
func (n *Net) Heal() {
	n.change(func() {
		clear(n.cut)
		clear(n.isolated)
	})
}

// Delay is how long what is sent from now on is under way, between hosts. It
// panics where 0 <= min <= max does not hold.
func (n *Net) Delay(min, max time.Duration) {
	if min < 0 || min > max {
		panic(fmt.Sprintf("memnet: delay from %v to %v", min, max))
	}
	n.change(func() { n.min, n.max = min, max })
}

// Slow is by how much longer all is under way, from now on, that a host sends to
// others, as where it takes so long to answer. It panics where that is negative.
func (n *Net) Slow(ip string, by time.Duration) {
	if by < 0 {
		panic(fmt.Sprintf("memnet: slow by %v", by))
	}
	n.change(func() { n.slow[parse(ip)] = by })
}

// Loss is how many in a hundred datagrams are lost between hosts.
func (n *Net) Loss(percent int) { n.change(func() { n.loss = percent }) }

// Duplicate is how many in a hundred datagrams arrive twice between hosts.
func (n *Net) Duplicate(percent int) { n.change(func() { n.twice = percent }) }

// Freeze stops what a host reads and writes, as if its processes were stopped. What
// others send to it waits; datagrams that it sends are lost. Deadlines still pass.
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

// change changes the network and lets the streams know which ways are open.
func (n *Net) change(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
	close(n.changed)
	n.changed = make(chan struct{})
	for _, s := range n.streams {
		s.set(n.open(s.way(0)), n.open(s.way(1)), n.frozen[s.ends[0].addr.Addr()], n.frozen[s.ends[1].addr.Addr()])
	}
}

// open reports whether a way is open. n.mu is held.
func (n *Net) open(w way) bool {
	return w.from == w.to || !n.cut[w] && !n.isolated[w.from] && !n.isolated[w.to]
}

// chance returns the source of what chance decides about something on a way.
// n.mu is held.
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

// delay draws how long bytes of a stream are under way. n.mu is held.
func (n *Net) delay(w way) time.Duration {
	switch {
	case w.from == w.to:
		return 0
	case n.max <= 0:
		return n.slow[w.from]
	}
	return n.slow[w.from] + n.between(n.chance(w, "streams").Float64())
}

// between returns the delay at a point between the least and the longest.
func (n *Net) between(at float64) time.Duration {
	return n.min + time.Duration(at*float64(n.max-n.min))
}

// Reset breaks the connections between two hosts: both ends are told, across
// cuts too.
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

// remove forgets a stream. n.mu is held.
func (n *Net) remove(s *stream) {
	n.streams = slices.DeleteFunc(n.streams, func(o *stream) bool { return o == s })
}

// Kill ends a host as a crash of its only process does: its listeners are closed
// and its connections reset. The other ends learn it where the way is open. What
// the host has returned is dead from then on, and so is the Host: for a restart
// ask for a new one.
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

// Connections returns how many streams there are.
func (n *Net) Connections() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.streams)
}
