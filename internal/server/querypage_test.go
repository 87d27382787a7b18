// The query page at the root.

package server

import (
	"net/http"
	"strings"
	"testing"
)

// The page needs no token, and may run nothing but its own script.
func TestQueryPage(t *testing.T) {
	s, _ := serveTriples(t, "", Options{Token: "sesame"})
	got := s.get("/")
	if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
		t.Fatalf("answered %d %s", got.status, got.header.Get("Content-Type"))
	}
	policy := got.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q lacks %q", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy %q lets foreign code run", policy)
	}
	for _, outside := range []string{"src=\"http", "href=\"http", "@import", "url(http"} {
		if strings.Contains(got.body, outside) {
			t.Errorf("the page takes something from elsewhere: %s", outside)
		}
	}
	if head := s.do(http.MethodHead, "/", ""); head.status != http.StatusOK || head.body != "" {
		t.Errorf("HEAD: %d %q", head.status, head.body)
	}
	if got := s.get("/nosuch"); got.status != http.StatusUnauthorized {
		t.Errorf("a path without a endpoint, without a token: %d", got.status)
	}
}
