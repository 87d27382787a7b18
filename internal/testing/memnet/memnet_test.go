// Streams of the network in memory: the contract of net.Conn, cuts, kills and resets.

package memnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ port.Network = (*Host)(nil)

const (
	hostA = "10.0.0.1"
	hostB = "10.0.0.2"
	there = hostB + ":7000"
)

// pair returns a network with a connection from host A to host B. The first is A's.
func pair(t *testing.T) (*Net, net.Conn, net.Conn) {
	t.Helper()
	n := New(1)
	a, b := join(t, n)
	return n, a, b
}

func join(t *testing.T, n *Net) (net.Conn, net.Conn) {
	t.Helper()
	l, err := n.Host(hostB).Listen(t.Context(), there)
	require.NoError(t, err)
	defer l.Close()
	a, err := n.Host(hostA).Dial(t.Context(), there)
	require.NoError(t, err)
	b, err := l.Accept()
	require.NoError(t, err)
	return a, b
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, c net.Conn, text string) {
	t.Helper()
	b := make([]byte, len(text))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
		t.Fatalf("read %q, %v; want %q", b, err, text)
	}
}

// silent demands that nothing comes within a minute.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(time.Minute))
	var b [1]byte
	if n, err := c.Read(b[:]); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read %d bytes, %v; want silence", n, err)
	}
	c.SetReadDeadline(time.Time{})
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// A stream keeps the contract of net.Conn.
func TestConn(t *testing.T) {
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
		n := New(1)
		a, b := join(t, n)
		return a, b, func() { a.Close(); b.Close() }, nil
	})
}

func TestListen(t *testing.T) {
	n := New(1)
	h := n.Host(hostA)
	l, err := h.Listen(t.Context(), ":0")
	require.NoError(t, err)
	p, err := h.ListenPacket(t.Context(), l.Addr().String())
	if err != nil || p.LocalAddr().String() != l.Addr().String() {
		t.Fatalf("packets at %v: %v", l.Addr(), err)
	}
	if _, err := h.Listen(t.Context(), l.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second listener: %v", err)
	}
	if _, err := h.ListenPacket(t.Context(), l.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("packets twice: %v", err)
	}
	if _, err := h.Listen(t.Context(), there); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("at another host's address: %v", err)
	}
	l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept after close: %v", err)
	}
	if _, err := h.Dial(t.Context(), l.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial after close: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	again, err := h.Listen(t.Context(), l.Addr().String())
	require.NoError(t, err)
	again.Close()
}

// If a listener closes, connections in its queue get an error.
func TestCloseWithQueue(t *testing.T) {
	n := New(1)
	l, err := n.Host(hostB).Listen(t.Context(), there)
	require.NoError(t, err)
	c, err := n.Host(hostA).Dial(t.Context(), there)
	require.NoError(t, err)
	l.Close()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read: %v", err)
	}
	c.Close()
	if len(n.streams) > 0 {
		t.Errorf("%d streams are left", len(n.streams))
	}
}

// More dials than the queue has room for wait until something is accepted.
func TestFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		l, err := n.Host(hostB).Listen(t.Context(), there)
		require.NoError(t, err)
		defer l.Close()
		for range backlog {
			c, err := n.Host(hostA).Dial(t.Context(), there)
			require.NoError(t, err)
			defer c.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := n.Host(hostA).Dial(ctx, there); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beyond the queue: %v", err)
		}
		dialed := make(chan error)
		go func() {
			c, err := n.Host(hostA).Dial(t.Context(), there)
			if err == nil {
				c.Close()
			}
			dialed <- err
		}()
		synctest.Wait()
		c, err := l.Accept()
		require.NoError(t, err)
		c.Close()
		if err := <-dialed; err != nil {
			t.Error(err)
		}
	})
}

func TestDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		h := n.Host(hostA)
		start := time.Now()
		for _, addr := range []string{there, hostA + ":7000"} {
			if _, err := h.Dial(t.Context(), addr); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("dial %s: %v", addr, err)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("a refusal took %v", took)
		}
		l, err := n.Host(hostB).Listen(t.Context(), there)
		require.NoError(t, err)
		defer l.Close()
		for name, cut := range map[string]func(){
			"both ways": func() { n.Cut(hostA, hostB) },
			"there":     func() { n.CutOneWay(hostA, hostB) },
			"back":      func() { n.CutOneWay(hostB, hostA) },
			"isolated":  func() { n.Isolate(hostB) },
		} {
			cut()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			start := time.Now()
			_, err := h.Dial(ctx, there)
			cancel()
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || !isTimeout(err) || took != 5*time.Second {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			dialed := make(chan error)
			go func() {
				c, err := h.Dial(t.Context(), there)
				if err == nil {
					c.Close()
				}
				dialed <- err
			}()
			synctest.Wait()
			n.Heal()
			if err := <-dialed; err != nil {
				t.Errorf("%s, healed: %v", name, err)
			}
		}
	})
}

