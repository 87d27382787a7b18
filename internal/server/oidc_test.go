// Tests of tokens of OpenID Connect at the endpoints.

package server

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/audit"
	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/internal/oidc"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/oidctest"
)

// fromKeys returns the options of an issuer with keys.
func fromKeys(t *testing.T, keys ...oidctest.Key) oidc.Options {
	return oidc.Options{Issuer: oidctest.Issuer, Audience: oidctest.Audience, Claim: "groups", Keys: oidctest.JWKS(t, keys...)}
}

// bearer returns the header of a token.
func bearer(t *testing.T, key oidctest.Key, subject string, groups ...string) []string {
	return []string{"Authorization", "Bearer " + key.Token(t, subject, groups...)}
}

// inGroups returns a user without a password.
func inGroups(name string, groups []string, roles ...string) access.User {
	return access.User{Name: name, OIDC: groups, Roles: roles}
}

// TestTokensOfIssuer: a token has the rights of all users whose values it has, beside passwords and the tokens of the
// node, and a name of its own in the audit log and for idempotency keys.
func TestTokensOfIssuer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	log, err := audit.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	key := oidctest.NewKey(t, "a")
	one, two := inGroups("one", []string{"one"}, "write"), inGroups("two", []string{"two"}, "read")
	one.WriteGraphs, two.ReadGraphs = []string{"urn:g:1"}, []string{"urn:g:2"}
	alice := newUser("alice", "read")
	alice.OIDC = []string{"readers", "everyone"}
	s, _ := serveTriples(t, "<urn:s> <urn:p> \"1\" <urn:g:1> .\n<urn:s> <urn:p> \"2\" <urn:g:2> .\n<urn:s> <urn:p> \"3\" <urn:g:3> .\n", Options{
		Audit: log, Token: "client", OIDC: fromKeys(t, key),
		Users: []access.User{alice, inGroups("loaders", []string{"loaders"}, "load"), inGroups("admins", []string{"admins"}, "admin"), one, two},
	})
	change := func(headers []string, graph string) (status int, text string) {
		t.Helper()
		got := s.do("POST", "/triples", "<urn:a> <urn:b> <urn:c> <"+graph+"> .", append(headers, "Content-Type", "application/n-quads")...)
		return got.status, got.body
	}
	for _, c := range []struct {
		groups                []string
		count                 string // of /count, or words of its error
		status, write1, load1 int
		admin                 int
	}{
		{nil, "oidc:carol has no rights", 403, 403, 403, 403},
		{[]string{"alice", "x"}, "of the token's claim groups", 403, 403, 403, 403}, // the name of a user is no value
		{[]string{"everyone"}, `"count":3`, 200, 403, 403, 403},
		{[]string{"everyone", "readers", "loaders"}, `"count":3`, 200, 403, 200, 403},
		{[]string{"loaders"}, "needs the role read, and the user oidc:carol has load", 403, 403, 200, 403},
		{[]string{"one"}, `"count":1`, 200, 200, 403, 403},
		{[]string{"one", "two"}, `"count":2`, 200, 200, 403, 403},
		{[]string{"two", "readers"}, `"count":3`, 200, 403, 403, 403}, // the second one may do no less
		{[]string{"readers", "one"}, "it must be of one of them", 403, 403, 403, 403},
		{[]string{"one", "admins"}, `"count":3`, 200, 200, 200, 200},
	} {
		headers := bearer(t, key, "carol", c.groups...)
		if got := s.get("/count", headers...); got.status != c.status || !strings.Contains(got.body, c.count) {
			t.Errorf("%s: %d %s, want %d %s", c.groups, got.status, got.body, c.status, c.count)
		}
		if status, text := change(headers, "urn:g:1"); status != c.write1 {
			t.Errorf("%s: a change is %d %s, want %d", c.groups, status, text, c.write1)
		}
		if got := s.do("DELETE", "/triples?p=%3Curn:b%3E&g=%3Curn:g:1%3E", "", "Authorization", "Bearer client"); got.status != 200 {
			t.Fatal(got.body)
		}
		if got := s.do("POST", "/load", "", append(headers, "Content-Type", "application/n-quads")...); got.status != c.load1 {
			t.Errorf("%s: a load is %d %s, want %d", c.groups, got.status, got.body, c.load1)
		}
		if got := s.get("/queries", headers...); got.status != c.admin {
			t.Errorf("%s: queries are %d %s, want %d", c.groups, got.status, got.body, c.admin)
		}
	}
	// 1. Others keep their rights, and what is no token of the issuer is refused with the reason.
	for _, c := range []struct {
		status  int
		words   string
		headers []string
	}{
		{200, "", []string{"Authorization", "Bearer client"}},
		{200, "", basic("alice", "alice")},
		{200, "", []string{"Authorization", "Bearer alice:alice"}},
		{401, "password is wrong", basic("one", "")},
		{401, "neither one of this node's nor a signed JWT", []string{"Authorization", "Bearer client2"}},
		{401, "no key with the token's kid", bearer(t, oidctest.NewKey(t, "b"), "carol", "admins")},
		{401, "wants a user's name", nil},
	} {
		if got := s.get("/count", c.headers...); got.status != c.status || !strings.Contains(got.body, c.words) {
			t.Errorf("%s: %d %s, want %d %s", c.headers, got.status, got.body, c.status, c.words)
		}
	}
	// 2. The audit log has the subject, also if it has no rights.
	for name, headers := range map[string][]string{
		`"user":"user:oidc:dora"`: bearer(t, key, "dora", "admins"), `"user":"user:oidc:emil"`: bearer(t, key, "emil"),
	} {
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		change(headers, "urn:g:4")
		s.idle()
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), name) || strings.Contains(string(text), "Bearer") {
			t.Errorf("%s, %v: want %s", text, err, name)
		}
	}
	// 3. Two subjects with one key of idempotency make two changes, although they have the same rights.
	for i, subject := range []string{"dora", "dora", "emil"} {
		got := s.do("POST", "/data", "<urn:s> <urn:p> <urn:o> .", append(bearer(t, key, subject, "admins"), "Content-Type", "text/turtle", "Idempotency-Key", "k")...)
		if got.status != http.StatusCreated {
			t.Errorf("request %d: %d %s", i, got.status, got.body)
		}
	}
	if got := s.get(target("/sparql", "query", "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p <urn:o> } }"), append(basic("alice", "alice"), "Accept", "text/csv")...); strings.Count(got.body, "/data/") != 2 {
		t.Errorf("the graphs are %s", got.body)
	}
}

