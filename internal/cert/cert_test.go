// Certificates and keys: contents, existing files and refusals.

package cert

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func load(t *testing.T, dir, name string) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
	require.NoError(t, err)
	return pair.Leaf
}

// about reports whether two times are the same but for a test's run.
func about(a, b time.Time) bool { return a.Sub(b).Abs() < 10*time.Minute }

func TestMake(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "certs")
	require.NoError(t, MakeCA(dir, false))
	hosts := []string{"db1.example.org", "10.0.0.1", "::1"}
	require.NoError(t, MakeNode(dir, "db1", "", hosts, false))
	ca, node := load(t, dir, "ca"), load(t, dir, "db1")
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	for _, host := range append(hosts, "") {
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			if _, err := node.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
				t.Errorf("host %q, usage %d: %v", host, usage, err)
			}
		}
	}
	if err := node.VerifyHostname("db2.example.org"); err == nil {
		t.Error("it is good for another host")
	}
	if len(node.URIs) != 1 || node.URIs[0].String() != port.NodeMark {
		t.Errorf("URIs %v, want the node mark", node.URIs)
	}
	if len(node.IPAddresses) != 2 || !node.IPAddresses[0].Equal(net.IPv4(10, 0, 0, 1)) {
		t.Errorf("addresses %v", node.IPAddresses)
	}
	if node.IsCA || !ca.IsCA || len(ca.URIs) != 0 {
		t.Error("the CA is a node, or the node a CA")
	}
	now := time.Now()
	for _, c := range []struct {
		cert  *x509.Certificate
		years int
	}{{ca, 10}, {node, 2}} {
		if !about(c.cert.NotBefore, now.Add(-time.Hour)) || !about(c.cert.NotAfter, now.AddDate(c.years, 0, 0)) {
			t.Errorf("%s: from %v to %v", c.cert.Subject, c.cert.NotBefore, c.cert.NotAfter)
		}
	}
	for name, mode := range map[string]os.FileMode{"ca.key": 0o600, "db1.key": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, mode)
		}
	}
}

// Nothing is replaced without being told, also where only one of a pair is there.
func TestExisting(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, MakeCA(dir, false))
	make := func(force bool) error { return MakeNode(dir, "a", "", []string{"a"}, force) }
	require.NoError(t, make(false))
	before := contents(t, dir)
	if err := MakeCA(dir, false); !errors.Is(err, ErrExists) {
		t.Errorf("a second CA: %v", err)
	}
	if err := make(false); !errors.Is(err, ErrExists) {
		t.Errorf("a second certificate: %v", err)
	}
	if after := contents(t, dir); !same(before, after) {
		t.Error("files have changed")
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "a.key")))
	if err := make(false); !errors.Is(err, ErrExists) {
		t.Errorf("with the certificate alone: %v", err)
	}
	require.NoError(t, make(true))
	if load(t, dir, "a"); same(before, contents(t, dir)) {
		t.Error("force replaced nothing")
	}
	require.NoError(t, MakeCA(dir, true))
	load(t, dir, "ca")
	if n := len(contents(t, dir)); n != 4 {
		t.Errorf("%d files in the directory, want 4", n)
	}
	info, err := os.Stat(filepath.Join(dir, "a.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a replaced key: %v, %v", info.Mode(), err)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(b)
	}
	return all
}

func same(a, b map[string]string) bool {
	for name, text := range a {
		if b[name] != text {
			return false
		}
	}
	return len(a) == len(b)
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	if err := MakeNode(dir, "a", "", []string{"a"}, false); err == nil {
		t.Error("a node's certificate without a CA")
	}
	require.NoError(t, MakeCA(dir, false))
	for _, c := range []struct {
		name  string
		hosts []string
	}{
		{"", []string{"a"}}, {"ca", []string{"a"}}, {"../a", []string{"a"}}, {".a", []string{"a"}}, {"-a", []string{"a"}},
		{"a", nil}, {"a", []string{""}}, {"a", []string{"a:7333"}}, {"a", []string{"http://a"}}, {"a", []string{"b c"}}, {"a", []string{"*.a"}},
	} {
		if err := MakeNode(dir, c.name, "", c.hosts, false); err == nil {
			t.Errorf("%q for %q was made", c.name, c.hosts)
		}
	}
	if n := len(contents(t, dir)); n != 2 {
		t.Errorf("%d files in the directory, want the CA's 2", n)
	}
}

func TestGossipKey(t *testing.T) {
	a, b := GossipKey(), GossipKey()
	key, err := base64.StdEncoding.DecodeString(a)
	if err != nil || len(key) != 32 || a == b {
		t.Errorf("%q, %q: %v", a, b, err)
	}
}