// Behind a cut bytes wait; healed, all of them come, in order.
func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, a, b := pair(t)
		defer a.Close()
		defer b.Close()
		send(t, a, "before")
		n.CutOneWay(hostA, hostB)
		send(t, a, "+behind")
		expect(t, b, "before") // it was there before the cut
		silent(t, b)
		send(t, b, "the other way")
		expect(t, a, "the other way")
		n.Mend(hostA, hostB)
		expect(t, b, "+behind")

		n.Isolate(hostA)
		send(t, b, "x")
		silent(t, a)
		n.Mend(hostA, hostB) // does not end the isolation
		silent(t, a)
		n.Heal()
		expect(t, a, "x")

		// A cut fills the buffer, and then stops the writer.
		n.Cut(hostA, hostB)
		a.SetWriteDeadline(time.Now().Add(time.Minute))
		big := bytes.Repeat([]byte("0123456789"), 20_000)
		sent, err := a.Write(big)
		if sent != streamBytes || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("sent %d bytes into a cut, %v; want %d", sent, err, streamBytes)
		}
		a.SetWriteDeadline(time.Time{})
		rest := make(chan error)
		go func() {
			_, err := a.Write(big[sent:])
			rest <- err
		}()
		synctest.Wait()
		n.Heal()
		expect(t, b, string(big))
		if err := <-rest; err != nil {
			t.Error(err)
		}
	})
}

// An end of a connection does not cross a cut.
func TestCloseBehindCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, how := range []string{"close", "close write", "kill"} {
			n, a, b := pair(t)
			n.Cut(hostA, hostB)
			send(t, a, "last")
			switch how {
			case "close":
				a.Close()
			case "close write":
				a.(*conn).CloseWrite()
			case "kill":
				n.Kill(hostA)
			}
			silent(t, b)
			if _, err := b.Write([]byte("x")); err != nil {
				t.Errorf("%s: write behind a cut: %v", how, err)
			}
			n.Heal()
			text, err := io.ReadAll(b)
			if how == "kill" && !errors.Is(err, syscall.ECONNRESET) || how != "kill" && (err != nil || string(text) != "last") {
				t.Errorf("%s: read %q, %v", how, text, err)
			}
			_, err = b.Write([]byte("y"))
			switch {
			case how == "close" && !errors.Is(err, syscall.EPIPE),
				how == "close write" && err != nil,
				how == "kill" && !errors.Is(err, syscall.ECONNRESET):
				t.Errorf("%s: write: %v", how, err)
			}
			if how == "close write" {
				expect(t, a, "xy")
			}
			a.Close()
			b.Close()
			if len(n.streams) > 0 {
				t.Errorf("%s: %d streams are left", how, len(n.streams))
			}
		}
	})
}

// That a half-closed end is closed wholly does not cross a cut either.
func TestCloseTwiceBehindCut(t *testing.T) {
	n, a, b := pair(t)
	a.(*conn).CloseWrite()
	if text, err := io.ReadAll(b); err != nil || len(text) > 0 {
		t.Fatalf("read %q, %v", text, err)
	}
	n.Cut(hostA, hostB)
	a.Close()
	if _, err := b.Write([]byte("x")); err != nil {
		t.Errorf("write behind a cut: %v", err)
	}
	n.Heal()
	if _, err := b.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("write when healed: %v", err)
	}
	b.Close()
}

// What no live host holds any more is forgotten, though nobody closes it.
func TestKillBoth(t *testing.T) {
	n, a, _ := pair(t)
	n.Kill(hostB)
	if len(n.streams) != 1 {
		t.Errorf("%d streams, want 1", len(n.streams))
	}
	n.Kill(hostA)
	if len(n.streams) > 0 {
		t.Errorf("%d streams are left", len(n.streams))
	}
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read: %v", err)
	}
}

