// Tests of the room for connections.

package port_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/testing/memnet"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

const crowdedRoom = 64

// site serves HTTP as the node does: it tells connections whether they are busy. A
// request to /wait waits for the channel, and /crowded says whether its connection is
// beyond the room.
func site(t *testing.T, p *port.Port, wait <-chan struct{}) {
	type told interface {
		SetBusy(bool)
		Crowded() bool
	}
	server := &http.Server{
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ConnState: func(c net.Conn, s http.ConnState) { c.(told).SetBusy(s == http.StateActive) },
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			<-wait
		}
		io.WriteString(w, "ok")
	})
	served := make(chan error, 1)
	go func() { served <- server.Serve(p.HTTP()) }()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
}

// browser is a client's connection.
type browser struct {
	net.Conn
	t *testing.T
}

func browse(t *testing.T, n *memnet.Net, host string) *browser {
	t.Helper()
	c, err := n.Host(host).Dial(t.Context(), addrB)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return &browser{c, t}
}

func (b *browser) ask(path string) { io.WriteString(b, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n") }

// answered reports whether an answer comes; the connection may be closed instead.
func (b *browser) answered() bool {
	b.t.Helper()
	text := make([]byte, 1000)
	n, err := b.Read(text)
	if err != nil && n == 0 {
		return false
	}
	if !strings.HasPrefix(string(text[:n]), "HTTP/1.1 200") {
		b.t.Fatalf("got %q", text[:n])
	}
	return true
}

// isOpen reports whether the node has not closed the connection yet.
func (b *browser) isOpen() bool {
	b.t.Helper()
	synctest.Wait()
	b.SetReadDeadline(time.Now().Add(time.Nanosecond))
	defer b.SetReadDeadline(time.Time{})
	_, err := b.Read(make([]byte, 1))
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func roomy(t *testing.T, n *memnet.Net, most, streams int) (a, b *port.Port) {
	a = open(t, port.Options{Network: n.Host(hostA), Listen: addrA, Secret: []byte("s")})
	b = open(t, port.Options{Network: n.Host(hostB), Listen: addrB, Secret: []byte("s"), MaxConnections: most, MaxStreams: streams})
	echo(t, b)
	return a, b
}

func hostOf(i int) string { return net.IPv4(10, 1, byte(i>>8), byte(i)).String() }

// Idle HTTP connections, of one address or of many, keep nobody out: the one that is
// idle for longest is closed. Nodes have their room all the time.
func TestIdleMakesRoom(t *testing.T) {
	for _, addresses := range []int{1, 1000} {
		synctest.Test(t, func(t *testing.T) {
			n := memnet.New(1)
			a, b := roomy(t, n, 48, 8)
			site(t, b, nil)
			var all []*browser
			for i := range 200 {
				c := browse(t, n, hostOf(i%addresses))
				if c.ask("/"); !c.answered() {
					t.Fatalf("%d addresses: connection %d gets no answer", addresses, i)
				}
				synctest.Wait()
				all = append(all, c)
				if i == 100 {
					works(t, a, addrB)
				}
			}
			room := 40
			if addresses == 1 {
				room = 30
			}
			for i, c := range all {
				if want := i >= len(all)-room; c.isOpen() != want {
					t.Errorf("%d addresses: connection %d of %d is open: %v", addresses, i, len(all), !want)
				}
			}
			works(t, a, addrB)
		})
	}
}

// If connections are silent, or stop in the middle of the hello, they must keep neither clients
// nor nodes out.
func TestSilentMakesRoom(t *testing.T) {
	for _, text := range []string{"", "TREF", "TREFOIL", "TREFOIL\x01\x03\x01\x01c", "TREFOIL\x01\x03\x01\x00" + strings.Repeat("\x00", 16)} {
		synctest.Test(t, func(t *testing.T) {
			n := memnet.New(1)
			a, b := roomy(t, n, 12, 4)
			site(t, b, nil)
			for i := range 300 {
				io.WriteString(browse(t, n, hostOf(i%7)), text)
			}
			synctest.Wait()
			if c := browse(t, n, stranger); true {
				if c.ask("/"); !c.answered() {
					t.Errorf("after %q: a client gets no answer", text)
				}
			}
			works(t, a, addrB)
		})
	}
}

// If every connection is in the middle of a request, some more are accepted as crowded. One
// address has at most three quarters, and the room of nodes is their own.
func TestBusyRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		a, b := roomy(t, n, 12, 4)
		wait := make(chan struct{})
		site(t, b, wait)
		// One address takes 6 of 8.
		var busy []*browser
		for range 10 {
			c := browse(t, n, hostOf(0))
			c.ask("/wait")
			synctest.Wait()
			busy = append(busy, c)
		}
		// Others have the rest.
		for i := range 2 {
			c := browse(t, n, hostOf(1+i))
			c.ask("/wait")
			synctest.Wait()
			busy = append(busy, c)
		}
		works(t, a, addrB)
		// Then all are crowded, and get their answers.
		for range 2 * crowdedRoom {
			c := browse(t, n, stranger)
			if c.ask("/"); !c.answered() {
				t.Error("a health check gets no answer")
			}
			c.Close()
			synctest.Wait()
		}
		// Nodes have their own room, and no more.
		var streams []net.Conn
		for range 4 {
			c, err := a.Dial(t.Context(), port.Gossip, addrB)
			require.NoError(t, err)
			defer c.Close()
			streams = append(streams, c)
		}
		if _, err := a.Dial(t.Context(), port.Gossip, addrB); !errors.Is(err, port.ErrBusy) {
			t.Errorf("beyond the room of nodes: %v", err)
		}
		streams[0].Close()
		synctest.Wait()
		works(t, a, addrB)
		close(wait)
		for i, c := range busy {
			if !c.answered() {
				t.Errorf("request %d was cut off", i)
			}
		}
	})
}
