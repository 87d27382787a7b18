// Tests of the file of users and of trefoil users.

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/password"
	"github.com/trefoildb/trefoil/internal/testing/oidctest"
	"github.com/trefoildb/trefoil/node"
)

func TestReadUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.toml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# users\n[bob]\nhash = \"h\"\nroles = [\"write\"]\nwrite-graphs = [\"default\"]\n[\"a@b\"]\nhash = \"i\"\noidc = [\"c\"]\nroles = [\"read\", \"load\"]\n")
	got, err := readUsers(file)
	want := []node.User{{Name: "a@b", Hash: "i", OIDC: []string{"c"}, Roles: []string{"read", "load"}}, {Name: "bob", Hash: "h", Roles: []string{"write"}, WriteGraphs: []string{"default"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, words := range map[string]string{
		"":                                    "has no users",
		"[a]\npassword = \"x\"":               "unknown key a.password",
		"[a]\nread-graphs = []":               "read-graphs of a is empty",
		"[a]\nhash = \"x\"\n[a]":              "a",
		"hash = \"x\"":                        "users.toml",
		"[a]\nhash = \"x\nroles = [\"read\"]": "line 2",
	} {
		write(text)
		if _, err := readUsers(file); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", text, err, words)
		}
	}
	if _, err := readUsers(file + "?"); err == nil {
		t.Error("a missing file is read")
	}
}

// TestUsersHash: the printed hash is of the first line, without its end.
func TestUsersHash(t *testing.T) {
	for input, want := range map[string]string{"secret word\n": "secret word", "secret\r\nmore": "secret", "s": "s", "": "", strings.Repeat("x", password.MaxBytes+1): ""} {
		var out strings.Builder
		err := (&usersHashCmd{}).Run(&env{stdin: strings.NewReader(input), stdout: &out})
		if want == "" {
			if err == nil {
				t.Errorf("%.10q is accepted", input)
			}
			continue
		}
		hash, parseErr := password.Parse(strings.TrimSuffix(out.String(), "\n"))
		if err != nil || parseErr != nil || !hash.Verify(want) {
			t.Errorf("%q: %s %v %v", input, out.String(), err, parseErr)
		}
	}
}

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
		o, err := parseServe(t, c.flags...).options()
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", c.flags, err, c.words)
		}
		if err == nil && (o.OIDC.Claim != "sub" || o.OIDC.Keys == nil) {
			t.Errorf("%+v", o.OIDC)
		}
	}
}
