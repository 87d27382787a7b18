// Requests of web pages of other origins.

package server

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/sparql"
)

const (
	pageOrigin    = "https://app.example.org"
	strangeOrigin = "https://evil.example.com"
)

func TestCORS(t *testing.T) {
	add := []string{"Content-Type", "application/n-triples"}
	for _, test := range []struct {
		name, origin, origins string
		allow, credentials    string // of an answer
		write                 int    // status of a POST to /triples
	}{
		{"none", pageOrigin, "", "", "", 403},
		{"no origin", "", pageOrigin, "", "", 200},
		{"named", pageOrigin, "https://other.example.org," + pageOrigin, pageOrigin, "true", 200},
		{"stranger", strangeOrigin, pageOrigin, "", "", 403},
		{"null", "null", pageOrigin, "", "", 403},
		{"all", strangeOrigin, "*", "*", "", 403},
		{"all and named", pageOrigin, "*," + pageOrigin, pageOrigin, "true", 200},
		{"all and stranger", strangeOrigin, "*," + pageOrigin, "*", "", 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			var origins []string
			if test.origins != "" {
				origins = strings.Split(test.origins, ",")
			}
			s, _ := serveTriples(t, people, Options{AllowOrigins: origins})
			var from []string
			if test.origin != "" {
				from = []string{"Origin", test.origin}
			}
			check := func(what string, got answer, status int) {
				t.Helper()
				if got.status != status {
					t.Errorf("%s: %d %s", what, got.status, got.body)
				}
				if allow := got.header.Get("Access-Control-Allow-Origin"); allow != test.allow {
					t.Errorf("%s: allowed %q, want %q", what, allow, test.allow)
				}
				if c := got.header.Get("Access-Control-Allow-Credentials"); c != test.credentials {
					t.Errorf("%s: credentials %q, want %q", what, c, test.credentials)
				}
				if varies := strings.Contains(strings.Join(got.header.Values("Vary"), ","), "Origin"); varies != (len(origins) > 0 && test.origins != "*") {
					t.Errorf("%s: Vary %q", what, got.header.Values("Vary"))
				}
			}
			check("read", s.get("/triples", from...), 200)
			check("query", s.do("POST", "/sparql", `ASK {}`, append(from, "Content-Type", sparql.TypeQuery)...), 200)
			check("error", s.get("/triples?x=y", from...), 400)
			check("write", s.do("POST", "/triples", `<http://ex/s> <http://ex/p> "o" .`, append(from, add...)...), test.write)
			check("update", s.do("POST", "/sparql", `CLEAR GRAPH <http://ex/g1>`, append(from, "Content-Type", sparql.TypeUpdate)...), test.write)
			check("update by form", s.do("POST", "/sparql", `update=CLEAR+DEFAULT`, append(from, "Content-Type", sparql.TypeForm)...), test.write)
			preflight := s.do("OPTIONS", "/triples", "", append(from, "Access-Control-Request-Method", "DELETE",
				"Access-Control-Request-Headers", "authorization,content-type")...)
			check("preflight", preflight, 204)
			allowed := test.allow != ""
			if methods := preflight.header.Get("Access-Control-Allow-Methods"); strings.Contains(methods, "DELETE") != allowed {
				t.Errorf("methods %q", methods)
			}
			if names := preflight.header.Get("Access-Control-Allow-Headers"); (names == "authorization,content-type") != allowed {
				t.Errorf("headers %q", names)
			}
		})
	}
}

// A preflight has no token, and gets no more than what every endpoint takes.
func TestPreflight(t *testing.T) {
	s, _ := serveTriples(t, people, Options{Token: "secret", AllowOrigins: []string{pageOrigin}})
	got := s.do("OPTIONS", "/sparql", "", "Origin", pageOrigin, "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "x(y)")
	if got.status != 204 || got.header.Get("Access-Control-Allow-Headers") != "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	for path := range s.api.endpoints {
		got := s.do("OPTIONS", path, "")
		if got.status != 204 || !strings.Contains(got.header.Get("Allow"), "OPTIONS") || got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
	}
	s.do("OPTIONS", "/nowhere", "").wantError(t, 401, problem.KindUnauthorized, "Authorization", "token")
	got = s.get("/sparql", "Origin", pageOrigin)
	if got.status != 401 || got.header.Get("Access-Control-Allow-Origin") != pageOrigin {
		t.Errorf("a page cannot read that it needs a token: %d %v", got.status, got.header)
	}
}

func TestAllowOrigins(t *testing.T) {
	for origin, good := range map[string]bool{
		"*": true, pageOrigin: true, "http://localhost:8080": true, "http://[::1]:8080": true,
		"": false, "app.example.org": false, pageOrigin + "/": false, pageOrigin + "/app": false, "ftp://example.org": false,
		"https://*.example.org": false, "https://a b": false, "null": false, "https://user@example.org": false, pageOrigin + "?x": false,
	} {
		err := Options{AllowOrigins: []string{origin}}.Validate()
		if (err == nil) != good {
			t.Errorf("%q: %v", origin, err)
		}
	}
}
