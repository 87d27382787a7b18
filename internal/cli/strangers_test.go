// Servers that are not nodes, closed members and mixed settings.

package cli

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cert"
	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/cluster/generation"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/password"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/textsearch"
)

// messages is what a command writes to standard error; it may be read meanwhile.
type messages struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // has an element after a write
}

func (m *messages) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case m.more <- struct{}{}:
	default:
	}
	return m.text.Write(b)
}

// wait waits until the messages match, and returns the groups of the match.
func (m *messages) wait(t *testing.T, expression string) []string {
	t.Helper()
	timeout := time.After(2 * time.Minute)
	for re := regexp.MustCompile(expression); ; {
		m.mu.Lock()
		text := m.text.String()
		m.mu.Unlock()
		if found := re.FindStringSubmatch(text); found != nil {
			return found
		}
		select {
		case <-m.more:
		case <-timeout:
			t.Fatalf("no %q in\n%s", expression, text)
		}
	}
}

// begin runs serve in this process until the test ends.
func begin(t *testing.T, args ...string) *messages {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	m := &messages{more: make(chan struct{}, 1)}
	ended := make(chan int, 1)
	args = append([]string{"serve", "--data", filepath.Join(t.TempDir(), "d"), "--listen", "127.0.0.1:0"}, args...)
	go func() { ended <- Run(ctx, args, strings.NewReader(""), io.Discard, m) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return m
}

// serveNode runs serve and returns the address when it serves.
func serveNode(t *testing.T, args ...string) (address string, said *messages) {
	t.Helper()
	said = begin(t, args...)
	return said.wait(t, `serving \S+ at https?://([^\s"]+)`)[1], said
}

// registered returns all that a node answers: the methods between nodes, and the
// endpoints. The code registers them; here is no list that one could be missing in.
func registered(t *testing.T) (methods []string, endpoints []server.Endpoint) {
	t.Helper()
	db, err := replica.Open(t.TempDir(), store.Options{MinFreeBytes: -1}, replica.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	n, err := cluster.Start(t.Context(), cluster.Config{Store: db, Listen: "127.0.0.1:0", Name: "trefoil"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	queries, err := engine.New(n, engine.Options{SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	graph, err := linkgraph.OpenNode(n, linkgraph.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer graph.Close()
	text, err := textsearch.OpenNode(n, textsearch.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	api, err := server.New(n, server.Options{Engine: queries, Links: graph, Text: text, Cluster: n})
	if err != nil {
		t.Fatal(err)
	}
	return n.Methods(), api.Endpoints()
}

// keys are the files of a cluster that is guarded in every way, and of a stranger.
type keys struct {
	t   *testing.T
	dir string
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	k := &keys{t, t.TempDir()}
	for _, name := range []string{"own", "other"} { // two authorities
		dir := k.file(name)
		if err := cert.MakeCA(dir, false); err != nil {
			t.Fatal(err)
		}
		for file, cluster := range map[string]string{"node": "", "bound": "trefoil", "elsewhere": "other"} {
			if err := cert.MakeNode(dir, file, cluster, []string{"127.0.0.1"}, false); err != nil {
				t.Fatal(err)
			}
		}
		if err := cert.WriteGossipKey(k.file(name + ".key")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(k.file(name+".token"), []byte(name+"-token"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

func (k *keys) file(name string) string { return filepath.Join(k.dir, name) }

func (k *keys) pair(dir, name string) *tls.Certificate {
	k.t.Helper()
	pair, err := tls.LoadX509KeyPair(k.file(dir+"/"+name+".crt"), k.file(dir+"/"+name+".key"))
	if err != nil {
		k.t.Fatal(err)
	}
	return &pair
}

// client returns a certificate of the own authority without the mark of a node.
func (k *keys) client() *tls.Certificate {
	k.t.Helper()
	ca := k.pair("own", "ca")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		k.t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: ca.Leaf.NotBefore, NotAfter: ca.Leaf.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, ca.Leaf, key.Public(), ca.PrivateKey)
	if err != nil {
		k.t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// secret returns what a node without certificates proves that has a gossip key and a
// token, "" for none.
func (k *keys) secret(keyFile, token string) (secret []byte) {
	k.t.Helper()
	var key []byte
	var err error
	if keyFile != "" {
		text, err := os.ReadFile(k.file(keyFile))
		if err != nil {
			k.t.Fatal(err)
		}
		if key, err = base64.StdEncoding.DecodeString(strings.TrimSpace(string(text))); err != nil {
			k.t.Fatal(err)
		}
	}
	if secret, err = port.MemberSecret(key, token); err != nil {
		k.t.Fatal(err)
	}
	return secret
}

// guest is somebody who calls a node.
type guest struct {
	name    string
	cluster string
	secret  []byte
	cert    *tls.Certificate // is shown where the node speaks TLS
	token   string           // is sent with requests
	node    bool             // may be one
}

// showing is a network whose connections are TLS with a guest's certificate: the
// guest's port knows nothing of it, and so lets it show any.
type showing struct {
	port.Network
	config *tls.Config
}

func (s showing) Dial(ctx context.Context, addr string) (net.Conn, error) {
	raw, err := s.Network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	c := tls.Client(raw, s.config)
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return c, nil
}

// tls returns the configuration under which a guest dials a node that it trusts
// without a look.
func (g *guest) tls() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if g.cert == nil {
			return &tls.Certificate{}, nil
		}
		return g.cert, nil
	}}
}

// callAll calls every method as a node would, and opens the other kinds of
// connection. It returns what got through: was answered by what is behind the hello.
func (g *guest) callAll(t *testing.T, address string, secure bool, methods []string) (through []string) {
	t.Helper()
	network := port.Host
	if secure {
		network = showing{port.Host, g.tls()}
	}
	p, err := port.Listen(t.Context(), port.Options{
		Network: network, Listen: "127.0.0.1:0", Cluster: func() string { return g.cluster }, Secret: g.secret, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	client := peer.NewClient(func(ctx context.Context, addr string) (net.Conn, error) { return p.Dial(ctx, port.Peer, addr) },
		func() peer.Header { return peer.Header{Cluster: g.cluster, From: 0xaa, Incarnation: 1} }, peer.ClientOptions{})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, method := range methods {
		_, err := client.Call(ctx, peer.Recipient{Address: address}, method, nil)
		var refusal *peer.Refusal
		var remote *peer.RemoteError
		if err == nil || errors.As(err, &refusal) || errors.As(err, &remote) || strings.Contains(err.Error(), "is a stream") {
			through = append(through, method)
		}
	}
	for _, kind := range []port.Kind{port.Raft, port.Gossip} {
		c, err := p.Dial(ctx, kind, address)
		if err == nil {
			c.Close()
			through = append(through, kind.String())
		}
	}
	return through
}

// askAll sends a request to every endpoint. It returns those that did not ask for a
// token though they are not open.
func (g *guest) askAll(t *testing.T, address string, secure bool, endpoints []server.Endpoint) (through []string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: g.tls()}
	defer transport.CloseIdleConnections()
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	for _, e := range endpoints {
		req, err := http.NewRequestWithContext(t.Context(), e.Method, scheme+address+e.Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if g.token != "" {
			req.Header.Set("Authorization", "Bearer "+g.token)
		}
		got, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			continue // the certificate was not taken
		}
		got.Body.Close()
		if !e.Open && got.StatusCode != http.StatusUnauthorized {
			through = append(through, fmt.Sprintf("%s %s: %d", e.Method, e.Path, got.StatusCode))
		}
	}
	return through
}

// gossips sends a message of every kind as a datagram, with and without the cluster's
// label, and reports whether anything is answered.
func gossips(t *testing.T, address, label string) bool {
	t.Helper()
	c, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// What memberlist's ping holds, in MessagePack.
	body := []byte("\x82\xa5SeqNo\x01\xa4Node\xa0")
	for kind := range 256 {
		message := append([]byte{byte(kind)}, body...)
		c.Write(message)
		c.Write(append(append([]byte{0xf4, byte(len(label))}, label...), message...))
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := c.Read(make([]byte, 1000))
	return err == nil && n > 0
}

// A process without what the nodes have is no node: it calls none of their methods and
// opens no connection of theirs. Who has no token gets nothing by HTTP either.
func TestStrangers(t *testing.T) {
	seed.Slow(t)
	methods, endpoints := registered(t)
	if len(methods) < 30 || len(endpoints) < 30 {
		t.Fatalf("%d methods, %d endpoints: most are missing", len(methods), len(endpoints))
	}
	k := newKeys(t)
	token := []string{"--token-file", k.file("own.token")}
	key := []string{"--gossip-key-file", k.file("own.key")}
	users := []string{"--users", write(t, "users", fmt.Sprintf("[admin]\nhash = %q\nroles = [\"admin\"]\n", password.New("pass").String()))}
	certs := []string{"--ca", k.file("own/ca.crt"), "--cert", k.file("own/node.crt"), "--key", k.file("own/node.key")}
	bound := []string{"--ca", k.file("own/ca.crt"), "--cert", k.file("own/bound.crt"), "--key", k.file("own/bound.key")}
	for _, mode := range seed.Choose(t, []struct {
		name          string
		flags         []string
		secure, token bool
		secret        []byte // that its nodes have
	}{
		{"nothing", nil, false, false, nil},
		{"a token", token, false, true, k.secret("", "own-token")},
		{"a key", key, false, false, k.secret("own.key", "")},
		{"a token and a key", append(key, token...), false, true, k.secret("own.key", "own-token")},
		{"users, a token and a key", append(append(key, token...), users...), false, true, k.secret("own.key", "own-token")},
		{"certificates", certs, true, false, nil},
		{"certificates of the cluster", bound, true, false, nil},
		{"certificates and a token", append(certs, token...), true, true, nil},
		{"all", append(append(certs, token...), key...), true, true, k.secret("own.key", "")},
	}) {
		t.Run(mode.name, func(t *testing.T) {
			first, _ := serveNode(t, mode.flags...)
			address, _ := serveNode(t, append(mode.flags, "--join", first)...)
			open := mode.name == "nothing"
			own := k.pair("own", "node")
			if mode.name == "certificates of the cluster" {
				own = k.pair("own", "bound")
			}
			guests := []guest{
				{"nobody", "trefoil", nil, nil, "", open},
				{"one with the token", "trefoil", k.secret("", "own-token"), nil, "own-token", mode.name == "a token"},
				{"one with a wrong token", "trefoil", k.secret("", "other-token"), nil, "other-token", false},
				{"a node with another key", "trefoil", k.secret("other.key", "own-token"), own, "", false},
				{"a node with no key", "trefoil", nil, own, "", open || mode.secure && mode.secret == nil},
				{"a node of another cluster", "other", mode.secret, own, "", false},
			}
			if mode.secure {
				guests[1].node = false
				guests[3].node = false
				guests = append(guests,
					guest{"one that claims the name, with another cluster's certificate", "trefoil", mode.secret, k.pair("own", "elsewhere"), "", false},
					guest{"one with a certificate for any cluster", "trefoil", mode.secret, k.pair("own", "node"), "", mode.name != "certificates of the cluster"},
					guest{"a client's certificate", "trefoil", mode.secret, k.client(), "", false},
					guest{"a node of another authority", "trefoil", mode.secret, k.pair("other", "node"), "", false})
			}
			for _, g := range guests {
				through := g.callAll(t, address, mode.secure, methods)
				if !g.node && len(through) > 0 {
					t.Errorf("%s gets through to %s", g.name, through)
				} else if g.node && len(through) != len(methods)+2 {
					t.Errorf("%s gets through to %s only", g.name, through)
				}
				if !mode.token || g.token == "own-token" {
					continue
				}
				if through := g.askAll(t, address, mode.secure, endpoints); len(through) > 0 {
					t.Errorf("%s is answered at %s", g.name, through)
				}
			}
			if answered := gossips(t, address, "trefoil"); answered != open {
				t.Errorf("a stranger's gossip is answered: %v", answered)
			}
			friend := guest{"a node", "trefoil", mode.secret, own, "own-token", true}
			if mode.token {
				reads := slices.DeleteFunc(slices.Clone(endpoints), func(e server.Endpoint) bool { return e.Open || e.Method != http.MethodGet })
				if through := friend.askAll(t, address, mode.secure, reads); len(through) != len(reads) {
					t.Errorf("the right token is good only for %s", through)
				}
			}
			if through := friend.callAll(t, address, mode.secure, methods); len(through) != len(methods)+2 {
				t.Errorf("a node gets through to %s only", through)
			}
		})
	}
}

// A node with users, and nothing that nodes prove, lets no node in: a process without a password would read
// everything.
func TestStrangersOfUsers(t *testing.T) {
	methods, endpoints := registered(t)
	k := newKeys(t)
	users := []string{"--users", write(t, "users", fmt.Sprintf("[admin]\nhash = %q\nroles = [\"admin\"]\n", password.New("pass").String()))}
	address, _ := serveNode(t, users...)
	for _, g := range []guest{
		{name: "nobody", cluster: "trefoil"},
		{name: "one with a password", cluster: "trefoil", secret: k.secret("", "admin:pass"), token: "admin:pass"},
		{name: "one with a key", cluster: "trefoil", secret: k.secret("own.key", "")},
	} {
		if through := g.callAll(t, address, false, methods); len(through) > 0 {
			t.Errorf("%s gets through to %s", g.name, through)
		}
		if through := g.askAll(t, address, false, endpoints); g.token == "" && len(through) > 0 {
			t.Errorf("%s is answered at %s", g.name, through)
		}
	}
	joins := begin(t, "--join", address)
	joins.wait(t, `(?s)lets no node in: .*has users.*--gossip-key-file`)
}

// A directory of several members is not started where strangers are, with a token and
// nothing else; one of a single member is, and lets no node in, as a fresh one.
func TestClosedMember(t *testing.T) {
	seed.Slow(t)
	k := newKeys(t)
	token := []string{"--token-file", k.file("own.token")}
	dir, ctx := filepath.Join(t.TempDir(), "d"), t.Context()
	serve := func(ctx context.Context, said io.Writer, listen string) int {
		return Run(ctx, append([]string{"serve", "--data", dir, "--listen", listen}, token...), strings.NewReader(""), io.Discard, said)
	}
	// 1. It becomes a member beside another one.
	first, _ := serveNode(t, token...)
	until := func(listen string, more ...string) (code int, said *messages) {
		t.Helper()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		said = &messages{more: make(chan struct{}, 1)}
		ended := make(chan int, 1)
		args := append(append([]string{"serve", "--data", dir, "--listen", listen}, token...), more...)
		go func() { ended <- Run(ctx, args, strings.NewReader(""), io.Discard, said) }()
		said.wait(t, "serving ")
		cancel()
		return <-ended, said
	}
	until("127.0.0.1:0", "--join", first)
	// 2. It does not start beyond loopback.
	said := &messages{more: make(chan struct{}, 1)}
	if code := serve(ctx, said, "0.0.0.0:0"); code != exitFailed || !strings.Contains(said.text.String(), "--gossip-key-file") {
		t.Errorf("code %d: %s", code, said.text.String())
	}
	// 3. The only member of a cluster starts.
	db, err := store.Open(dir, store.Options{Member: true, MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := generation.Recover(ctx, generation.Recovery{Dir: dir, NoneNewer: true, AlthoughTheyAnswer: true, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	if code, said := until("0.0.0.0:0"); code != exitDone {
		t.Errorf("code %d: %s", code, said.text.String())
	}
}

// Nodes with different settings do not become one cluster, and both say what to do.
func TestMixedSettings(t *testing.T) {
	seed.Slow(t)
	k := newKeys(t)
	token, other := []string{"--token-file", k.file("own.token")}, []string{"--token-file", k.file("other.token")}
	key := []string{"--gossip-key-file", k.file("own.key")}
	for _, test := range []struct {
		name         string
		first, joins []string
	}{
		{"a token and none", token, nil},
		{"none and a token", nil, token},
		{"different tokens", token, other},
		{"a key, and a key with a token", key, append(key, token...)},
		{"a token of operators and one of clients", append(token, "--operator-token-file", k.file("other.token")), token},
	} {
		t.Run(test.name, func(t *testing.T) {
			address, said := serveNode(t, test.first...)
			joins := begin(t, append(test.joins, "--join", address)...)
			joins.wait(t, `(?s)not joined yet.*start all nodes of a cluster with the same .*--token-file`)
			said.wait(t, `(?s)a connection was refused.*start all nodes of a cluster with the same .*--token-file`)
		})
	}
	t.Run("the same token", func(t *testing.T) {
		address, _ := serveNode(t, token...)
		serveNode(t, append(token, "--join", address)...)
	})
}
