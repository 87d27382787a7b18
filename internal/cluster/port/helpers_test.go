// Ports for tests.

package port_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/cert"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/testing/memnet"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	hostA, hostB, stranger = "10.0.0.1", "10.0.0.2", "10.0.0.3"
	addrA, addrB           = hostA + ":7000", hostB + ":7000"
	timeout                = 10 * time.Second // the default
)

func cluster(name string) func() string { return func() string { return name } }

// open serves a port until the test ends.
func open(t *testing.T, o port.Options) *port.Port {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p, err := port.Listen(t.Context(), o)
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- p.Serve() }()
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return p
}

// two serves hosts A and B of a network with the same options.
func two(t *testing.T, n *memnet.Net, o port.Options) (a, b *port.Port) {
	t.Helper()
	o.Network, o.Listen = n.Host(hostA), addrA
	a = open(t, o)
	o.Network, o.Listen = n.Host(hostB), addrB
	return a, open(t, o)
}

func listenerOf(p *port.Port, k port.Kind) net.Listener {
	return map[port.Kind]net.Listener{port.Raft: p.Raft(), port.Gossip: p.Gossip(), port.Peer: p.Peer()}[k]
}

var kinds = []port.Kind{port.Raft, port.Gossip, port.Peer}

// echo answers connections between nodes: the kind's name, then what comes.
func echo(t *testing.T, p *port.Port) {
	for _, k := range kinds {
		l := listenerOf(p, k)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					io.WriteString(c, k.String())
					io.Copy(c, c)
				}()
			}
		}()
	}
}

// web answers HTTP with "plain" or "TLS".
func web(t *testing.T, p *port.Port) {
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil {
			io.WriteString(w, "plain")
		} else {
			io.WriteString(w, "TLS")
		}
	}), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(p.HTTP()) }()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
}

type dial func(ctx context.Context, addr string) (net.Conn, error)

// get asks for a page over a connection of its own.
func get(t *testing.T, d dial, url string, config *tls.Config) (string, error) {
	t.Helper()
	transport := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: config,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return d(ctx, addr) },
	}
	defer transport.CloseIdleConnections()
	r, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return string(text), err
}

// talk uses a connection to an echo.
func talk(c net.Conn, k port.Kind) error {
	defer c.Close()
	want := k.String() + "hello"
	if _, err := io.WriteString(c, "hello"); err != nil {
		return err
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if string(got) != want {
		return errors.New("got " + string(got) + ", want " + want)
	}
	return nil
}

// works demands that a node gets through to another.
func works(t *testing.T, from *port.Port, to string) {
	t.Helper()
	c, err := from.Dial(t.Context(), port.Peer, to)
	if err == nil {
		err = talk(c, port.Peer)
	}
	if err != nil {
		t.Errorf("a node does not get through: %v", err)
	}
}

// certs makes a CA and a certificate for hosts A and B and loopback.
func certs(t *testing.T) (string, *port.TLS) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, cert.MakeCA(dir, false))
	return dir, node(t, dir, "node", hostA, hostB, "127.0.0.1")
}

func node(t *testing.T, dir, name string, hosts ...string) *port.TLS {
	t.Helper()
	require.NoError(t, cert.MakeNode(dir, name, "", hosts, true))
	return files(dir, name)
}

func files(dir, name string) *port.TLS {
	return &port.TLS{CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key")}
}

// unmarked makes a certificate like a node's, but without the mark.
func unmarked(t *testing.T, dir, name string, hosts ...string) *port.TLS {
	t.Helper()
	ca := pair(t, files(dir, "ca"))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: ca.Leaf.NotBefore, NotAfter: ca.Leaf.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(h))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.Leaf, key.Public(), ca.PrivateKey)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	f := files(dir, name)
	for path, block := range map[string]*pem.Block{f.Cert: {Type: "CERTIFICATE", Bytes: der}, f.Key: {Type: "PRIVATE KEY", Bytes: secret}} {
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	return f
}

func pair(t *testing.T, f *port.TLS) tls.Certificate {
	t.Helper()
	p, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	require.NoError(t, err)
	return p
}

// client is the configuration of one who believes the CA of the files and shows
// the certificates.
func client(t *testing.T, f *port.TLS, show ...tls.Certificate) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(f.CA)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return &tls.Config{RootCAs: roots, Certificates: show, ServerName: hostB}
}
