// Tests of profiles.

package server

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// TestProfiles: operators get profiles in the form of pprof, and clients and strangers none.
func TestProfiles(t *testing.T) {
	seed.Slow(t)
	s := serve(t, newStore(t), Options{Token: "client", OperatorToken: "operator"}, ServerOptions{})
	for _, path := range []string{"/debug/pprof", "/debug/pprof/heap", "/debug/pprof/profile?seconds=1"} {
		for _, token := range []string{"", "client"} {
			if got := s.get(path, "Authorization", "Bearer "+token); got.status != 401 {
				t.Errorf("%s with token %q: %d", path, token, got.status)
			}
		}
	}
	get := func(path string) answer { return s.get(path, "Authorization", "Bearer operator") }
	for _, name := range strings.Fields(get("/debug/pprof").body) {
		path := "/debug/pprof/" + name
		if name == "profile" || name == "trace" {
			path += "?seconds=1"
		}
		got := get(path)
		if got.status != 200 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
			continue
		}
		if name == "trace" {
			if !strings.HasPrefix(got.body, "go 1.") {
				t.Errorf("%s: %.20q", path, got.body)
			}
			continue
		}
		unpacked, err := gzip.NewReader(strings.NewReader(got.body))
		if err == nil {
			_, err = io.Copy(io.Discard, unpacked)
		}
		if err != nil {
			t.Errorf("%s is no profile: %v", path, err)
		}
	}
	if got := get("/debug/pprof/goroutine?debug=1"); !strings.Contains(got.body, "goroutine profile: total ") {
		t.Errorf("as text: %s", got.body)
	}
	for path, status := range map[string]int{
		"/debug/pprof/cmdline": 404, "/debug/pprof/profile?seconds=301": 400, "/debug/pprof/trace?seconds=11": 400, "/debug/pprof/block": 404, "/debug/pprof/mutex": 404, "/debug/pprof/heap?seconds=x": 400, "/debug/pprof/heap?debug=3": 400, "/debug/pprof/heap?gc=1": 400, "/debug": 404,
	} {
		if got := get(path); got.status != status {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	// Pages of other origins get none, and a second profile is busy.
	if got := s.get("/debug/pprof/heap", "Authorization", "Bearer operator", "Origin", "http://evil.example"); got.status != 403 {
		t.Errorf("another origin: %d %.80q", got.status, got.body)
	}
	s.api.admin.Profiles <- struct{}{}
	for _, name := range []string{"profile", "trace", "heap"} {
		if got := get("/debug/pprof/" + name); got.status != 503 || !strings.Contains(got.body, `"busy"`) {
			t.Errorf("a second %s: %d %s", name, got.status, got.body)
		}
	}
	<-s.api.admin.Profiles
}
