// Tests of ports.

package port_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/testing/memnet"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// guards are the ways in which nodes know each other.
var guards = []string{"plain", "secret", "TLS", "TLS and secret"}

// guarded returns a guard's options. Its certificates are of the time of the
// bubble that it is called in.
func guarded(t *testing.T, guard string) port.Options {
	o := port.Options{Cluster: cluster("c")}
	if strings.Contains(guard, "secret") {
		o.Secret = []byte("s")
	}
	if strings.Contains(guard, "TLS") {
		_, o.TLS = certs(t)
	}
	return o
}

// everything uses all kinds of connection from a node to another.
func everything(t *testing.T, from, to *port.Port, d dial, secure *port.TLS) {
	t.Helper()
	echo(t, to)
	web(t, to)
	addr := to.Addr().String()
	for _, k := range kinds {
		c, err := from.Dial(t.Context(), k, addr)
		if err == nil {
			err = talk(c, k)
		}
		if err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
	want, url := "plain", "http://"+addr
	config := (*tls.Config)(nil)
	if secure != nil {
		want, url = "TLS", "https://"+addr
		config = client(t, secure)
		config.ServerName = ""
	}
	if text, err := get(t, d, url, config); err != nil || text != want {
		t.Errorf("HTTP: %q, %v; want %q", text, err, want)
	}
	if _, err := from.Packets().WriteTo([]byte("ping"), to.Packets().LocalAddr()); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if n, _, err := to.Packets().ReadFrom(b); err != nil || string(b[:n]) != "ping" {
		t.Errorf("packet: %q, %v", b[:n], err)
	}
	if n := to.Rejected(); n != 0 {
		t.Errorf("%d were rejected", n)
	}
}

func TestKinds(t *testing.T) {
	for _, guard := range guards {
		t.Run(guard, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := guarded(t, guard)
				n := memnet.New(1)
				n.Delay(time.Millisecond, 20*time.Millisecond)
				a, b := two(t, n, o)
				everything(t, a, b, n.Host(stranger).Dial, o.TLS)
			})
		})
	}
}

// The same on the machine's own network.
func TestHost(t *testing.T) {
	for _, guard := range guards {
		t.Run(guard, func(t *testing.T) {
			o := guarded(t, guard)
			o.Listen, o.ReadTimeout = "127.0.0.1:0", time.Minute
			a, b := open(t, o), open(t, o)
			if tcp, udp := b.Addr().String(), b.Packets().LocalAddr().String(); tcp != udp {
				t.Errorf("TCP at %s, UDP at %s", tcp, udp)
			}
			everything(t, a, b, port.Host.Dial, o.TLS)
		})
	}
}

// occupied is a network where UDP ports are taken some times.
type occupied struct {
	port.Network
	times int
}

func (o *occupied) ListenPacket(ctx context.Context, addr string) (net.PacketConn, error) {
	if o.times--; o.times >= 0 {
		return nil, syscall.EADDRINUSE
	}
	return o.Network.ListenPacket(ctx, addr)
}

func TestSameNumber(t *testing.T) {
	h := memnet.New(1).Host(hostA)
	p := open(t, port.Options{Network: &occupied{h, 5}, Listen: hostA + ":0"})
	if tcp, udp := p.Addr().String(), p.Packets().LocalAddr().String(); tcp != udp {
		t.Errorf("TCP at %s, UDP at %s", tcp, udp)
	}
	if _, err := port.Listen(t.Context(), port.Options{Network: &occupied{h, 1}, Listen: addrA}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("where UDP is taken: %v", err)
	}
	if _, err := port.Listen(t.Context(), port.Options{Network: &occupied{h, 1 << 30}, Listen: hostA + ":0"}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("where all UDP is taken: %v", err)
	}
	open(t, port.Options{Network: h, Listen: addrA}) // its TCP was given back
}

func TestValidate(t *testing.T) {
	for _, o := range []port.Options{
		{}, {Listen: "x"}, {Listen: addrA, MaxConnections: -1}, {Listen: addrA, MaxConnections: 1},
		{Listen: addrA, MaxConnections: 4, MaxStreams: 4}, {Listen: addrA, MaxStreams: 4096}, {Listen: addrA, ReadTimeout: -1},
		{Listen: addrA, TLS: &port.TLS{}},
	} {
		o.Network = memnet.New(1).Host(hostA)
		if p, err := port.Listen(t.Context(), o); err == nil {
			p.Close()
			t.Errorf("%+v was taken", o)
		}
	}
}

// weary is a network whose listeners fail to accept now and then.
type weary struct {
	port.Network
	times int
}

func (w *weary) Listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := w.Network.Listen(ctx, addr)
	return &wearyListener{l, w}, err
}

type wearyListener struct {
	net.Listener
	weary *weary
}

func (l *wearyListener) Accept() (net.Conn, error) {
	if l.weary.times--; l.weary.times >= 0 {
		return nil, errors.New("too weary")
	}
	return l.Listener.Accept()
}

