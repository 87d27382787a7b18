// The cluster flags of serve.

package cli

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/serve"
)

// parseServe reads the flags of serve.
func parseServe(t *testing.T, args ...string) *serve.Cmd {
	t.Helper()
	g := new(grammar)
	parser := newParser(g, io.Discard, io.Discard, func(int) { t.Fatal("exits") })
	if _, err := parser.Parse(append([]string{"serve", "--data", t.TempDir()}, args...)); err != nil {
		t.Fatal(err)
	}
	return &g.Serve
}

func TestClusterFlags(t *testing.T) {
	const loopback = "127.0.0.1:7333"
	tls := []string{"--ca", "ca.crt", "--cert", "n.crt", "--key", "n.key"}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
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
		{loopback, false, []string{"--join", "10.0.0.2:7333"}, "in the clear with any process that answers at 10.0.0.2:7333"},
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
		{loopback, false, []string{"--copies", "0"}, "--copies 0"},
		{loopback, false, []string{"--copies", "9"}, "--copies"},
		{loopback, false, []string{"--max-queries", "0"}, "--max-queries 0"},
		{loopback, false, []string{"--max-queries", "-1"}, "--max-queries -1"},
		{loopback, false, []string{"--max-nesting", "0"}, "--max-nesting 0"},
		{loopback, false, []string{"--max-nesting", "-1"}, "--max-nesting -1"},
		{loopback, false, []string{"--link-copies", "0"}, ""},
		{loopback, false, []string{"--link-copies", "5"}, "--link-copies: 5 is not 0 to 4"},
		{loopback, false, []string{"--link-copies=-2"}, "--link-copies: -2 is not 0 to 4"},
	} {
		args := append([]string{"--listen", test.listen, "--token-file", token}, test.args...)
		if test.insecure {
			args = append(args, "--insecure")
		}
		_, err := parseServe(t, args...).Options()
		var usage console.UsageError
		if test.says == "" && err != nil || test.says != "" && (!errors.As(err, &usage) || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("listening at %s, %q: %v, want %q", test.listen, test.args, err, test.says)
		}
	}
	_, err := parseServe(t, "--listen", "0.0.0.0:7333").Options()
	var usage console.UsageError
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "give --token-file or --users, or --insecure where the network is trusted") {
		t.Errorf("without a token: %v", err)
	}
}

func TestClusterOptions(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parseServe(t, "--join", "a:1,b:2", "--join", "c:3", "--advertise", "d:4", "--spare", "--ca", "1", "--cert", "2", "--key", "3",
		"--gossip-key-file", file).Options()
	if err != nil {
		t.Fatal(err)
	}
	c := o.Cluster
	if c.Name != "trefoil" || c.Advertise != "d:4" || !slices.Equal(c.Join, []string{"a:1", "b:2", "c:3"}) || !c.Spare ||
		c.CA != "1" || c.Cert != "2" || c.Key != "3" || !bytes.Equal(c.GossipKey, key) || c.FailureTimeout != 3*time.Second {
		t.Errorf("%+v", c)
	}
	if c.PurgeEvery != 10*time.Minute || c.LinkCopies != 0 || o.QueryTimeout != time.Minute {
		t.Errorf("%+v", o)
	}
	o, err = parseServe(t, "--purge-every", "0s", "--scrub-every", "0s", "--link-copies", "0", "--query-timeout", "0s").Options()
	if c := o.Cluster; err != nil || c.PurgeEvery >= 0 || c.ScrubEvery >= 0 || c.LinkCopies != -1 || o.QueryTimeout >= 0 {
		t.Errorf("flags of 0: %+v, %v", o, err)
	}
	for _, text := range []string{"", "short", base64.StdEncoding.EncodeToString(key[:20]), strings.Repeat("!", 44)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := parseServe(t, "--gossip-key-file", file).Options(); err == nil || !strings.Contains(err.Error(), "base64") {
			t.Errorf("a key of %q: %v", text, err)
		}
	}
	if _, err := parseServe(t, "--gossip-key-file", file+"x").Options(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
