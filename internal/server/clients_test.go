// Tests of what clients of other stores, browsers and scripts send.

package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestAliases checks that /query and /update answer as /sparql does, and that a slash at the end of a path is ignored.
func TestAliases(t *testing.T) {
	s, _ := serveTriples(t, many(), Options{})
	const query = "SELECT * { ?s ?p ?o } ORDER BY ?s LIMIT 3"
	want := s.get(target("/sparql", "query", query))
	for _, path := range []string{"/query", "/sparql/", "/query/"} {
		if got := s.get(target(path, "query", query)); got.status != http.StatusOK || got.body != want.body {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/update", "/update/", "/sparql"} {
		if got := s.do(http.MethodPost, path, "DELETE WHERE { <http://ex/s1> ?p ?o }", "Content-Type", "application/sparql-update"); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/triples/", "/count/", "/data/?default", "/healthz/"} {
		if got := s.get(path); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := s.get("/nothing/"); got.status != http.StatusNotFound {
		t.Errorf("/nothing/: %d", got.status)
	}
}

// TestBasic checks that the password of HTTP Basic is the token, and who is challenged to send it.
func TestBasic(t *testing.T) {
	s := serve(t, newStore(t), Options{Token: "secret", OperatorToken: "higher"}, ServerOptions{})
	for _, c := range []struct {
		user, password, path string
		status               int
	}{
		{"anybody", "secret", "/count", 200}, {"", "higher", "/count", 200}, {"secret", "", "/count", 401}, {"a", "secret ", "/count", 401},
		{"a", "secret", "/cluster/leave", 401}, {"a", "higher", "/cluster/leave", 409},
	} {
		method := http.MethodGet
		if c.path != "/count" {
			method = http.MethodPost
		}
		r, err := http.NewRequest(method, s.url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(c.user, c.password)
		if got := s.do(method, c.path, "", "Authorization", r.Header.Get("Authorization")); got.status != c.status {
			t.Errorf("%+v: %d %s", c, got.status, got.body)
		}
	}
	for mode, challenges := range map[string]int{"": 2, "navigate": 2, "cors": 1} {
		got := s.get("/count", "Sec-Fetch-Mode", mode).header.Values("WWW-Authenticate")
		if len(got) != challenges || !strings.HasPrefix(got[0], "Bearer") || challenges == 2 && !strings.HasPrefix(got[1], "Basic") {
			t.Errorf("Sec-Fetch-Mode %q: %q", mode, got)
		}
	}
}

// TestPageForBrowsers checks that a browser that navigates to data gets the page with the query, and that programs get data.
func TestPageForBrowsers(t *testing.T) {
	s, _ := serveTriples(t, many(), Options{})
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	const query = "SELECT * { ?s ?p 'é&#' } LIMIT 3"
	for _, c := range []struct{ target, accept, query string }{
		{target("/sparql", "query", query), browser, query},
		{target("/query", "query", query), "text/html", query},
		{"/sparql", browser, ""},
		{"/data", browser, "SELECT * WHERE {\n  { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } }\n}\nLIMIT 50"},
		{"/data?graph=http://g/1", browser, "SELECT * WHERE {\n  GRAPH <http://g/1> { ?s ?p ?o }\n}\nLIMIT 50"},
	} {
		got := s.get(c.target, "Accept", c.accept)
		to, fragment, _ := strings.Cut(got.header.Get("Location"), "#")
		values, err := url.ParseQuery(fragment)
		if got.status != http.StatusSeeOther || to != s.url+"/" || err != nil || values.Get("query") != c.query || got.header.Get("Vary") != "Accept" {
			t.Errorf("%s: %d %v", c.target, got.status, got.header)
		}
	}
	const java = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"
	for _, c := range [][2]string{{target("/sparql", "query", query), java}, {target("/sparql", "query", query, "format", "csv"), browser},
		{target("/sparql", "query", query), "text/html;q=0.5, text/csv"}, {target("/sparql", "query", query), "*/*"}} {
		if got := s.get(c[0], "Accept", c[1]); got.status != http.StatusOK {
			t.Errorf("%s for %s: %d", c[0], c[1], got.status)
		}
	}
}