// If an accept fails, as when too many files are open, the port must go on.
func TestAcceptFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		a := open(t, port.Options{Network: n.Host(hostA), Listen: addrA})
		b := open(t, port.Options{Network: &weary{n.Host(hostB), 20}, Listen: addrB, ReadTimeout: time.Hour})
		echo(t, b)
		c, err := n.Host(hostA).Dial(t.Context(), addrB)
		require.NoError(t, err)
		c.Close()
		time.Sleep(time.Minute) // the bubble's
		works(t, a, addrB)
	})
}

// Closing the listener of one kind refuses that kind and leaves the others.
func TestCloseOneKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		a, b := two(t, n, port.Options{})
		echo(t, b)
		b.HTTP().Close()
		b.Raft().Close()
		if _, err := b.Raft().Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v", err)
		}
		if _, err := a.Dial(t.Context(), port.Raft, addrB); !errors.Is(err, port.ErrBusy) {
			t.Errorf("dial the closed kind: %v", err)
		}
		if _, err := get(t, n.Host(stranger).Dial, "http://"+addrB, nil); err == nil {
			t.Error("HTTP goes on")
		}
		works(t, a, addrB)
	})
}

// What nobody accepts is closed in the end, and does not pile up.
func TestNobodyAccepts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		a, b := two(t, n, port.Options{})
		const backlog = 128
		var open []net.Conn
		for range backlog {
			c, err := a.Dial(t.Context(), port.Raft, addrB)
			require.NoError(t, err)
			open = append(open, c)
		}
		if _, err := a.Dial(t.Context(), port.Raft, addrB); !errors.Is(err, port.ErrBusy) {
			t.Errorf("beyond the backlog: %v", err)
		}
		start := time.Now()
		for _, c := range open {
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Error("it is open still")
			}
			c.Close()
		}
		if took := time.Since(start); took != timeout {
			t.Errorf("they were closed after %v, want %v", took, timeout)
		}
		synctest.Wait()
		if got := b.Rejected(); got != backlog+1 {
			t.Errorf("%d rejected, want %d", got, backlog+1)
		}
		c, err := a.Dial(t.Context(), port.Raft, addrB)
		require.NoError(t, err)
		defer c.Close()
		if accepted, err := b.Raft().Accept(); err != nil {
			t.Error(err)
		} else {
			accepted.Close()
		}
	})
}

// Close ends everything: connections in use, in a hello, silent, dialed; those
// that wait to accept, and Serve.
func TestClose(t *testing.T) {
	for _, guard := range guards {
		t.Run(guard, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := guarded(t, guard)
				n := memnet.New(1)
				a, b := two(t, n, o)
				echo(t, b)
				web(t, b)
				var conns []net.Conn
				for _, k := range kinds {
					c, err := a.Dial(t.Context(), k, addrB)
					require.NoError(t, err)
					conns = append(conns, c)
					require.NoError(t, readFull(c, k.String()))
				}
				back, err := n.Host(stranger).Listen(t.Context(), stranger+":1")
				require.NoError(t, err)
				defer back.Close()
				dialing := make(chan error, 1)
				go func() {
					_, err := b.Dial(t.Context(), port.Peer, stranger+":1")
					dialing <- err
				}()
				for _, text := range []string{"", "TRE", "TREFOIL", "GET / HTTP/1.1\r\n"} {
					c, err := n.Host(stranger).Dial(t.Context(), addrB)
					require.NoError(t, err)
					io.WriteString(c, text)
					conns = append(conns, c)
				}
				synctest.Wait()
				start := time.Now()
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				for i, c := range conns {
					if _, err := io.ReadAll(c); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Errorf("connection %d: %v", i, err)
					}
					c.Close()
				}
				if err := <-dialing; err == nil {
					t.Error("a dial survived")
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("it took %v", took)
				}
				for _, l := range []net.Listener{b.HTTP(), b.Raft(), b.Gossip(), b.Peer()} {
					if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
						t.Errorf("accept: %v", err)
					}
				}
				if _, err := b.Dial(t.Context(), port.Peer, addrA); !errors.Is(err, net.ErrClosed) {
					t.Errorf("dial: %v", err)
				}
				if _, _, err := b.Packets().ReadFrom(nil); !errors.Is(err, net.ErrClosed) {
					t.Errorf("packets: %v", err)
				}
				if err := b.Serve(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("serve: %v", err)
				}
				open(t, port.Options{Network: n.Host(hostB), Listen: addrB})
			})
		})
	}
}

func readFull(c net.Conn, want string) error {
	b := make([]byte, len(want))
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	if !bytes.Equal(b, []byte(want)) {
		return errors.New("got " + string(b) + ", want " + want)
	}
	return nil
}

// Many at once, closed in the midst of it.
func TestCloseMidst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		n.Delay(0, 5*time.Millisecond)
		a, b := two(t, n, port.Options{Secret: []byte("s")})
		echo(t, b)
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond) // the bubble's
				if c, err := a.Dial(t.Context(), kinds[i%3], addrB); err == nil {
					talk(c, kinds[i%3])
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
	})
}
