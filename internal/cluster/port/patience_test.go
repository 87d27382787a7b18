// Tests of timeouts.

package port_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/testing/memnet"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// The time for the hello is not one for what comes after it.
func TestIdle(t *testing.T) {
	for _, guard := range guards {
		synctest.Test(t, func(t *testing.T) {
			n := memnet.New(1)
			o := guarded(t, guard)
			a, b := two(t, n, o)
			echo(t, b)
			web(t, b)
			c, err := a.Dial(t.Context(), port.Peer, addrB)
			require.NoError(t, err)
			page, err := n.Host(stranger).Dial(t.Context(), addrB)
			require.NoError(t, err)
			if o.TLS != nil {
				page = tls.Client(page, client(t, o.TLS))
			}
			defer page.Close()
			for range 2 {
				io.WriteString(page, "HEAD / HTTP/1.1\r\n")
				time.Sleep(3 * timeout) // the bubble's
				io.WriteString(page, "Host: a\r\n\r\n")
				b := make([]byte, 1000)
				if k, err := page.Read(b); err != nil || string(b[:min(k, 15)]) != "HTTP/1.1 200 OK" {
					t.Errorf("%s: HTTP: %q, %v", guard, b[:k], err)
				}
			}
			if err := talk(c, port.Peer); err != nil {
				t.Errorf("%s: %v", guard, err)
			}
		})
	}
}

// Who goes away before it is welcome takes no room in the backlog.
func TestGoneBeforeWelcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		a, _ := two(t, n, port.Options{})
		for range 200 {
			c, err := n.Host(stranger).Dial(t.Context(), addrB)
			require.NoError(t, err)
			n.CutOneWay(stranger, hostB)
			io.WriteString(c, "TREFOIL\x01\x03\x00\x00"+strings.Repeat("\x00", 16))
			c.Close()
			n.Heal() // the hello comes together with its sender's end
			synctest.Wait()
		}
		c, err := a.Dial(t.Context(), port.Peer, addrB)
		require.NoError(t, err)
		c.Close()
	})
}

// pipes is a network without buffers: a write waits for its reader.
type pipes struct {
	port.Network
	accepted chan net.Conn
}

func (p *pipes) Listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := p.Network.Listen(ctx, addr)
	return &pipeListener{l, p.accepted}, err
}

type pipeListener struct {
	net.Listener
	accepted chan net.Conn
}

func (l *pipeListener) Accept() (net.Conn, error) {
	if c, ok := <-l.accepted; ok {
		return c, nil
	}
	return l.Listener.Accept()
}

// deaf is a connection whose owner reads nothing.
type deaf struct {
	net.Conn
	closed chan struct{}
}

func (d *deaf) Read([]byte) (int, error) {
	<-d.closed
	return 0, net.ErrClosed
}

// A client that starts a handshake and then reads nothing is cut off in time.
func TestDeafClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		o := guarded(t, "TLS")
		network := &pipes{n.Host(hostB), make(chan net.Conn, 1)}
		o.Network, o.Listen = network, addrB
		b := open(t, o)
		here, there := net.Pipe()
		network.accepted <- there
		close(network.accepted)
		quiet := &deaf{here, make(chan struct{})}
		ended := make(chan error, 1)
		go func() { ended <- tls.Client(quiet, client(t, o.TLS)).HandshakeContext(t.Context()) }()
		time.Sleep(timeout + 6*time.Second) // the bubble's; TLS has 5 s for its last word
		if got := b.Rejected(); got != 1 {
			t.Errorf("%d rejected, want 1", got)
		}
		close(quiet.closed)
		<-ended
		here.Close()
	})
}

// Each node has a certificate for its own host.
func TestOwnCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		dir, _ := certs(t)
		a := open(t, port.Options{Network: n.Host(hostA), Listen: addrA, TLS: node(t, dir, "a", hostA)})
		b := open(t, port.Options{Network: n.Host(hostB), Listen: addrB, TLS: node(t, dir, "b", hostB)})
		echo(t, a)
		echo(t, b)
		works(t, a, addrB)
		works(t, b, addrA)
	})
}
