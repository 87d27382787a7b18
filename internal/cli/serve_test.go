// Tests of the flags of serve.

package cli

import (
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// TestServeFlagsDocumented: the page of a node, or that of clusters, names every flag of serve.
func TestServeFlagsDocumented(t *testing.T) {
	var pages []byte
	for _, page := range []string{"node.md", "cluster.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations", page))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, text...)
	}
	named := map[string]bool{}
	for _, flag := range regexp.MustCompile(`--[a-z][a-z-]*`).FindAll(pages, -1) {
		named[string(flag)] = true
	}
	count := 0
	for _, command := range newParser(new(grammar), io.Discard, io.Discard, nil).Model.Children {
		if command.Name != "serve" {
			continue
		}
		for _, flag := range command.Flags {
			count++
			if !named["--"+flag.Name] {
				t.Errorf("docs/operations/node.md has no row for --%s, and cluster.md does not name it", flag.Name)
			}
		}
	}
	if count < 50 {
		t.Errorf("serve has %d flags only", count)
	}
}

// TestServeFlagsCount: every flag of serve changes the options of the node.
func TestServeFlagsCount(t *testing.T) {
	seed.Slow(t)
	token, operators, key := write(t, "token", "client-token-1"), write(t, "operators", "operator-token-1"), write(t, "key", "0123456789abcdef")
	users := write(t, "users", "[readers]\noidc = [\"staff\"]\nroles = [\"read\"]\n")
	issuer := []string{"--users", users, "--oidc-issuer", "https://id.example.org", "--oidc-audience", "a"}
	certs := []string{"--ca", "ca.crt", "--cert", "n.crt", "--key", "n.key"}
	// 1. For each flag a value that is not the default, and what must be given with it.
	cases := map[string][]string{
		"data": nil, "config": nil, "log-format": nil, "log-level": nil, // not options of the node
		"listen":                  {"127.0.0.1:7999"},
		"read-only":               {"true"},
		"token-file":              {token},
		"operator-token-file":     {operators},
		"application-tokens-file": {write(t, "applications", "app application-token-1"), "--token-file", token},
		"users":                   append([]string{write(t, "others", "[others]\noidc = [\"others\"]\nroles = [\"read\"]\n")}, issuer...),
		"insecure":                {"true"},
		"cors":                    {"https://app.example.org"},
		"public-url":              {"https://data.example.org"},
		"accept-host":             {"data.example.org"},
		"webhook-host":            {"hooks.example.org", "--webhook-host", "example.org", "--webhook-key-file", key},
		"webhook-key-file":        {write(t, "other", "fedcba9876543210"), "--webhook-host", "example.org", "--webhook-key-file", key},
		"memory":                  {"3GiB"},
		"oidc-issuer":             append([]string{"https://other.example.org"}, issuer...),
		"oidc-audience":           append([]string{"b"}, issuer...),
		"oidc-jwks":               append([]string{"https://id.example.org/keys"}, issuer...),
		"oidc-claim":              append([]string{"groups"}, issuer...),
		"keep-free":               {"3GiB"},
		"feed-retention":          {"3GiB,48h"},
		"query-memory":            {"3MiB"},
		"column-memory":           {"3MiB"},
		"query-timeout":           {"3s"},
		"update-memory":           {"3MiB"},
		"max-queries":             {"3"},
		"max-nesting":             {"3"},
		"spill-dir":               {t.TempDir()},
		"union-default-graph":     {"true"},
		"allow-host":              {"example.org"},
		"jsonld-contexts":         {t.TempDir()},
		"link-predicate":          {"http://example.org/link"},
		"link-memory":             {"3MiB"},
		"text-memory":             {"3MiB"},
		"no-links":                {"true"},
		"link-copies":             {"3"},
		"advertise":               {"127.0.0.1:7998"},
		"join":                    {"127.0.0.1:7334"},
		"spare":                   {"true", "--join", "127.0.0.1:7334"},
		"copies":                  {"4"},
		"cluster":                 {"other"},
		"ca":                      append([]string{"other"}, certs...),
		"cert":                    append([]string{"other"}, certs...),
		"key":                     append([]string{"other"}, certs...),
		"gossip-key-file":         {write(t, "gossip", base64.StdEncoding.EncodeToString(make([]byte, 32)))},
		"failure-timeout":         {"5s"},
		"rebuild-share":           {"30"},
		"purge-every":             {"5m"},
		"scrub-every":             {"5h"},
		"scrub-rate":              {"3MiB"},
		"audit-log":               {filepath.Join(t.TempDir(), "audit")},
		"log-requests":            {"true"},
		"slow-query":              {"3s"},
		"trace-endpoint":          {"http://127.0.0.1:4318"},
		"trace-ratio":             {"0.5"},
	}
	// 2. Compare the options with and without the flag.
	for _, command := range newParser(new(grammar), io.Discard, io.Discard, nil).Model.Children {
		for _, flag := range command.Flags {
			args, ok := cases[flag.Name]
			switch {
			case command.Name != "serve" || flag.Name == "help" || ok && args == nil:
				continue
			case !ok:
				t.Errorf("--%s has no case", flag.Name)
				continue
			}
			before, err := parseServe(t, args[1:]...).Options()
			if err != nil {
				t.Errorf("%s: %v", args[1:], err)
			}
			after, err := parseServe(t, append(slices.Clone(args[1:]), "--"+flag.Name+"="+args[0])...).Options()
			if err != nil || reflect.DeepEqual(before, after) {
				t.Errorf("--%s=%s changes nothing, or fails: %v", flag.Name, args[0], err)
			}
		}
	}
}
