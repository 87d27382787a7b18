// Tests of the file of users and of trefoil users.

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/oidctest"
)

// TestTokensInCluster: each node verifies the tokens that it gets, by keys that it reads from the issuer, and asks
// others for the rows.
func TestTokensInCluster(t *testing.T) {
	k, key := newKeys(t), oidctest.NewKey(t, "a")
	var reads atomic.Int64
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reads.Add(1)
		_, _ = w.Write(oidctest.JWKS(t, key))
	}))
	defer issuer.Close()
	flags := []string{"--gossip-key-file", k.file("own.key"), "--users", write(t, "users", "[writers]\noidc = [\"staff\"]\nroles = [\"write\"]\n"),
		"--oidc-issuer", oidctest.Issuer, "--oidc-audience", oidctest.Audience, "--oidc-claim", "groups", "--oidc-jwks", issuer.URL + "/keys"}
	first, _ := serveNode(t, flags...)
	second, _ := serveNode(t, append(flags, "--join", first)...)
	staff, others := write(t, "staff", key.Token(t, "carol", "staff")), write(t, "others", key.Token(t, "dora", "others"))
	for i, node := range []string{first, second} {
		want(t, exitDone, "added 1", "update", "--to", node, "--token-file", staff, fmt.Sprintf("INSERT DATA { <urn:a> <urn:b> %d }", i))
		want(t, exitFailed, "oidc:dora has no rights", "count", "--to", node, "--token-file", others)
	}
	for _, node := range []string{first, second} {
		want(t, exitDone, "2\n", "count", "--to", node, "--token-file", staff)
	}
	if n := reads.Load(); n != 2 {
		t.Errorf("the keys were read %d times, want once by each node", n)
	}
}

// TestOIDCFlags: flags that do not fit are errors of usage, and name what is missing.
func TestOIDCFlags(t *testing.T) {
	users, keys := write(t, "users", "[a]\noidc = [\"x\"]\nroles = [\"read\"]\n"), write(t, "keys", string(oidctest.JWKS(t, oidctest.NewKey(t, "a"))))
	all := []string{"--users", users, "--oidc-issuer", "i", "--oidc-audience", "a", "--oidc-jwks", keys}
	for _, c := range []struct {
		flags []string
		words string
	}{
		{all, ""},
		{all[:2], "--oidc-issuer"},
		{all[2:], "--users"},
		{all[:6], "https://HOST/PATH"}, // i has no configuration
		{all[:4], "--oidc-audience go together"},
		{append(all[:6:6], "--oidc-jwks", keys+"?"), "no such file"},
		{append(all[:6:6], "--oidc-jwks", users), "no JWK set"},
		{append(all[:6:6], "--oidc-jwks", "http://issuer.example/keys"), "https://HOST/PATH"},
	} {
		o, err := parseServe(t, c.flags...).Options()
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", c.flags, err, c.words)
		}
		if err == nil && (o.OIDC.Claim != "sub" || o.OIDC.Keys == nil) {
			t.Errorf("%+v", o.OIDC)
		}
	}
}
