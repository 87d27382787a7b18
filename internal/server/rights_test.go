// Tests of what users and tokens may do, for every endpoint.

package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/crypto/argon2"

	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/links/linkstest"
)

// cheapHash returns a hash that costs little.
func cheapHash(password string) string {
	salt := []byte("somesalt")
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=19$m=8,t=1,p=1$%s$%s", encode(salt), encode(argon2.IDKey([]byte(password), salt, 1, 8, 1, 32)))
}

// newUser returns a user whose password is its name.
func newUser(name string, roles ...string) access.User {
	return access.User{Name: name, Hash: cheapHash(name), Roles: roles}
}

// basic returns the header of a user.
func basic(name, password string) []string {
	return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))}
}

// documentedRule is a row of the table of docs/api/users.md.
type documentedRule struct{ role, graphs, token string }

// documentedRules reads the table of docs/api/users.md.
func documentedRules(t *testing.T) map[string]documentedRule {
	_, table, ok := strings.Cut(docsPage(t, "users.md"), "| endpoint | role | some graphs | token |\n")
	if !ok {
		t.Fatal("docs/api/users.md has no table of rights")
	}
	all := map[string]documentedRule{}
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			break
		}
		for _, found := range regexp.MustCompile("`([A-Z]+ [^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			if _, twice := all[found[1]]; twice {
				t.Errorf("docs/api/users.md has %s twice", found[1])
			}
			all[found[1]] = documentedRule{strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3]), strings.TrimSpace(cells[4])}
		}
	}
	return all
}

// TestRights sends a request of everybody to every endpoint, and compares what happens with the table of docs/api/users.md.
func TestRights(t *testing.T) {
	limitedReader, limitedWriter := newUser("limited-reader", "read"), newUser("limited-writer", "write")
	limitedReader.ReadGraphs = []string{"default"}
	limitedWriter.WriteGraphs = []string{"default", exampleIRI + "g"}
	s := serveFunctions(t, Options{
		Links: linkstest.New(), Subscriptions: newRegistry(newStore(t)), Token: "client", OperatorToken: "operator",
		Users: []access.User{newUser("reader", "read"), newUser("writer", "write"), newUser("loader", "load"), newUser("admin", "admin"), newUser("both", "read", "load"), limitedReader, limitedWriter},
	})
	reads := func(r documentedRule) bool { return r.role == "read" }
	writes := func(r documentedRule) bool { return r.role == "read" || r.role == "write" }
	all, none := func(documentedRule) bool { return true }, func(documentedRule) bool { return false }
	callers := []struct {
		name    string
		headers []string
		status  int // if it may not
		may     func(documentedRule) bool
	}{
		{"nobody", nil, 401, none},
		{"a wrong password", basic("admin", "reader"), 401, none},
		{"no password", basic("admin", ""), 401, none},
		{"an unknown user", basic("nobody", "nobody"), 401, none},
		{"a name alone", []string{"Authorization", "Bearer admin"}, 401, none},
		{"another scheme", []string{"Authorization", "Digest admin:admin"}, 401, none},
		{"reader", basic("reader", "reader"), 403, reads},
		{"reader by Bearer", []string{"Authorization", "Bearer reader:reader"}, 403, reads},
		{"writer", basic("writer", "writer"), 403, writes},
		{"loader", basic("loader", "loader"), 403, func(r documentedRule) bool { return r.role == "load" }},
		{"both", basic("both", "both"), 403, func(r documentedRule) bool { return r.role == "load" || reads(r) }},
		{"admin", basic("admin", "admin"), 403, all},
		{"limited reader", basic("limited-reader", "limited-reader"), 403, func(r documentedRule) bool { return r.graphs == "yes" && reads(r) }},
		{"limited writer", basic("limited-writer", "limited-writer"), 403, func(r documentedRule) bool { return r.graphs == "yes" && writes(r) }},
		{"the clients' token", []string{"Authorization", "Bearer client"}, 401, func(r documentedRule) bool { return r.token != "operators" }},
		{"the operators' token", []string{"Authorization", "Bearer operator"}, 401, all},
	}
	documented := documentedRules(t)
	endpoints := s.api.Endpoints()
	if len(endpoints) != len(documented) || len(rules) != len(endpoints) {
		t.Errorf("%d endpoints, %d in docs/api/users.md, %d in the table of rights", len(endpoints), len(documented), len(rules))
	}
	for _, e := range endpoints {
		name := e.Method + " " + e.Path
		rule, ok := documented[name]
		if !ok {
			t.Errorf("docs/api/users.md does not have %s", name)
		}
		methods := []string{e.Method}
		if e.Method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		for _, c := range callers {
			for _, method := range methods {
				may := rule.role == "open" || c.may(rule)
				status, refused := s.isRefused(method, e.Path, c.headers)
				if refused == may || refused && status != c.status {
					t.Errorf("%s: %s %s: %d, refused %v, but docs/api/users.md has %+v", c.name, method, e.Path, status, refused, rule)
				}
			}
		}
	}
}

