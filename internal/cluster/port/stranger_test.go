// Tests of strangers.

package port_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/testing/memnet"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// probe sends a text from a stranger, with waits between its bytes if slow. It returns the answer
// until the connection was closed, and the time of that.
func probe(t *testing.T, dial func() (net.Conn, error), text string, slow time.Duration) (string, time.Duration) {
	t.Helper()
	c, err := dial()
	require.NoError(t, err)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer c.Close()
	start := time.Now()
	sending.Go(func() {
		if slow == 0 {
			io.WriteString(c, text)
			return
		}
		for i := range text {
			if _, err := c.Write([]byte{text[i]}); err != nil {
				return
			}
			time.Sleep(slow) // the bubble's
		}
	})
	got, _ := io.ReadAll(c)
	return string(got), time.Since(start)
}

// A stranger on the port gets nothing, and is cut off in time.
func TestStrangers(t *testing.T) {
	tag := strings.Repeat("\x00", 16)
	hello := "TREFOIL\x01\x03\x00\x01c" + tag
	secret := "TREFOIL\x01\x03\x01\x01c" + tag
	for _, c := range []struct {
		name, guard, text string
		slow              time.Duration
		got               string // "nonce" is a demand of a proof, "wrong" the same and a refusal
		within            time.Duration
	}{
		{"says nothing", "plain", "", 0, "", timeout},
		{"stops in the magic", "plain", "TREF", 0, "", timeout},
		{"stops after the magic", "plain", "TREFOIL", 0, "", timeout},
		{"stops in the hello", "plain", "TREFOIL\x01\x03\x00\xffc", 0, "", timeout},
		{"a slow magic", "plain", hello, 3 * time.Second, "", timeout},
		{"a slow hello", "plain", "TREFOIL\x01\x03\x00\xff" + strings.Repeat("c", 255), time.Second, "", 2 * timeout},
		{"another version", "plain", "TREFOIL\x02\x03\x01c", 0, "\x08\x01", 0},
		{"another kind", "plain", "TREFOIL\x01\x04\x00\x01c" + tag, 0, "", 0},
		{"unknown flags", "plain", "TREFOIL\x01\x03\x02\x01c" + tag, 0, "", 0},
		{"another cluster", "plain", "TREFOIL\x01\x03\x00\x01d" + tag, 0, "\x02", 0},
		{"no cluster for Raft", "plain", "TREFOIL\x01\x01\x00\x00" + tag, 0, "\x02", 0},
		{"garbage", "plain", "\x00\xff\x17garbage\r\n\r\n", 0, "HTTP/1.1 400 Bad Request", 0},
		{"no secret", "secret", hello, 0, "\x04", 0},
		{"a secret", "plain", secret, 0, "\x05", 0},
		{"no proof", "secret", secret, 0, "nonce", timeout},
		{"a wrong proof", "secret", secret + strings.Repeat("x", 64), 0, "wrong", 0},
		{"another cluster and no proof", "secret", "TREFOIL\x01\x03\x01\x01d" + tag + strings.Repeat("x", 64), 0, "wrong", 0},
		{"says nothing to TLS", "TLS", "", 0, "", timeout},
		{"stops in the handshake", "TLS", "\x16\x03\x01\x02\x00\x01\x00\x01", 0, "", timeout},
		{"no TLS", "TLS", hello, 0, "", 0},
		{"HTTP without TLS", "TLS", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := memnet.New(1)
				a, b := two(t, n, guarded(t, c.guard))
				echo(t, b)
				web(t, b)
				got, after := probe(t, func() (net.Conn, error) { return n.Host(stranger).Dial(t.Context(), addrB) }, c.text, c.slow)
				switch {
				case c.got == "wrong":
					if len(got) != 34 || got[0] != 1 || got[33] != 6 {
						t.Errorf("got %q, want a nonce and a refusal", got)
					}
				case c.got == "nonce" && (len(got) != 33 || got[0] != 1):
					t.Errorf("got %q, want a nonce", got)
				case strings.HasPrefix(c.got, "HTTP"):
					if !strings.HasPrefix(got, c.got) {
						t.Errorf("got %q, want %q", got, c.got)
					}
				case c.got != "nonce" && got != c.got:
					t.Errorf("got %q, want %q", got, c.got)
				}
				if after > c.within || c.within == timeout && after != timeout {
					t.Errorf("cut off after %v, want %v", after, c.within)
				}
				synctest.Wait()
				if n := b.Rejected(); n != 1 && !strings.HasPrefix(c.got, "HTTP") {
					t.Errorf("%d rejected, want 1", n)
				}
				works(t, a, addrB)
			})
		})
	}
}

