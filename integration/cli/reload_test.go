// Tests of SIGHUP: tokens, certificates and JSON-LD contexts are read again.

package cli

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/oidctest"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestReload: SIGHUP replaces the tokens of a running server. A file that cannot be used changes
// nothing, and the log says so.
func TestReload(t *testing.T) {
	token, operator := file(t, "token", "first\n"), file(t, "operator", "boss\n")
	apps := file(t, "apps", "mail secret-1\n")
	s := serve(t, "--data", filepath.Join(t.TempDir(), "store"), "--token-file", token, "--operator-token-file", operator, "--application-tokens-file", apps)
	count := func(given string, want int) {
		t.Helper()
		trefoil(t, "count", "--to", s.url, "--token-file", file(t, "given", given)).mustCode(t, want)
	}
	write := func(path, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	count("first", done)
	write(token, "second\n")
	write(apps, "mail secret-2\n")
	count("first", done) // nothing changes before the signal
	s.signal(t, syscall.SIGHUP)
	s.waitFor(t, `level=INFO msg="(the tokens were read again)"`)
	for given, want := range map[string]int{"first": failed, "second": done, "secret-1": failed, "secret-2": done, "boss": done} {
		count(given, want)
	}
	for path, text := range map[string]string{token: "two words\n", apps: "mail second\n"} {
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		write(path, text)
		said := strings.Count(s.Said(), "cannot be used")
		s.signal(t, syscall.SIGHUP)
		for strings.Count(s.Said(), "cannot be used") == said {
			<-s.More
		}
		if !strings.Contains(s.Said(), `level=ERROR msg="the new tokens cannot be used`) {
			t.Errorf("no error:\n%s", s.Said())
		}
		count("second", done)
		count("secret-2", done)
		write(path, string(before))
	}
	s.stop(t)
}

// TestReloadCertificates: SIGHUP reads the certificates, too, and keeps those before if new ones are broken.
func TestReloadCertificates(t *testing.T) {
	dir := t.TempDir()
	trefoil(t, "cert", "ca", "--out", dir).mustCode(t, done)
	trefoil(t, "cert", "node", "--out", dir, "--host", "127.0.0.1", "n1").mustCode(t, done)
	cert, key := filepath.Join(dir, "n1.crt"), filepath.Join(dir, "n1.key")
	p := start(t, nil, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "store"), "--ca", filepath.Join(dir, "ca.crt"), "--cert", cert, "--key", key)
	url, ok := p.waitFor(t, `(https://127\.0\.0\.1:\d+)`)
	if !ok {
		t.Fatalf("serve ended: %s", p.Said())
	}
	serial := func() string {
		t.Helper()
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true}) // only the number is read
		require.NoError(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := serial()
	whole, err := os.ReadFile(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(key, whole[:len(whole)/2], 0o600))
	p.signal(t, syscall.SIGHUP)
	p.waitFor(t, `level=ERROR msg="(the new certificates cannot be used)`)
	if serial() != first {
		t.Error("a broken certificate changed something")
	}
	p.signal(t, syscall.SIGTERM)
	p.wait(t).mustCode(t, done)
}

// TestReloadKeys: SIGHUP reads the keys of the issuer of tokens again, which commands send as any token.
func TestReloadKeys(t *testing.T) {
	before, after := oidctest.NewKey(t, "a"), oidctest.NewKey(t, "b")
	keys, log := file(t, "keys.json", string(oidctest.JWKS(t, before))), filepath.Join(t.TempDir(), "audit")
	users := file(t, "users.toml", "[readers]\noidc = [\"staff\", \"guests\"]\nroles = [\"read\"]\n[writers]\noidc = [\"staff-w\"]\nroles = [\"write\"]\n")
	s := serve(t, "--data", filepath.Join(t.TempDir(), "store"), "--users", users, "--audit-log", log,
		"--oidc-issuer", oidctest.Issuer, "--oidc-audience", oidctest.Audience, "--oidc-claim", "groups", "--oidc-jwks", keys)
	as := func(token string, want int, words string, args ...string) {
		t.Helper()
		got := trefoil(t, append(args, "--to", s.url, "--token-file", file(t, "given", token))...)
		if got.code != want || !strings.Contains(got.stdout+got.stderr, words) {
			t.Errorf("%s: code %d, want %d %s\n%s%s", args, got.code, want, words, got.stdout, got.stderr)
		}
	}
	insert := []string{"update", "INSERT DATA { <urn:a> <urn:b> <urn:c> }"}
	as(before.Token(t, "carol", "staff-w"), done, "added 1", insert...)
	as(before.Token(t, "dora", "staff"), failed, "needs the role write, and the user oidc:dora has read", insert...)
	as(before.Token(t, "dora", "staff"), done, "1", "count")
	as(after.Token(t, "dora", "staff"), failed, "no key with the token's kid", "count")
	replace := func(text, line string) {
		t.Helper()
		require.NoError(t, os.WriteFile(keys, []byte(text), 0o600))
		s.signal(t, syscall.SIGHUP)
		s.waitFor(t, line)
	}
	replace("{}", `level=ERROR msg="(the new tokens cannot be used).*no key of the JWK set can be used`)
	as(before.Token(t, "dora", "staff"), done, "1", "count")
	replace(string(oidctest.JWKS(t, after)), `level=INFO msg="(the tokens were read again)"`)
	as(before.Token(t, "dora", "staff"), failed, "no key with the token's kid", "count")
	as(after.Token(t, "dora", "staff"), done, "1", "count")
	s.stop(t)
	text, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(text), `"user":"user:oidc:carol"`) || !strings.Contains(string(text), `"user":"user:oidc:dora"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestReloadContexts: SIGHUP reads the directory of JSON-LD contexts again, and keeps those before if a file is wrong.
func TestReloadContexts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("contexts.json", `{"urn:other":"name.jsonld"}`)
	write("name.jsonld", `{"@context":{"name":"http://schema.org/name"}}`)
	s := serve(t, "--data", filepath.Join(t.TempDir(), "store"), "--jsonld-contexts", dir)
	document := file(t, "x.jsonld", `{"@context":"urn:c","@id":"http://e/s","name":"x"}`)
	trefoil(t, "load", "--to", s.url, document).mustCode(t, failed)
	write("contexts.json", `{"urn:c":"name.jsonld"}`)
	s.signal(t, syscall.SIGHUP)
	s.waitFor(t, `level=INFO msg="(the tokens were read again)"`)
	trefoil(t, "load", "--to", s.url, document).mustCode(t, done)
	write("contexts.json", `{"urn:d":"name.jsonld","urn:c":"missing.jsonld"}`)
	s.signal(t, syscall.SIGHUP)
	s.waitFor(t, `level=ERROR msg="(the new JSON-LD contexts cannot be used, those read before still are)"`)
	trefoil(t, "load", "--to", s.url, document).mustCode(t, done)
	s.stop(t)
}
