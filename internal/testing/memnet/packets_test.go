// Datagrams of the network in memory: loss, cuts, seeds and duplicates.

package memnet

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// packetPair returns two ends for datagrams, of host A and host B.
func packetPair(t *testing.T, n *Net) (net.PacketConn, net.PacketConn) {
	t.Helper()
	a, err := n.Host(hostA).ListenPacket(t.Context(), hostA+":7000")
	require.NoError(t, err)
	b, err := n.Host(hostB).ListenPacket(t.Context(), there)
	require.NoError(t, err)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// drain reads what comes until nothing has come for a minute.
func drain(t *testing.T, p net.PacketConn) (all []byte) {
	t.Helper()
	b := make([]byte, 10)
	for {
		p.SetReadDeadline(time.Now().Add(time.Minute))
		k, _, err := p.ReadFrom(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return all
		}
		if err != nil || k != 1 {
			t.Fatalf("%d bytes, %v", k, err)
		}
		all = append(all, b[0])
	}
}

func TestPackets(t *testing.T) {
	n := New(1)
	a, b := packetPair(t, n)
	if _, err := a.WriteTo([]byte("hello"), &net.UDPAddr{IP: net.ParseIP(hostB), Port: 7000}); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 4)
	k, from, err := b.ReadFrom(text)
	if err != nil || string(text[:k]) != "hell" || from.String() != a.LocalAddr().String() {
		t.Errorf("%q from %v, %v", text[:k], from, err)
	}
	if _, err := a.WriteTo([]byte("x"), &net.UDPAddr{IP: net.ParseIP(hostB), Port: 7001}); err != nil {
		t.Errorf("to nobody: %v", err)
	}
	if _, err := a.WriteTo(make([]byte, packetBytes+1), b.LocalAddr()); !errors.Is(err, syscall.EMSGSIZE) {
		t.Errorf("too large: %v", err)
	}
	b.Close()
	if _, err := a.WriteTo([]byte("x"), b.LocalAddr()); err != nil {
		t.Errorf("to a closed one: %v", err)
	}
	if _, _, err := b.ReadFrom(text); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read when closed: %v", err)
	}
}

// A reader that waits is woken by its end.
func TestPacketsClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b := packetPair(t, New(1))
		ended := make(chan error)
		go func() {
			_, _, err := b.ReadFrom(make([]byte, 1))
			ended <- err
		}()
		synctest.Wait()
		b.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestPacketsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := packetPair(t, n)
		n.CutOneWay(hostA, hostB)
		a.WriteTo([]byte("1"), b.LocalAddr())
		b.WriteTo([]byte("2"), a.LocalAddr())
		n.Heal()
		n.Delay(time.Second, time.Second)
		a.WriteTo([]byte("3"), b.LocalAddr()) // under way when the cut comes
		n.Cut(hostA, hostB)
		time.Sleep(2 * time.Second) // the bubble's
		n.Heal()
		n.Cut(hostA, hostB)
		a.WriteTo([]byte("5"), b.LocalAddr()) // sent into a cut that is healed before it would come
		n.Heal()
		a.WriteTo([]byte("4"), b.LocalAddr())
		if got := string(drain(t, b)); got != "4" {
			t.Errorf("B read %q, want 4", got)
		}
		if got := string(drain(t, a)); got != "2" {
			t.Errorf("A read %q, want 2", got)
		}
	})
}

func TestPacketsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := packetPair(t, New(1))
		for range 2 * packetQueue {
			a.WriteTo([]byte("x"), b.LocalAddr())
		}
		if n := len(drain(t, b)); n != packetQueue {
			t.Errorf("%d were kept, want %d", n, packetQueue)
		}
	})
}

// The same seed loses the same datagrams and delays them the same, whatever goes
// on between other hosts and in streams.
func TestSeed(t *testing.T) {
	run := func(seed uint64, busy bool) (got string) {
		synctest.Test(t, func(t *testing.T) {
			n := New(seed)
			n.Loss(30)
			n.Delay(time.Millisecond, time.Second)
			a, b := packetPair(t, n)
			if busy {
				c, d := join(t, n)
				send(t, c, "x")
				b.WriteTo([]byte("x"), a.LocalAddr())
				c.Close()
				d.Close()
			}
			for i := range 100 {
				a.WriteTo([]byte{byte(i)}, b.LocalAddr())
			}
			got = string(drain(t, b))
		})
		return got
	}
	one := run(1, false)
	if again := run(1, true); again != one {
		t.Errorf("seed 1 gave\n%q, then\n%q", one, again)
	}
	if other := run(2, false); other == one {
		t.Errorf("seeds 1 and 2 gave both %q", one)
	}
	if len(one) < 50 || len(one) > 90 {
		t.Errorf("%d of 100 came with a loss of 30%%", len(one))
	}
	if slices.IsSorted([]byte(one)) {
		t.Error("none was overtaken")
	}
	if strings.Count(one, "\x05") > 1 {
		t.Error("one came twice")
	}
}

// A frozen host neither reads nor sends; what it sent is lost, what was sent to it waits.
func TestFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := packetPair(t, n)
		first, second := join2(t, n)
		n.Freeze(hostB)
		n.Freeze(hostA)
		n.Thaw(hostA)
		if _, err := a.WriteTo([]byte("x"), b.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.WriteTo([]byte("y"), a.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		send(t, first, "hello")
		silent(t, second)
		if got := drain(t, b); len(got) > 0 {
			t.Errorf("a frozen host reads %q", got)
		}
		written := make(chan error, 1)
		go func() {
			_, err := second.Write([]byte("back"))
			written <- err
		}()
		silent(t, first)
		n.Thaw(hostB)
		if err := <-written; err != nil {
			t.Error(err)
		}
		second.SetReadDeadline(time.Time{})
		first.SetReadDeadline(time.Time{})
		expect(t, second, "hello")
		expect(t, first, "back")
		if got := string(drain(t, b)); got != "x" {
			t.Errorf("thawed, it reads %q", got)
		}
		if got := drain(t, a); len(got) > 0 {
			t.Errorf("a frozen host has sent %q", got)
		}
	})
}

// Datagrams may arrive twice.
func TestDuplicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := packetPair(t, n)
		n.Duplicate(50)
		for i := range 100 {
			if _, err := a.WriteTo([]byte{byte(i)}, b.LocalAddr()); err != nil {
				t.Fatal(err)
			}
		}
		got := drain(t, b)
		if len(got) < 120 || len(got) > 180 {
			t.Errorf("%d datagrams of 100 arrive", len(got))
		}
		if slices.Sort(got); len(slices.Compact(got)) != 100 {
			t.Error("some do not arrive")
		}
	})
}

// join2 is a connection beside what packetPair has taken.
func join2(t *testing.T, n *Net) (net.Conn, net.Conn) {
	t.Helper()
	a, b := join(t, n)
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}