// With TLS a connection between nodes demands a node's certificate, and HTTP
// demands none.
func TestCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		dir, files := certs(t)
		otherDir, otherFiles := certs(t)
		a, b := two(t, n, port.Options{Cluster: cluster("c"), TLS: files})
		echo(t, b)
		web(t, b)
		for name, c := range map[string]struct {
			show        []tls.Certificate
			node, pages bool
		}{
			"none":           {nil, false, true},
			"a node's":       {[]tls.Certificate{pair(t, files)}, true, true},
			"unmarked":       {[]tls.Certificate{pair(t, unmarked(t, dir, "user"))}, false, true},
			"another CA's":   {[]tls.Certificate{pair(t, otherFiles)}, false, false},
			"another's user": {[]tls.Certificate{pair(t, unmarked(t, otherDir, "user"))}, false, false},
		} {
			config := client(t, files, c.show...)
			// A client keeps certificates of other CAs back: a stranger would not.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if len(c.show) == 0 {
					return &tls.Certificate{}, nil
				}
				return &c.show[0], nil
			}
			before := b.Rejected()
			raw, err := n.Host(stranger).Dial(t.Context(), addrB)
			require.NoError(t, err)
			conn := tls.Client(raw, config)
			io.WriteString(conn, "TREFOIL\x01\x03\x00\x01c"+strings.Repeat("\x00", 16))
			first := make([]byte, 5)
			k, err := io.ReadFull(conn, first)
			if c.node != (string(first[:k]) == "\x00peer") {
				t.Errorf("%s: as a node it got %q, %v", name, first[:k], err)
			}
			conn.Close()
			synctest.Wait()
			if got := b.Rejected() - before; (got == 0) != c.node {
				t.Errorf("%s: %d rejected", name, got)
			}
			text, err := get(t, n.Host(stranger).Dial, "https://"+addrB, config)
			if c.pages != (err == nil && text == "TLS") {
				t.Errorf("%s: HTTP gave %q, %v", name, text, err)
			}
		}
		works(t, a, addrB)
	})
}

// The errors of a dialer, for each way in which two nodes do not fit.
func TestDialErrors(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to func(t *testing.T, dir string, o *port.Options)
		is       error
		says     string
	}{
		{name: "another cluster", to: func(_ *testing.T, _ string, o *port.Options) { o.Cluster = cluster("d") }, is: port.ErrCluster},
		{name: "another key", from: secret("a"), to: secret("b"), is: port.ErrSecret, says: "--token-file"},
		{name: "no key here", to: secret("b"), is: port.ErrSecret, says: "this node has none"},
		{name: "no key there", from: secret("a"), is: port.ErrSecret, says: "the node there has none"},
		{name: "another cluster of the name", from: clusterID("1"), to: clusterID("2"), is: port.ErrCluster},
		{name: "closed there", to: closed, is: port.ErrClosed, says: "--gossip-key-file"},
		{name: "closed here", from: closed, says: "this node takes part in no cluster"},
		{name: "no TLS here", to: secure("node"), says: "hung up: its TLS"},
		{name: "no TLS there", from: secure("node"), says: "does not look like a TLS handshake"},
		{name: "a certificate for another host", from: secure("node"), to: secure("elsewhere"), says: "not " + hostB},
		{name: "another CA", from: secure("node"), to: func(t *testing.T, _ string, o *port.Options) { _, o.TLS = certs(t) }, says: "unknown authority"},
		{name: "a name too long", from: func(_ *testing.T, _ string, o *port.Options) { o.Cluster = cluster(strings.Repeat("c", 256)) }, says: "at most 255"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, _ := certs(t)
				node(t, dir, "elsewhere", stranger)
				n := memnet.New(1)
				here := port.Options{Network: n.Host(hostA), Listen: addrA, Cluster: cluster("c")}
				there := port.Options{Network: n.Host(hostB), Listen: addrB, Cluster: cluster("c")}
				if c.from != nil {
					c.from(t, dir, &here)
				}
				if c.to != nil {
					c.to(t, dir, &there)
				}
				a, b := open(t, here), open(t, there)
				echo(t, b)
				web(t, b)
				conn, err := a.Dial(t.Context(), port.Peer, addrB)
				if err == nil {
					conn.Close()
					t.Fatal("it got through")
				}
				if c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), addrB) {
					t.Errorf("%v; want %q", err, c.says)
				}
			})
		})
	}
}

func secret(s string) func(*testing.T, string, *port.Options) {
	return func(_ *testing.T, _ string, o *port.Options) { o.Secret = []byte(s) }
}