// isRefused sends a request without a body, and reports whether it was refused for its identity. It reads no
// stream to its end.
func (s *testServer) isRefused(method, path string, headers []string) (status int, refused bool) {
	s.t.Helper()
	got := s.open(method, path, nil, headers...)
	defer got.Body.Close()
	if method == http.MethodHead {
		return got.StatusCode, got.StatusCode == 401 || got.StatusCode == 403
	}
	var wire struct{ Error *problem.Error }
	if got.StatusCode == 401 || got.StatusCode == 403 {
		if err := json.NewDecoder(got.Body).Decode(&wire); err != nil {
			s.t.Fatal(err)
		}
	}
	return got.StatusCode, wire.Error != nil && wire.Error.Where == "Authorization"
}

// TestUsersAlone: users without a token are needed everywhere, also where without users only operators need a
// token, and new ones count for the next request.
func TestUsersAlone(t *testing.T) {
	s := serve(t, newStore(t), Options{Users: []access.User{newUser("reader", "read")}}, ServerOptions{})
	check := func(status int, path string, headers ...string) {
		t.Helper()
		if got := s.get(path, headers...); got.status != status {
			t.Errorf("%s %s: %d %s", path, headers, got.status, got.body)
		}
	}
	check(401, "/count")
	check(401, "/nowhere")
	check(200, "/healthz")
	check(200, "/count", basic("reader", "reader")...)
	check(404, "/nowhere", basic("reader", "reader")...)
	check(403, "/queries", basic("reader", "reader")...)
	check(401, "/count", "Authorization", "Bearer ")
	for _, bad := range []access.User{{}, {Name: "a:b"}, {Name: "a", Hash: "secret", Roles: []string{"read"}}, newUser("a"), newUser("a", "root")} {
		if err := s.api.SetTokens(Tokens{Users: []access.User{bad}}); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if err := s.api.SetTokens(Tokens{Users: []access.User{newUser("other", "admin")}}); err != nil {
		t.Fatal(err)
	}
	check(401, "/count", basic("reader", "reader")...)
	check(200, "/queries", basic("other", "other")...)
}

// TestIdempotencyOfUsers: two users with one key make two changes.
func TestIdempotencyOfUsers(t *testing.T) {
	s := serve(t, newStore(t), Options{Users: []access.User{newUser("a", "write"), newUser("b", "write")}}, ServerOptions{})
	for i, name := range []string{"a", "a", "b"} {
		got := s.do("POST", "/data", "<urn:s> <urn:p> <urn:o> .", append(basic(name, name), "Content-Type", "text/turtle", "Idempotency-Key", "k")...)
		if got.status != http.StatusCreated {
			t.Errorf("request %d: %d %s", i, got.status, got.body)
		}
	}
	if got := s.get(target("/sparql", "query", "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }"), append(basic("a", "a"), "Accept", "text/csv")...); strings.Count(got.body, "/data/") != 2 {
		t.Errorf("the graphs are %s", got.body)
	}
}
