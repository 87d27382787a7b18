// Tokens, options, status, metrics, health, backups and checks.

package server

import (
	"archive/tar"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
)

func TestToken(t *testing.T) {
	store := newStore(t)
	s := serve(t, store, Options{Token: "sesame"}, ServerOptions{})
	for _, test := range []struct {
		path, header string
		status       int
	}{
		{"/status", "", 401},
		{"/status", "Bearer sesame", 200},
		{"/status", "bearer  sesame", 200},
		{"/status", "Bearer sesam", 401},
		{"/status", "Bearer sesame2", 401},
		{"/status", "Basic sesame", 401},
		{"/status", "sesame", 401},
		{"/metrics", "", 401},
		{"/range?order=spo", "", 401},
		{"/nowhere", "", 401},
		{"/healthz", "", 200},
		{"/readyz", "Bearer nonsense", 200},
	} {
		got := s.get(test.path, "Authorization", test.header)
		if got.status != test.status {
			t.Errorf("%s with %q: %d %s", test.path, test.header, got.status, got.body)
		}
		if test.status == 401 {
			got.wantError(t, 401, problem.KindUnauthorized, "Authorization", "token")
			if !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("header %v", got.header)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	store := newStore(t)
	if _, err := New(store, Options{MaxBodyBytes: -1}); err == nil {
		t.Error("a negative limit is taken")
	}
	api, err := New(store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewServer(api, ServerOptions{MaxHeaderBytes: -1}); err == nil {
		t.Error("a negative limit is taken")
	}
}

func TestStatus(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	var got map[string]any
	if err := json.Unmarshal([]byte(s.get("/status").body), &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"version", "epoch", "members", "segments", "triples", "rebuilding", "lost"} {
		if _, ok := got[name]; !ok {
			t.Errorf("no %s in %v", name, got)
		}
	}
	if got["version"] != "test" || got["triples"] != 10.0 {
		t.Errorf("status %v", got)
	}
}

func TestMetrics(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	s.do("POST", "/triples", sampleQuads, "Content-Type", response.NQuads)
	s.get("/triples")
	s.get("/triples?limit=3")
	s.get("/triples?x=1")
	s.get("/../etc/passwd")
	s.do("BREW", "/triples", "")
	got := s.get("/metrics")
	for _, want := range []string{
		`trefoil_http_requests_total{endpoint="/triples",method="POST",status="200"} 1`,
		`trefoil_http_requests_total{endpoint="/triples",method="GET",status="200"} 2`,
		`trefoil_http_requests_total{endpoint="/triples",method="GET",status="400"} 1`,
		`trefoil_http_requests_total{endpoint="/triples",method="other",status="405"} 1`,
		`trefoil_http_requests_total{endpoint="other",method="other",status="404"} 1`,
		`trefoil_http_request_seconds_count{endpoint="/triples"} 5`,
		`trefoil_http_rows_read_total 13`,
		`trefoil_http_rows_written_total{change="added"} 10`,
		`trefoil_http_bytes_in_flight 0`,
		`trefoil_http_requests_in_flight 1`,
		`trefoil_store_triples 10`,
	} {
		if !strings.Contains(got.body, "\n"+want+"\n") {
			t.Errorf("no %s in\n%s", want, got.body)
		}
	}
	if !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
		t.Errorf("header %v", got.header)
	}
}

// unwell is a store that takes no more writes.
type unwell struct{ store.Triples }

func (unwell) Err() error { return store.ErrFailed }

func TestHealth(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := s.get(path); got.status != http.StatusOK || got.body != "ok\n" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	s = serve(t, unwell{newStore(t)}, Options{}, ServerOptions{})
	if got := s.get("/healthz"); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	s.get("/readyz").wantError(t, 503, problem.KindUnavailable, "", "failed")
}

// TestBackup: what /backup gives can be restored.
func TestBackup(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	got := s.get("/backup")
	if got.status != http.StatusOK || got.err != nil || got.header.Get("Content-Type") != "application/x-tar" {
		t.Fatalf("%d %v %v", got.status, got.err, got.header)
	}
	for archive := tar.NewReader(strings.NewReader(got.body)); ; {
		_, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "restored")
	if err := store.Restore(context.Background(), dir, strings.NewReader(got.body)); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(dir, store.Options{MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	restored := serve(t, db, Options{}, ServerOptions{})
	if a, b := s.get("/range?order=spo").body, restored.get("/range?order=spo").body; a != b {
		t.Errorf("restored\n%s\nof\n%s", b, a)
	}
}

func TestBackupsAtATime(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{MaxBackups: 1})
	s.api.admin.Backups <- struct{}{}
	s.get("/backup").wantError(t, 503, problem.KindBusy, "", "try again")
	<-s.api.admin.Backups
}

func TestCheck(t *testing.T) {
	s, db := serveTriples(t, sampleQuads, Options{})
	got := s.get("/check")
	var report api.CheckReport
	if err := json.Unmarshal([]byte(got.body), &report); err != nil || got.status != 200 || report.Triples != db.Status().Triples || report.Problems == nil {
		t.Errorf("%d %s", got.status, got.body)
	}
	s.api.admin.Checks <- struct{}{}
	s.get("/check").wantError(t, 503, problem.KindBusy, "", "try again")
	<-s.api.admin.Checks
}