func clusterID(id string) func(*testing.T, string, *port.Options) {
	return func(_ *testing.T, _ string, o *port.Options) { o.ClusterID = cluster(id) }
}

func closed(_ *testing.T, _ string, o *port.Options) { o.Closed = true }

func secure(name string) func(*testing.T, string, *port.Options) {
	return func(_ *testing.T, dir string, o *port.Options) { o.TLS = files(dir, name) }
}

// Names of clusters: if a node has none yet, it may ask as a peer.
func TestClusterNames(t *testing.T) {
	for _, c := range []struct {
		from, to string
		kind     port.Kind
		ok       bool
	}{
		{"c", "c", port.Raft, true}, {"", "", port.Raft, true}, {"c", "", port.Raft, true},
		{"", "c", port.Raft, false}, {"", "c", port.Gossip, false}, {"", "c", port.Peer, true},
		{"c", "d", port.Peer, false}, {"c", "cc", port.Peer, false},
		{strings.Repeat("c", 255), strings.Repeat("c", 255), port.Gossip, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := memnet.New(1)
			a := open(t, port.Options{Network: n.Host(hostA), Listen: addrA, Cluster: cluster(c.from), Secret: []byte("s")})
			b := open(t, port.Options{Network: n.Host(hostB), Listen: addrB, Cluster: cluster(c.to), Secret: []byte("s")})
			echo(t, b)
			conn, err := a.Dial(t.Context(), c.kind, addrB)
			if err == nil {
				err = talk(conn, c.kind)
			}
			if c.ok != (err == nil) || !c.ok && !errors.Is(err, port.ErrCluster) {
				t.Errorf("%q to %q for %s: %v", c.from, c.to, c.kind, err)
			}
		})
	}
}

// A dialer believes no certificate without the mark, though the CA signed it.
func TestImpostor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		dir, own := certs(t)
		a := open(t, port.Options{Network: n.Host(hostA), Listen: addrA, TLS: own})
		l, err := n.Host(hostB).Listen(t.Context(), addrB)
		require.NoError(t, err)
		defer l.Close()
		got := make(chan string, 1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conn := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{pair(t, unmarked(t, dir, "user", hostB))}})
			text, _ := io.ReadAll(conn)
			conn.Close()
			got <- string(text)
		}()
		if _, err := a.Dial(t.Context(), port.Peer, addrB); err == nil || !strings.Contains(err.Error(), "node's certificate") {
			t.Errorf("dial: %v", err)
		}
		if text := <-got; text != "" {
			t.Errorf("the impostor got %q", text)
		}
		if _, err := port.Listen(t.Context(), port.Options{Network: n.Host(hostB), Listen: ":0", TLS: files(dir, "user")}); err == nil ||
			!strings.Contains(err.Error(), "trefoil cert node") {
			t.Errorf("listen without the mark: %v", err)
		}
	})
}

// An impostor replays messages of a node. It must not prove the secret with them.
func TestProofBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		a := open(t, port.Options{Network: n.Host(hostA), Listen: addrA, Secret: []byte("s")})
		l, err := n.Host(hostB).Listen(t.Context(), addrB)
		require.NoError(t, err)
		defer l.Close()
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			hello := make([]byte, len("TREFOIL")+4+16)
			answer := make([]byte, 64)
			io.ReadFull(c, hello)
			c.Write(append([]byte{1}, make([]byte, 32)...))
			io.ReadFull(c, answer)
			c.Write(append([]byte{0}, answer[32:]...)) // the dialer's own proof
		}()
		if _, err := a.Dial(t.Context(), port.Peer, addrB); err == nil || !strings.Contains(err.Error(), "the node there has another one") {
			t.Errorf("dial: %v", err)
		}
	})
}

// A node that does not answer keeps a dialer for its timeout, or its context.
func TestDialTimeout(t *testing.T) {
	for _, guard := range guards {
		synctest.Test(t, func(t *testing.T) {
			n := memnet.New(1)
			o := guarded(t, guard)
			o.Network, o.Listen = n.Host(hostA), addrA
			a := open(t, o)
			l, err := n.Host(hostB).Listen(t.Context(), addrB)
			require.NoError(t, err)
			defer l.Close()
			for _, want := range []time.Duration{time.Second, timeout} {
				ctx, cancel := context.WithTimeout(t.Context(), min(want, time.Hour))
				if want == timeout {
					ctx, cancel = context.WithCancel(t.Context())
				}
				start := time.Now()
				_, err := a.Dial(ctx, port.Raft, addrB)
				if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != want {
					t.Errorf("%s: %v after %v, want %v", guard, err, took, want)
				}
				cancel()
			}
		})
	}
}