// TestKeysReplaced: new keys of a file count for the next request, and wrong ones change nothing.
func TestKeysReplaced(t *testing.T) {
	before, after := oidctest.NewKey(t, "a"), oidctest.NewKey(t, "b")
	users := []access.User{inGroups("readers", []string{"readers"}, "read")}
	s := serve(t, newStore(t), Options{Users: users, OIDC: fromKeys(t, before)}, ServerOptions{})
	check := func(key oidctest.Key, status int) {
		t.Helper()
		if got := s.get("/count", bearer(t, key, "carol", "readers")...); got.status != status {
			t.Errorf("%d %s, want %d", got.status, got.body, status)
		}
	}
	check(before, 200)
	check(after, 401)
	for _, bad := range []Tokens{{Users: users, OIDCKeys: []byte("{}")}, {Users: users}, {OIDCKeys: oidctest.JWKS(t, after)}} {
		if err := s.api.SetTokens(bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	check(before, 200)
	if err := s.api.SetTokens(Tokens{Users: users, OIDCKeys: oidctest.JWKS(t, after)}); err != nil {
		t.Fatal(err)
	}
	check(before, 401)
	check(after, 200)
}

// TestKeysMissing: while the server of keys fails, tokens of the issuer are refused as something to try again, and
// passwords count. A reload keeps the keys that were read.
func TestKeysMissing(t *testing.T) {
	key := oidctest.NewKey(t, "a")
	fails := make(chan bool, 1)
	fails <- true
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if <-fails {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write(oidctest.JWKS(t, key))
	}))
	defer keys.Close()
	o := fromKeys(t, key)
	o.Keys, o.KeysURL = nil, keys.URL
	now := time.Now()
	o.Now = func() time.Time { return now }
	users := []access.User{inGroups("readers", []string{"readers"}, "read"), newUser("alice", "read")}
	log := new(logged)
	o.Logger = logs.New(log, true, 0)
	s := serve(t, newStore(t), Options{Users: users, OIDC: o}, ServerOptions{})
	await.Condition(t, "the start says that the keys cannot be read", func() bool {
		return slices.ContainsFunc(log.take(t), func(line map[string]any) bool {
			return line["level"] == "ERROR" && strings.Contains(line["msg"].(string), "cannot be read")
		})
	})
	got := s.get("/count", bearer(t, key, "carol", "readers")...)
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, "cannot be read") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.get("/count", basic("alice", "alice")...); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	now = now.Add(time.Minute)
	fails <- false
	for range 2 {
		if got := s.get("/count", bearer(t, key, "carol", "readers")...); got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
		if err := s.api.SetTokens(Tokens{Users: users}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBadTokenUsers: users and an issuer that do not fit are errors.
func TestBadTokenUsers(t *testing.T) {
	o := fromKeys(t, oidctest.NewKey(t, "a"))
	for words, options := range map[string]Options{
		"need users":          {OIDC: o},
		"no issuer is given":  {Users: []access.User{inGroups("a", []string{"x"}, "read")}},
		"there twice":         {OIDC: o, Users: []access.User{inGroups("a", []string{"x"}, "read"), inGroups("b", []string{"x"}, "read")}},
		`"" of oidc is empty`: {OIDC: o, Users: []access.User{inGroups("a", []string{""}, "read")}},
		"trefoil users hash":  {OIDC: o, Users: []access.User{inGroups("a", nil, "read")}},
		"https://HOST/PAT":    {OIDC: oidc.Options{Issuer: "i", Audience: "a"}, Users: []access.User{newUser("a", "read")}},
	} {
		if _, err := New(newStore(t), options); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
}
