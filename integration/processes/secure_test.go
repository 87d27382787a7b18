// Clusters with certificates and tokens.

package processes

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// secured is what nodes and clients know each other by.
type secured struct {
	dir   string // ca.crt, and n1.crt and n1.key of machine 1, and so on
	pool  *x509.CertPool
	token string
}

// newSecured makes an authority, certificates of n machines, a gossip key and a
// token, by the commands that operators have.
func newSecured(t *testing.T, n int) *secured {
	t.Helper()
	s := &secured{dir: t.TempDir(), pool: x509.NewCertPool(), token: "a-token-of-this-test"}
	trefoil(t, "cert", "ca", "--out", s.dir).must(t, 0)
	for i := range n {
		trefoil(t, "cert", "node", fmt.Sprintf("n%d", i+1), "--host", "127.0.0.1,localhost", "--out", s.dir).must(t, 0)
	}
	trefoil(t, "cert", "gossip-key", "--out", s.file("gossip.key")).must(t, 0)
	require.NoError(t, os.WriteFile(s.file("token"), []byte(s.token+"\n"), 0o600))
	ca, err := os.ReadFile(s.file("ca.crt"))
	if err != nil || !s.pool.AppendCertsFromPEM(ca) {
		t.Fatalf("ca.crt: %v: %s", err, ca)
	}
	return s
}

func (s *secured) file(name string) string { return filepath.Join(s.dir, name) }

// flags returns those of serve.
func (s *secured) flags(machine int) []string {
	name := fmt.Sprintf("n%d", machine)
	return []string{"--ca", s.file("ca.crt"), "--cert", s.file(name + ".crt"), "--key", s.file(name + ".key"),
		"--gossip-key-file", s.file("gossip.key"), "--token-file", s.file("token")}
}

// TestSecured: a cluster with certificates, a gossip key and a token does all that
// one without does; a stranger gets nothing of it.
func TestSecured(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	c.secure = newSecured(t, 4)
	c.form()
	h := &history{}
	c.fill(h, 1000)
	c.mustHold(h)

	m, s := c.machines[1], c.secure
	trust := []string{"SSL_CERT_FILE=" + s.file("ca.crt")}
	got := trefoilWith(t, nil, trust, "count", "--to", m.url(), "--token-file", s.file("token"), "? ? ?").must(t, 0).stdout
	if got != "1000\n" {
		t.Errorf("trefoil count prints %q", got)
	}
	trefoilWith(t, nil, trust, "count", "--to", m.url(), "? ? ?").must(t, 1) // no token
	trefoilWith(t, nil, nil, "count", "--to", m.url(), "--token-file", s.file("token"), "? ? ?").must(t, 1)

	t.Run("clients", func(t *testing.T) { m.refusesClients(t) })
	t.Run("nodes", func(t *testing.T) { c.refusesNodes(t) })
	c.mustHold(h)
}

// refusesClients asks without the token, without trust and in the clear.
func (m *machine) refusesClients(t *testing.T) {
	trusting := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: m.c.secure.pool}, DisableKeepAlives: true}
	plain := &http.Transport{DisableKeepAlives: true}
	for _, path := range []string{"/triples", "/count", "/sparql?query=ASK%7B%7D", "/status", "/metrics", "/fragments", "/data?default", "/backup", "/range?order=spo"} {
		resp, err := (&http.Client{Transport: trusting, Timeout: waitLimit}).Get(m.url() + path)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusUnauthorized || strings.Contains(string(body), namespace) {
			t.Errorf("%s without the token: %s, %v: %.200s", path, resp.Status, err, body)
		}
		if resp, err := (&http.Client{Transport: plain, Timeout: waitLimit}).Get(m.url() + path); err == nil {
			resp.Body.Close()
			t.Errorf("%s: one that does not know the authority takes the certificate", path)
		}
		if resp, err := (&http.Client{Transport: plain, Timeout: waitLimit}).Get("http://" + m.address + path); err == nil {
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode < 400 || strings.Contains(string(body), namespace) {
				t.Errorf("%s in the clear: %s: %.200s", path, resp.Status, body)
			}
		}
	}
}

// refusesNodes starts machines that are not of this cluster and would join it.
func (c *cluster) refusesNodes(t *testing.T) {
	other := newSecured(t, 4)
	mixed := *c.secure
	mixed.dir = t.TempDir()
	for _, name := range []string{"ca.crt", "n4.crt", "n4.key", "token"} {
		text, err := os.ReadFile(c.secure.file(name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(mixed.file(name), text, 0o600))
	}
	trefoil(t, "cert", "gossip-key", "--out", mixed.file("gossip.key")).must(t, 0)
	before := c.whole(3)
	for _, test := range []struct {
		name   string
		secure *secured
		args   []string
		says   string
	}{
		{"in the clear", nil, nil, "not joined yet"},
		{"of another authority", other, nil, "not joined yet"},
		{"with another gossip key", &mixed, nil, "not joined yet"},
		{"of another cluster", c.secure, []string{"--cluster", "another"}, "another cluster|not joined yet"},
	} {
		strangers := &cluster{t: t, secure: test.secure}
		stranger := &machine{c: strangers, number: 4, dir: filepath.Join(t.TempDir(), "d"), args: append(test.args, "--join", c.machines[0].address)}
		stranger.start()
		stranger.process.waitFor(t, test.says)
		if stranger.runs() {
			stranger.process.signal(t, syscall.SIGKILL)
			stranger.process.wait(t)
		}
		// The cluster has not reacted to it. Beside that a busy machine may miss a probe, so the others
		// may need a moment to say again that it is up.
		s, err := c.machines[1].status()
		if err != nil || len(s.Members) != 3 || s.Epoch != before.Epoch || s.Generation != before.Generation {
			t.Errorf("a node %s: %v; epoch %d, before it %d; members %+v", test.name, err, s.Epoch, before.Epoch, s.Members)
		}
		c.whole(3)
	}
	if _, err := (&machine{c: &cluster{t: t, secure: &secured{pool: c.secure.pool, token: "wrong"}}, address: c.machines[0].address}).newClient().Status(t.Context()); !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("a wrong token: %v", err)
	}
}
