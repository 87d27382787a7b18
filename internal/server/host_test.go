// The Host header.

package server

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// A page whose host's name points at this machine gets nothing, although its
// requests are of one origin to the browser.
func TestRebinding(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		host, token, public string
		status              int
	}{
		{"127.0.0.1:7333", "", "", 200},
		{"localhost:7333", "", "", 200},
		{"LOCALHOST.", "", "", 200},
		{"app.localhost:7333", "", "", 200},
		{"[::1]:7333", "", "", 200},
		{"[::1]", "", "", 200},
		{"192.0.2.1", "", "", 200},
		{"[::ffff:127.0.0.1]:7333", "", "", 200},
		{"localhost:", "", "", 200},
		{own + ":7333", "", "", 200},
		{"db:7333", "", "", 403},
		{"com", "", "", 403},
		{"evil", "", "", 403},
		{"2130706433", "", "", 403},
		{"accepted", "", "", 200},
		{"Accepted.Example.:80", "", "", 200},
		{"not.accepted.example", "", "", 403},
		{"db:7333", "secret", "", 200},
		{"[::1", "", "", 400},
		{"[::1]7333", "", "", 400},
		{"[localhost]", "", "", 400},
		{"[127.0.0.1]", "", "", 400},
		{"::1", "", "", 400},
		{"localhost:abc", "", "", 400},
		{"localhost:65536", "", "", 400},
		{"localhost:-1", "", "", 400},
		{":7333", "", "", 400},
		{"[::1", "secret", "", 400},
		{"localhost:abc", "secret", "", 400},
		{"evil.example.com:7333", "", "", 403},
		{"127.0.0.1.evil.example.com", "", "", 403},
		{"localhost.evil.example.com", "", "", 403},
		{"data.example.org", "", "https://data.example.org/rdf", 200},
		{"data.example.org:80", "", "https://data.example.org/rdf", 200},
		{"evil.example.com", "", "https://data.example.org/rdf", 403},
		{"data.example.org", "secret", "", 200},
	} {
		s, _ := serveTriples(t, people, Options{Token: test.token, PublicURL: test.public, AcceptHosts: []string{"accepted", "accepted.example"}})
		for _, path := range []string{target("/sparql", "query", "ASK {}"), "/triples", "/healthz"} {
			r, err := http.NewRequest("GET", s.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = test.host
			if test.token != "" {
				r.Header.Set("Authorization", "Bearer "+test.token)
			}
			got, err := s.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			got.Body.Close()
			want := test.status
			if strings.HasPrefix(path, "/healthz") && want != 400 {
				want = 200
			}
			if got.StatusCode != want {
				t.Errorf("%s%s: %d, want %d", test.host, path, got.StatusCode, want)
			}
		}
	}
}

// A name that is to be accepted is one without a port.
func TestAcceptHosts(t *testing.T) {
	for name, ok := range map[string]bool{"db": true, "DB.example.org.": true, "10.0.0.1": true, "": false, "db:80": false, "a b": false, "http://a": false, "[::1": false} {
		if err := (Options{AcceptHosts: []string{name}}).Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
