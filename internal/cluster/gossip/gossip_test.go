// Tests of gossip among several nodes.

package gossip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fabric is a network in memory, of streams and packets, which lives in the
// bubble of a test. Hosts have names, not IP addresses.
type fabric struct {
	mu    sync.Mutex
	hosts map[string]*host
	side  map[string]int // hosts on different sides do not reach each other
	conns map[net.Conn][2]string
}

func newFabric() *fabric {
	return &fabric{hosts: map[string]*host{}, side: map[string]int{}, conns: map[net.Conn][2]string{}}
}

// host is a net.Listener and a net.PacketConn.
type host struct {
	of       *fabric
	name     string
	streams  chan net.Conn
	packets  chan packet
	done     chan struct{}
	once     sync.Once
	expired  chan struct{}
	deadline sync.Once
}

type packet struct {
	b    []byte
	from string
}

type name string

func (name) Network() string  { return "mem" }
func (n name) String() string { return string(n) }

func (f *fabric) listen(address string) *host {
	h := &host{
		of: f, name: address, streams: make(chan net.Conn), packets: make(chan packet, 1000),
		done: make(chan struct{}), expired: make(chan struct{}),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts[address] = h
	return h
}

func (f *fabric) reach(from, to string) *host {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.side[from] != f.side[to] {
		return nil
	}
	return f.hosts[to]
}

// split puts hosts on another side and cuts what goes across.
func (f *fabric) split(side int, addresses ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range addresses {
		f.side[a] = side
	}
	for c, ends := range f.conns {
		if f.side[ends[0]] != f.side[ends[1]] {
			c.Close()
			delete(f.conns, c)
		}
	}
}

func (h *host) Accept() (net.Conn, error) {
	select {
	case c := <-h.streams:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

func (h *host) Close() error                     { h.once.Do(func() { close(h.done) }); return nil }
func (h *host) Addr() net.Addr                   { return name(h.name) }
func (h *host) LocalAddr() net.Addr              { return name(h.name) }
func (h *host) SetDeadline(time.Time) error      { return nil }
func (h *host) SetWriteDeadline(time.Time) error { return nil }
func (h *host) SetReadDeadline(time.Time) error {
	h.deadline.Do(func() { close(h.expired) })
	return nil
}

func (h *host) ReadFrom(b []byte) (int, net.Addr, error) {
	select {
	case p := <-h.packets:
		return copy(b, p.b), name(p.from), nil
	case <-h.expired:
		return 0, nil, os.ErrDeadlineExceeded
	}
}

func (h *host) WriteTo(b []byte, to net.Addr) (int, error) {
	if other := h.of.reach(h.name, to.String()); other != nil {
		select {
		case other.packets <- packet{bytes.Clone(b), h.name}:
		default:
		}
	}
	return len(b), nil
}

func (h *host) dial(ctx context.Context, to string) (net.Conn, error) {
	other := h.of.reach(h.name, to)
	if other == nil {
		return nil, errors.New("no route")
	}
	here, there := net.Pipe()
	h.of.mu.Lock()
	h.of.conns[here] = [2]string{h.name, to}
	h.of.mu.Unlock()
	select {
	case other.streams <- there:
		return here, nil
	case <-other.done:
		return nil, errors.New("refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// byName is a Config.Resolve for a network whose packets go to names.
func byName(_ context.Context, address string) (net.Addr, error) { return name(address), nil }

func addressOf(id trie.MachineID) string { return fmt.Sprintf("host%d:7000", id) }

// cluster is some nodes on a fabric.
type cluster struct {
	t     *testing.T
	net   *fabric
	nodes map[trie.MachineID]*Gossip
	key   []byte
	label string
}

func bubble(t *testing.T, f func(t *testing.T, c *cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t, net: newFabric(), nodes: map[trie.MachineID]*Gossip{}, label: "test"}
		defer func() {
			for id := range c.nodes {
				c.crash(id)
			}
			// memberlist does not wait for its probes, whose time ends soon.
			<-time.After(time.Minute)
		}()
		f(t, c)
	})
}

func (c *cluster) start(id trie.MachineID, incarnation uint64, address string) *Gossip {
	c.t.Helper()
	h := c.net.listen(address)
	g, err := Start(Config{
		ID: id, Incarnation: incarnation, Listener: h, Packets: h, Dial: h.dial, Resolve: byName,
		Address: address, Key: c.key, Label: c.label,
	})
	require.NoError(c.t, err)
	c.nodes[id] = g
	return g
}

func (c *cluster) grow(n int) {
	c.t.Helper()
	for id := trie.MachineID(1); int(id) <= n; id++ {
		g := c.start(id, 1, addressOf(id))
		if id > 1 {
			require.NoError(c.t, g.Join(c.t.Context(), []string{addressOf(1)}))
		}
	}
	for id := range c.nodes {
		for other := range c.nodes {
			c.until(id, other, true, 1)
		}
	}
}

func (c *cluster) crash(id trie.MachineID) {
	c.t.Helper()
	if err := c.nodes[id].Close(); err != nil {
		c.t.Errorf("close %s: %v", id, err)
	}
	delete(c.nodes, id)
}

// until waits until a node sees another alive, or not, in an incarnation, and returns how long it
// took.
func (c *cluster) until(at, of trie.MachineID, alive bool, incarnation uint64) time.Duration {
	c.t.Helper()
	start := time.Now()
	end := time.NewTimer(2 * time.Minute)
	defer end.Stop()
	for {
		changed := c.nodes[at].Changed()
		p, ok := c.nodes[at].State(of)
		if ok && p.Alive == alive && p.Incarnation == incarnation {
			return time.Since(start)
		}
		select {
		case <-changed:
		case <-end.C:
			c.t.Fatalf("%d says of %d: %+v (%v), not alive %v in incarnation %d", at, of, p, ok, alive, incarnation)
		}
	}
}

func TestCrashIsNoticed(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bubble(t, func(t *testing.T, c *cluster) {
				c.key = bytes.Repeat([]byte{7}, 32)
				c.grow(n)
				<-time.After(2 * time.Minute)
				for id, g := range c.nodes {
					for other, p := range g.Snapshot() {
						if !p.Alive || p.Address != addressOf(other) || time.Since(p.Since) < time.Minute {
							t.Errorf("%d says of %d without a reason: %+v", id, other, p)
						}
					}
				}
				c.crash(2)
				var longest time.Duration
				for id := range c.nodes {
					longest = max(longest, c.until(id, 2, false, 1))
				}
				t.Logf("%d nodes: all know after %s", n, longest)
				if longest > 4*time.Second {
					t.Errorf("it took %s", longest)
				}
			})
		})
	}
}

func TestLeaveIsToldAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.grow(3)
		require.NoError(t, c.nodes[3].Leave(t.Context()))
		for id := range trie.MachineID(2) {
			if took := c.until(id+1, 3, false, 1); took > time.Second {
				t.Errorf("node %d knows after %s", id+1, took)
			}
		}
		c.crash(3)
		c.start(3, 2, addressOf(3))
		require.NoError(t, c.nodes[3].Join(t.Context(), []string{addressOf(1)}))
		c.until(2, 3, true, 2)
	})
}

