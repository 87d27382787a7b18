// The commands cert and gossip-key.

package cli

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCert(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	for _, step := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"cert", "node", "--out", dir, "--host", "a", "a"}, exitFailed, "read the CA"},
		{[]string{"cert", "ca", "--out", dir}, exitDone, "ca.key off the nodes"},
		{[]string{"cert", "ca", "--out", dir}, exitFailed, "--force replaces it"},
		{[]string{"cert", "node", "--out", dir, "a"}, exitUsage, "See: trefoil cert node --help"},
		{[]string{"cert", "node", "--out", dir, "--host", "a.example.org,10.0.0.1", "--host", "localhost", "a"}, exitDone, "a.crt and a.key"},
		{[]string{"cert", "node", "--out", dir, "--host", "localhost", "a"}, exitFailed, "--force replaces it"},
		{[]string{"cert", "node", "--out", dir, "--host", "localhost", "--force", "a"}, exitDone, ""},
		{[]string{"cert", "node", "--out", dir, "--host", "localhost:7333", "b"}, exitFailed, "without port"},
		{[]string{"cert", "gossip-key", "--out", filepath.Join(dir, "gossip.key")}, exitDone, ""},
		{[]string{"cert", "gossip-key", "--out", filepath.Join(dir, "gossip.key")}, exitFailed, "exists already"},
	} {
		code, stdout, stderr := run(t, "", step.args...)
		if code != step.code || stdout != "" || !strings.Contains(stderr, step.stderr) {
			t.Errorf("%q: code %d, want %d\nstdout: %s\nstderr: %s", step.args, code, step.code, stdout, stderr)
		}
	}
	for _, name := range []string{"ca.crt", "ca.key", "a.crt", "a.key", "gossip.key"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if filepath.Ext(name) == ".key" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}

func TestGossipKey(t *testing.T) {
	code, stdout, stderr := run(t, "", "cert", "gossip-key")
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(stdout))
	if code != exitDone || stderr != "" || err != nil || len(key) != 32 {
		t.Errorf("code %d, %q, %s: %v", code, stdout, stderr, err)
	}
}
