// Nodes for tests.

package agreement

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fabric is a network in memory. Everything of it lives in the bubble of a test.
type fabric struct {
	mu        sync.Mutex
	listeners map[string]*listener
	links     map[net.Conn][2]string
	cut       map[string]bool
	oneWay    map[[2]string]bool       // cut directions, from and to
	held      map[string]chan struct{} // by dialer; closed to release the answers to it
}

func newFabric() *fabric {
	return &fabric{listeners: map[string]*listener{}, links: map[net.Conn][2]string{}, cut: map[string]bool{}, oneWay: map[[2]string]bool{}, held: map[string]chan struct{}{}}
}

type listener struct {
	of      *fabric
	address string
	conns   chan net.Conn
	done    chan struct{}
	once    sync.Once
}

func (f *fabric) listen(address string) net.Listener {
	l := &listener{of: f, address: address, conns: make(chan net.Conn), done: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners[address] = l
	return l
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *listener) Addr() net.Addr { return address(l.address) }

func (f *fabric) dialer(from string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, to string) (net.Conn, error) {
		f.mu.Lock()
		l := f.listeners[to]
		if l == nil || f.cut[from] || f.cut[to] || f.oneWay[[2]string{from, to}] {
			f.mu.Unlock()
			return nil, errors.New("no route")
		}
		here, there := net.Pipe()
		f.links[here] = [2]string{from, to}
		f.mu.Unlock()
		select {
		case l.conns <- there:
			return heldConn{here, f, from}, nil
		case <-l.done:
			return nil, errors.New("refused")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// isolate cuts one address off from all others; heal ends that.
func (f *fabric) isolate(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut[address] = true
	for c, ends := range f.links {
		if slices.Contains(ends[:], address) {
			c.Close()
			delete(f.links, c)
		}
	}
}

func (f *fabric) heal(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.cut, address)
}

// disconnect closes the connections from one address to another, and refuses new ones.
// Connections in the other direction stay.
func (f *fabric) disconnect(from, to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.oneWay[[2]string{from, to}] = true
	for c, ends := range f.links {
		if ends == [2]string{from, to} {
			c.Close()
			delete(f.links, c)
		}
	}
}

// hold delays the answers to an address until release is called.
func (f *fabric) hold(address string) (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := make(chan struct{})
	f.held[address] = held
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.held, address)
		close(held)
	}
}

// heldConn is the dialer's end of a connection.
type heldConn struct {
	net.Conn
	of      *fabric
	address string // of the dialer
}

func (c heldConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.of.mu.Lock()
	held := c.of.held[c.address]
	c.of.mu.Unlock()
	if held != nil {
		<-held
	}
	return n, err
}

// cluster is some nodes on a fabric.
type cluster struct {
	t     *testing.T
	net   *fabric
	nodes map[trie.MachineID]*Agreement
	disks map[trie.MachineID]*memdisk.FS
	// trailing of all nodes opened from now on
	trailing uint64
	// dial, if set, wraps the dialers of all nodes opened from now on
	dial func(func(context.Context, string) (net.Conn, error)) func(context.Context, string) (net.Conn, error)
}

func addressOf(id trie.MachineID) string { return fmt.Sprintf("node%d:7000", id) }

// bubble runs a test in virtual time, with nodes that are closed at its end.
func bubble(t *testing.T, f func(t *testing.T, c *cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t, net: newFabric(), nodes: map[trie.MachineID]*Agreement{}, disks: map[trie.MachineID]*memdisk.FS{}}
		defer func() {
			for id := range c.nodes {
				c.stop(id)
			}
		}()
		f(t, c)
	})
}

func (c *cluster) open(id trie.MachineID) *Agreement {
	c.t.Helper()
	if c.disks[id] == nil {
		c.disks[id] = memdisk.New()
	}
	a, err := Open(c.config(id))
	require.NoError(c.t, err)
	c.nodes[id] = a
	return a
}

func (c *cluster) config(id trie.MachineID) Config {
	dial := c.net.dialer(addressOf(id))
	if c.dial != nil {
		dial = c.dial(dial)
	}
	return Config{
		ID: id, Address: addressOf(id), Dir: "raft", FS: c.disks[id], trailing: c.trailing,
		Listener: c.net.listen(addressOf(id)), Dial: dial,
	}
}

func (c *cluster) stop(id trie.MachineID) {
	c.t.Helper()
	if err := c.nodes[id].Close(); err != nil {
		c.t.Errorf("close %s: %v", id, err)
	}
	delete(c.nodes, id)
}

// grow makes a cluster of n voters, whose leader is 1, with a view of epoch 1.
func (c *cluster) grow(n int) *Agreement {
	c.t.Helper()
	ctx := soon(c.t)
	first := c.open(1)
	require.NoError(c.t, first.Bootstrap(ctx, newView(c.t, 1)))
	for id := trie.MachineID(2); int(id) <= n; id++ {
		c.open(id)
	}
	require.NoError(c.t, first.SetMembers(ctx, ids(1, n), nil))
	// Who does not know of another one's vote would not vote for it.
	for id, a := range c.nodes {
		if voters, _ := a.Configuration(); len(voters) != n {
			c.t.Fatalf("SetMembers is done, and %s knows of %d voters", id, len(voters))
		}
	}
	return first
}

// ids returns the addresses of nodes from to to.
func ids(from, to int) map[trie.MachineID]string {
	m := map[trie.MachineID]string{}
	for i := from; i <= to; i++ {
		m[trie.MachineID(i)] = addressOf(trie.MachineID(i))
	}
	return m
}

// soon is a context of a minute, which is virtual in a bubble.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// until waits for a condition, which may come true with any of the changes.
func (c *cluster) until(what string, holds func() bool) {
	c.t.Helper()
	end := time.NewTimer(time.Minute)
	defer end.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end.C:
			c.t.Fatalf("not within a minute: %s", what)
		}
	}
}

// leader waits until one of the nodes is the leader and verifies it.
func (c *cluster) leader() *Agreement {
	c.t.Helper()
	var found *Agreement
	c.until("a leader", func() bool {
		for _, a := range c.nodes {
			if a.IsLeader() && a.Verify(soon(c.t)) == nil {
				found = a
				return true
			}
		}
		return false
	})
	return found
}

func epoch(a *Agreement) uint64 {
	if v := a.View(); v != nil {
		return v.Epoch
	}
	return 0
}

// newView returns the first view of a cluster of these members.
func newView(t *testing.T, members ...trie.MachineID) *view.View {
	t.Helper()
	p, err := trie.NewPlacement(members, trie.PlacementOptions{})
	require.NoError(t, err)
	l := recovery.Layout{Trie: trie.New(1, trie.HashPartition(1, p.Partitions())), Placement: p, Copies: recovery.DefaultCopies}
	v := &view.View{Cluster: "test", ClusterID: "c1", Generation: 1, Epoch: 1, Base: l, Target: l, NextSegment: 2}
	for _, id := range members {
		v.Members = append(v.Members, view.Member{ID: id, Incarnation: 1, Address: addressOf(id), State: view.Up})
	}
	return v
}

// after returns a view that follows on v.
func after(v *view.View) *view.View {
	next := *v
	next.Epoch++
	return &next
}
