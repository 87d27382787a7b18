// The console at the root.

package server

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The page needs no token, and may run nothing but its own scripts and styles.
func TestConsole(t *testing.T) {
	s, _ := serveTriples(t, "", Options{Token: "sesame"})
	got := s.get("/")
	if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
		t.Fatalf("answered %d %s", got.status, got.header.Get("Content-Type"))
	}
	policy := got.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self' 'nonce-", "connect-src 'self';", "frame-ancestors 'none'"} {
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
	// A link that names a query is the page, too.
	if got := s.get("/?query=ASK%7B%7D&other=1"); got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
		t.Errorf("with a query: %d %s", got.status, got.body)
	}
	if got := s.get("/nosuch"); got.status != http.StatusUnauthorized {
		t.Errorf("a path without an endpoint, without a token: %d", got.status)
	}
}

// Each answer has its own nonce, and the page has the same.
func TestConsoleNonce(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	seen := map[string]bool{}
	for range 2 {
		got := s.get("/")
		nonce := regexp.MustCompile(`'nonce-([^']+)'`).FindStringSubmatch(got.header.Get("Content-Security-Policy"))
		if nonce == nil || len(nonce[1]) < 22 || seen[nonce[1]] {
			t.Fatalf("the nonces are %q", nonce)
		}
		seen[nonce[1]] = true
		if !strings.Contains(got.body, `content="`+nonce[1]+`"`) || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("the page lacks its nonce, or may be kept: %s %s", got.header.Get("Cache-Control"), got.body)
		}
	}
}

// The files of the page are there, without a token, and browsers ask whether they are current.
func TestConsoleFiles(t *testing.T) {
	s, _ := serveTriples(t, "", Options{Token: "sesame"})
	named := regexp.MustCompile(`(?:src|href)="(console/[^"]+)"`).FindAllStringSubmatch(s.get("/").body, -1)
	if len(named) != 2 {
		t.Fatalf("the page names %q", named)
	}
	for _, file := range named {
		got := s.get("/" + file[1])
		kind := map[bool]string{true: "text/css", false: "text/javascript"}[strings.HasSuffix(file[1], ".css")]
		if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), kind) || got.body == "" {
			t.Errorf("%s: %d %s", file[1], got.status, got.header.Get("Content-Type"))
		}
		tag := got.header.Get("Etag")
		if again := s.do(http.MethodGet, "/"+file[1], "", "If-None-Match", tag); tag == "" || again.status != http.StatusNotModified || again.body != "" {
			t.Errorf("%s again: %d", file[1], again.status)
		}
	}
	if got := s.get("/console/licenses.txt"); got.status != http.StatusOK || !strings.Contains(got.body, "MIT License") {
		t.Errorf("the licences of the parts: %d", got.status)
	}
	for _, path := range []string{"/console", "/console/", "/console/nosuch.js", "/console/index.html", "/console/../console.go", "/console/%2e%2e/console.go"} {
		if got := s.get(path); got.status != http.StatusNotFound && got.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}