// TestRestartTakesThePlace starts a process anew before anybody has noticed that
// the old one is gone: at the same address, and at another one.
func TestRestartTakesThePlace(t *testing.T) {
	for _, address := range []string{addressOf(3), "elsewhere:7000"} {
		t.Run(address, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *cluster) {
				c.grow(4)
				c.crash(3)
				g := c.start(3, 2, address)
				require.NoError(t, g.Join(t.Context(), []string{addressOf(9), addressOf(1)}))
				for id := range c.nodes {
					if took := c.until(id, 3, true, 2); took > time.Second {
						t.Errorf("node %d knows after %s", id, took)
					}
				}
				// The end of the old process is noticed now, and changes nothing.
				<-time.After(time.Minute)
				for id, g := range c.nodes {
					p, _ := g.State(3)
					if !p.Alive || p.Incarnation != 2 || p.Address != address || time.Since(p.Since) < 50*time.Second {
						t.Errorf("node %d says %+v", id, p)
					}
				}
			})
		})
	}
}

// TestOldProcessDoesNotComeBack lets two processes of one machine run.
func TestOldProcessDoesNotComeBack(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.grow(3)
		old := c.nodes[3]
		c.net.split(1, addressOf(3))
		c.until(1, 3, false, 1)
		g := c.start(3, 2, "elsewhere:7000")
		require.NoError(t, g.Join(t.Context(), []string{addressOf(1)}))
		c.until(2, 3, true, 2)
		c.net.split(0, addressOf(3))
		_ = old.Join(t.Context(), []string{addressOf(1), addressOf(2)}) // may be refused or not
		<-time.After(time.Minute)
		for _, id := range []trie.MachineID{1, 2} {
			if p, _ := c.nodes[id].State(3); !p.Alive || p.Incarnation != 2 || p.Address != "elsewhere:7000" {
				t.Errorf("node %d says %+v", id, p)
			}
		}
		if err := old.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestHeal cuts five nodes in two for so long that each side has forgotten the
// other one.
func TestHeal(t *testing.T) {
	for _, long := range []time.Duration{5 * time.Second, 90 * time.Second} {
		t.Run(long.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, c *cluster) {
				c.grow(5)
				for _, g := range c.nodes {
					g.SetPeers([]string{addressOf(1), addressOf(2), addressOf(3), addressOf(4), addressOf(5)})
				}
				c.net.split(1, addressOf(4), addressOf(5))
				c.until(1, 4, false, 1)
				c.until(3, 5, false, 1)
				c.until(4, 1, false, 1)
				c.until(5, 3, false, 1)
				<-time.After(long)
				if p, _ := c.nodes[4].State(5); !p.Alive {
					t.Error("who is on the same side is not alive")
				}
				c.net.split(0, addressOf(4), addressOf(5))
				var longest time.Duration
				for id := range c.nodes {
					for other := range c.nodes {
						longest = max(longest, c.until(id, other, true, 1))
					}
				}
				t.Logf("after %s", longest)
			})
		})
	}
}

