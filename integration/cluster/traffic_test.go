// The traffic between members of a world, by purpose.

package cluster

import (
	"bytes"
	"net/netip"
	"strings"
	"sync"
)

// traffic counts what a network carries. Its method sent is for [memnet.Net.Watch].
type traffic struct {
	mu    sync.Mutex
	flows map[[2]netip.AddrPort]*flow // by dialer and acceptor
	total bill
	hosts map[netip.Addr]*bill // what a host sends and receives
}

// bill has bytes and writes by purpose: "raft", "gossip", "packet", or the method of a call
// between nodes.
type bill struct {
	bytes, writes map[string]int64
}

// flow is a connection, or the datagrams from one host to another.
type flow struct {
	purpose string
	calls   bool // it carries calls: purpose is the method of the last one
}

func newTraffic() *traffic {
	return &traffic{flows: map[[2]netip.AddrPort]*flow{}, hosts: map[netip.Addr]*bill{}, total: newBill()}
}

func newBill() bill { return bill{bytes: map[string]int64{}, writes: map[string]int64{}} }

func (b *bill) add(purpose string, n int) {
	b.bytes[purpose] += int64(n)
	b.writes[purpose]++
}

// sent counts one write. The hello of the dialer shows the purpose of a connection, and
// each request its method, because a connection carries one call at a time.
func (t *traffic) sent(from, to netip.AddrPort, kind string, text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if kind == "packet" {
		t.add("packet", from.Addr(), to.Addr(), len(text))
		return
	}
	key := [2]netip.AddrPort{from, to}
	if kind == "dial" {
		t.flows[key] = &flow{purpose: "dial"}
	}
	f := t.flows[key]
	if f == nil {
		f = t.flows[[2]netip.AddrPort{to, from}]
	} else if f.calls && bytes.HasPrefix(text, []byte("POST /")) {
		method, _, _ := strings.Cut(string(text[len("POST /"):min(len(text), 80)]), " ")
		f.purpose = method
	} else if len(text) > 8 && bytes.HasPrefix(text, []byte("TREFOIL")) {
		f.purpose = [...]string{1: "raft", 2: "gossip", 3: "peer"}[text[8]]
		f.calls = text[8] == 3
	}
	t.add(f.purpose, from.Addr(), to.Addr(), len(text))
}

func (t *traffic) add(purpose string, from, to netip.Addr, n int) {
	t.total.add(purpose, n)
	for _, a := range [2]netip.Addr{from, to} {
		b := t.hosts[a]
		if b == nil {
			fresh := newBill()
			b = &fresh
			t.hosts[a] = b
		}
		b.add(purpose, n)
	}
}

// take returns the traffic of all hosts, and of one, since the last call.
func (t *traffic) take(host string) (all, one bill) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, one = t.total, newBill()
	if b := t.hosts[netip.MustParseAddr(host)]; b != nil {
		one = *b
	}
	t.total = newBill()
	clear(t.hosts)
	return all, one
}
