// Setup of the tests.

package peer

import (
	"context"
	"net"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/trie"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var sender = Header{Cluster: "päpers & co", ClusterID: "i d", Generation: 3, Epoch: 7, From: 0xa1, Incarnation: 1 << 63}

func tcp(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// listen returns a loopback listener.
func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// start serves what register registers until the test ends.
func start(t testing.TB, o Options, register func(*Server)) (addr string, s *Server) {
	t.Helper()
	l := listen(t)
	s = NewServer(o)
	register(s)
	serveOn(t, s, l)
	return l.Addr().String(), s
}

func serveOn(t testing.TB, s *Server, l net.Listener) {
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Serve(l); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
		wg.Wait()
	})
}

func client(t testing.TB, o ClientOptions) *Client {
	c := NewClient(tcp, func() Header { return sender }, o)
	t.Cleanup(c.Close)
	return c
}

// pipes is a network of one address in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func TestHeaderRoundTrip(t *testing.T) {
	for _, h := range []Header{{}, sender, {To: 0xb2}, {Cluster: "a\r\nb: c", From: trie.MachineID(^uint64(0))}} {
		got, err := parseHeader(h.fields())
		if err != nil || got != h {
			t.Errorf("%+v came back as %+v, %v", h, got, err)
		}
	}
	f := sender.fields()
	f.Set(fieldEpoch, "-1")
	if _, err := parseHeader(f); err == nil {
		t.Error("epoch -1 was taken")
	}
	f = sender.fields()
	f.Set(fieldTo, "b")
	if _, err := parseHeader(f); err == nil {
		t.Error("recipient b was taken")
	}
}
