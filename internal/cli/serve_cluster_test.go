package cli

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// parseClusterFlags reads the flags as serve would.
func parseClusterFlags(t *testing.T, args ...string) *clusterFlags {
	t.Helper()
	var f clusterFlags
	parser, err := kong.New(&f, kong.Exit(func(int) { t.Fatal("exits") }))
	if err == nil {
		_, err = parser.Parse(args)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &f
}

func TestClusterFlags(t *testing.T) {
	const loopback = "127.0.0.1:7333"
	tls := []string{"--ca", "ca.crt", "--cert", "n.crt", "--key", "n.key"}
	for _, test := range []struct {
		listen   string
		insecure bool
		args     []string
		says     string // "": it is taken
	}{
		{loopback, false, nil, ""},
		{"0.0.0.0:7333", false, nil, ""}, // alone, with a token
		{loopback, false, []string{"--join", "127.0.0.1:7334,localhost:7335", "--spare"}, ""},
		{"[::1]:7333", false, []string{"--join", "[::1]:7334"}, ""},
		{"10.0.0.1:7333", true, []string{"--join", "10.0.0.2:7333"}, ""},
		{"10.0.0.1:7333", false, append([]string{"--join", "10.0.0.2:7333"}, tls...), ""},
		{"0.0.0.0:7333", false, append([]string{"--join", "b.example:7333", "--advertise", "a.example:7333"}, tls...), ""},
		{loopback, false, []string{"--cluster", "photos-2.eu_west", "--failure-timeout", "10s"}, ""},

		{"10.0.0.1:7333", false, []string{"--join", "127.0.0.1:7333"}, "in the clear"},
		{loopback, false, []string{"--join", "10.0.0.2:7333"}, "in the clear with whoever answers at 10.0.0.2:7333"},
		{loopback, false, []string{"--advertise", "a.example:7333"}, "in the clear"},
		{"0.0.0.0:7333", true, []string{"--join", "10.0.0.2:7333"}, "--advertise"},
		{":7333", true, []string{"--join", "10.0.0.2:7333"}, "--advertise"},
		{loopback, false, []string{"--rebuild-share", "100"}, ""},
		{loopback, false, []string{"--rebuild-share", "0"}, "--rebuild-share 0: it is 1 to 100 percent"},
		{loopback, false, []string{"--rebuild-share", "101"}, "--rebuild-share 101"},
		{loopback, false, []string{"--purge-every", "0s"}, ""},
		{loopback, false, []string{"--purge-every=-1s"}, "--purge-every -1s"},
		{loopback, false, []string{"--spare"}, "--join"},
		{loopback, false, []string{"--join", "10.0.0.2"}, "HOST:PORT"},
		{loopback, false, []string{"--join", "10.0.0.2:0"}, "the port"},
		{loopback, false, []string{"--join", "10.0.0.2:http"}, "the port"},
		{loopback, false, []string{"--join", ":7333"}, "name a host"},
		{loopback, false, []string{"--advertise", "[::]:7333"}, "name a host"},
		{loopback, false, tls[:4], "go together"},
		{loopback, false, tls[2:], "go together"},
		{loopback, false, []string{"--cluster", "a b"}, "--cluster"},
		{loopback, false, []string{"--cluster", ""}, "--cluster"},
		{loopback, false, []string{"--cluster", strings.Repeat("a", 65)}, "--cluster"},
		{loopback, false, []string{"--failure-timeout", "100ms"}, "--failure-timeout"},
		{loopback, false, []string{"--failure-timeout", "1h"}, "--failure-timeout"},
	} {
		_, err := parseClusterFlags(t, test.args...).config(test.listen, "", test.insecure)
		var usage usageError
		if test.says == "" && err != nil || test.says != "" && (!errors.As(err, &usage) || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("listening at %s, %q: %v, want %q", test.listen, test.args, err, test.says)
		}
	}
}

func TestClusterConfig(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := parseClusterFlags(t, "--join", "a:1,b:2", "--join", "c:3", "--advertise", "d:4", "--spare", "--ca", "1", "--cert", "2", "--key", "3",
		"--gossip-key-file", file).config("0.0.0.0:1", "token", false)
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "trefoil" || c.Advertise != "d:4" || !slices.Equal(c.Join, []string{"a:1", "b:2", "c:3"}) || !c.Spare ||
		c.CA != "1" || c.Cert != "2" || c.Key != "3" || !bytes.Equal(c.Secret, key) || c.Lease != 2*time.Second || c.Patience != 3*time.Second {
		t.Errorf("%+v", c)
	}
	if c.PurgeEvery != 10*time.Minute {
		t.Errorf("purges every %s", c.PurgeEvery)
	}
	if c, err := parseClusterFlags(t, "--purge-every", "0s").config("127.0.0.1:1", "", false); err != nil || c.PurgeEvery >= 0 {
		t.Errorf("no purges: %s, %v", c.PurgeEvery, err)
	}
	for _, text := range []string{"", "short", base64.StdEncoding.EncodeToString(key[:20]), strings.Repeat("!", 44)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := parseClusterFlags(t, "--gossip-key-file", file).config("127.0.0.1:1", "", false); err == nil || !strings.Contains(err.Error(), "base64") {
			t.Errorf("a key of %q: %v", text, err)
		}
	}
	if _, err := parseClusterFlags(t, "--gossip-key-file", file+"x").config("127.0.0.1:1", "", false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Whoever can be reached by strangers lets in only machines that it can tell from
// them.
func TestClosed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(make([]byte, 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		listen   string
		insecure bool
		args     []string
		closed   bool
	}{
		{"127.0.0.1:1", false, nil, false},
		{"0.0.0.0:1", false, nil, true},
		{"10.0.0.1:1", false, nil, true},
		{"0.0.0.0:1", true, nil, false},
		{"0.0.0.0:1", false, []string{"--gossip-key-file", file}, false},
		{"0.0.0.0:1", false, []string{"--ca", "1", "--cert", "2", "--key", "3"}, false},
	} {
		c, err := parseClusterFlags(t, test.args...).config(test.listen, "", test.insecure)
		if err != nil || c.Closed != test.closed {
			t.Errorf("%s, %v, %q: closed %v, %v", test.listen, test.insecure, test.args, c.Closed, err)
		}
	}
}

// What nodes prove to have follows from the gossip key and the token; with certificates
// from the gossip key alone.
func TestSecretOfNodes(t *testing.T) {
	key, other := bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{8}, 32)
	tls := &clusterFlags{CA: "ca", Cert: "c", Key: "k"}
	secret := func(f *clusterFlags, key []byte, token string) string {
		t.Helper()
		s, err := f.secret(key, token)
		if err != nil {
			t.Fatal(err)
		}
		return string(s)
	}
	plain := &clusterFlags{}
	seen := map[string]string{}
	for name, s := range map[string]string{
		"key": secret(plain, key, ""), "token": secret(plain, nil, "t"), "another token": secret(plain, nil, "u"),
		"key and token": secret(plain, key, "t"), "another key and token": secret(plain, other, "t"), "key and another token": secret(plain, key, "u"),
		"a token that begins with the key": secret(plain, nil, string(key)+"t"),
	} {
		if was, ok := seen[s]; ok || len(s) != 32 {
			t.Errorf("the secret of %s is that of %q, or %d bytes", name, was, len(s))
		}
		seen[s] = name
	}
	if secret(plain, nil, "") != "" || secret(tls, nil, "t") != "" || secret(tls, key, "t") != string(key) {
		t.Error("a secret without a token, or a token beside certificates")
	}
	if got := (serveTokens{"c", "o"}).node() + (serveTokens{client: "c"}).node() + (serveTokens{operator: "o"}).node(); got != "oco" {
		t.Errorf("nodes have the tokens %s", got)
	}
}