// A writer that waits for room learns that the reader is gone.
func TestWriterWakes(t *testing.T) {
	for name, end := range map[string]func(*Net, net.Conn){
		"closed": func(_ *Net, b net.Conn) { b.Close() },
		"killed": func(n *Net, _ net.Conn) { n.Kill(hostB) },
		"reset":  func(n *Net, _ net.Conn) { n.Reset(hostB, hostA) },
	} {
		synctest.Test(t, func(t *testing.T) {
			n, a, b := pair(t)
			wrote := make(chan error)
			go func() {
				_, err := a.Write(make([]byte, 2*streamBytes))
				wrote <- err
			}()
			synctest.Wait()
			end(n, b)
			if err := <-wrote; !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%s: %v", name, err)
			}
			a.Close()
			b.Close()
			if len(n.streams) > 0 {
				t.Errorf("%s: %d streams are left", name, len(n.streams))
			}
		})
	}
}

func TestReset(t *testing.T) {
	n, a, b := pair(t)
	n.Cut(hostA, hostB)
	n.Reset(hostA, hostB)
	for _, c := range []net.Conn{a, b} {
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v", err)
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("write: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := c.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("close again: %v", err)
		}
	}
}

// A killed host is dead with all that it has opened, and one of its address may
// start anew.
func TestKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, a, b := pair(t)
		old := n.Host(hostB)
		l, err := old.Listen(t.Context(), there)
		require.NoError(t, err)
		p, err := old.ListenPacket(t.Context(), there)
		require.NoError(t, err)
		n.Cut(hostA, hostB)
		ended := make(chan error)
		for _, wait := range []func() error{
			func() error { _, err := l.Accept(); return err },
			func() error { _, _, err := p.ReadFrom(make([]byte, 1)); return err },
			func() error { _, err := old.Dial(t.Context(), hostA+":7000"); return err },
		} {
			go func() { ended <- wait() }()
		}
		synctest.Wait()
		n.Kill(hostB)
		for range 3 {
			if err := <-ended; !errors.Is(err, net.ErrClosed) {
				t.Errorf("on the dead host: %v", err)
			}
		}
		if _, err := b.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read on the dead host: %v", err)
		}
		if _, err := p.WriteTo([]byte("x"), p.LocalAddr()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("send from the dead host: %v", err)
		}
		_, err1 := old.Listen(t.Context(), there)
		_, err2 := old.ListenPacket(t.Context(), there)
		if !errors.Is(err1, net.ErrClosed) || !errors.Is(err2, net.ErrClosed) {
			t.Errorf("listen on the dead host: %v, %v", err1, err2)
		}
		n.Heal()
		if _, err := n.Host(hostA).Dial(t.Context(), there); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial the dead host: %v", err)
		}
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read from the dead host: %v", err)
		}
		a.Close()
		b.Close()
		c, d := join(t, n)
		send(t, c, "again")
		expect(t, d, "again")
		c.Close()
		d.Close()
		n.Kill("10.0.0.9") // nobody
	})
}

// A delay that varies never changes the order of a stream.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(7)
		n.Delay(10*time.Millisecond, 10*time.Millisecond)
		start := time.Now()
		a, b := join(t, n)
		if took := time.Since(start); took != 20*time.Millisecond {
			t.Errorf("dial took %v, want there and back", took)
		}
		start = time.Now()
		send(t, a, "x")
		expect(t, b, "x")
		if took := time.Since(start); took != 10*time.Millisecond {
			t.Errorf("a byte took %v", took)
		}
		n.Delay(0, time.Second)
		want := ""
		for i := range 100 {
			text := fmt.Sprint(i, " ")
			send(t, a, text)
			want += text
		}
		a.Close()
		got, err := io.ReadAll(b)
		if err != nil || string(got) != want {
			t.Errorf("read %q, %v", got, err)
		}
		if took := time.Since(start); took < 500*time.Millisecond || took > 1100*time.Millisecond {
			t.Errorf("100 writes with up to 1 s took %v", took)
		}
		b.Close()
	})
}

// What a slow host sends is late, and what is sent to it is not.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, a, b := pair(t)
		defer b.Close()
		defer a.Close()
		for _, delay := range []time.Duration{0, 10 * time.Millisecond} {
			n.Delay(delay, delay)
			n.Slow(hostA, time.Second)
			start := time.Now()
			send(t, a, "x")
			expect(t, b, "x")
			if took := time.Since(start); took != time.Second+delay {
				t.Errorf("from the slow host a byte took %v", took)
			}
			start = time.Now()
			send(t, b, "y")
			expect(t, a, "y")
			if took := time.Since(start); took != delay {
				t.Errorf("to the slow host a byte took %v", took)
			}
			n.Slow(hostA, 0)
			start = time.Now()
			send(t, a, "z")
			expect(t, b, "z")
			if took := time.Since(start); took != delay {
				t.Errorf("a byte took %v", took)
			}
		}
	})
}