func TestStrangersAreNotHeard(t *testing.T) {
	for what, change := range map[string]func(*cluster){
		"another key":   func(c *cluster) { c.key = bytes.Repeat([]byte{8}, 32) },
		"no key":        func(c *cluster) { c.key = nil },
		"another label": func(c *cluster) { c.label = "other" },
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *cluster) {
				c.key = bytes.Repeat([]byte{7}, 32)
				c.grow(2)
				change(c)
				g := c.start(3, 1, addressOf(3))
				if err := g.Join(t.Context(), []string{addressOf(1), addressOf(2)}); err == nil {
					t.Error("it joins")
				}
				if n := len(c.nodes[1].Snapshot()); n != 2 {
					t.Errorf("node 1 knows %d machines", n)
				}
				if n := len(g.Snapshot()); n != 1 {
					t.Errorf("the stranger knows %d machines", n)
				}
			})
		})
	}
}

func TestOnRealSockets(t *testing.T) {
	start := func(id trie.MachineID) (*Gossip, string, func()) {
		var l net.Listener
		var p net.PacketConn
		for tries := 0; p == nil; tries++ {
			var err error
			if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
			if p, err = net.ListenPacket("udp", l.Addr().String()); err != nil { // another one has the UDP port
				l.Close()
				if tries == 100 {
					t.Fatal(err)
				}
			}
		}
		_, port, _ := strings.Cut(l.Addr().String(), ":")
		address := "localhost:" + port
		if id == 1 {
			address = l.Addr().String()
		}
		g, err := Start(Config{ID: id, Incarnation: 1, Listener: l, Packets: p, Address: address, Dial: func(ctx context.Context, a string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", a)
		}})
		require.NoError(t, err)
		return g, address, func() {
			if err := errors.Join(g.Close(), p.Close()); err != nil {
				t.Error(err)
			}
		}
	}
	a, _, closeA := start(1)
	defer closeA()
	b, address, closeB := start(2)
	defer closeB()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	require.NoError(t, a.Join(ctx, []string{address}))
	for {
		changed := b.Changed()
		if p, ok := b.State(1); ok && p.Alive {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("the other one does not know")
		}
	}
	if p, _ := a.State(2); p.Address != address {
		t.Errorf("address %q, not %q", p.Address, address)
	}
}

func TestAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.grow(2)
		g := c.nodes[1]
		require.NoError(t, errors.Join(g.Close(), g.Close()))
		if err := g.Join(t.Context(), []string{addressOf(2)}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Join: %v", err)
		}
		if err := g.Leave(t.Context()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Leave: %v", err)
		}
	})
}
