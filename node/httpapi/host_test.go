package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

// A page whose host's name points at this machine gets nothing, although its
// requests are of one origin to the browser.
func TestRebinding(t *testing.T) {
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
		{"db:7333", "", "", 200},
		{"evil.example.com:7333", "", "", 403},
		{"127.0.0.1.evil.example.com", "", "", 403},
		{"localhost.evil.example.com", "", "", 403},
		{"data.example.org", "", "https://data.example.org/rdf", 200},
		{"data.example.org:80", "", "https://data.example.org/rdf", 200},
		{"evil.example.com", "", "https://data.example.org/rdf", 403},
		{"data.example.org", "secret", "", 200},
	} {
		s, _ := serveTriples(t, people, Options{Token: test.token, PublicURL: test.public})
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
			if strings.HasPrefix(path, "/healthz") {
				want = 200
			}
			if got.StatusCode != want {
				t.Errorf("%s%s: %d, want %d", test.host, path, got.StatusCode, want)
			}
		}
	}
}
