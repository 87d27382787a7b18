// The address in the status of a lone node.

package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/feed"
)

// The one member of a node's status is at the address that was asked.
func TestStatusAddress(t *testing.T) {
	h := serve(t, newStore(t), Options{}, ServerOptions{})
	resp, err := h.client.Get(h.url + "/status")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var status api.Status
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		t.Fatal(err)
	}
	if len(status.Members) != 1 || status.Members[0].State != "up" || status.Members[0].Address != h.addr {
		t.Errorf("members %+v, want one that is up at %s", status.Members, h.url)
	}
}

// TestStalled: a follower of the change feed that stands still is in the status, and in the readiness of those who ask
// for it only.
func TestStalled(t *testing.T) {
	var stalled []*feed.StalledError
	h := serve(t, newStore(t), Options{Stalled: func() []*feed.StalledError { return stalled }}, ServerOptions{})
	get := func(path string) (code int, text string) {
		resp, err := h.client.Get(h.url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
		return resp.StatusCode, string(body)
	}
	want := func(codes map[string]int) {
		t.Helper()
		for path, want := range codes {
			if got, text := get(path); got != want || strings.Contains(text, "damaged") {
				t.Errorf("%s: %d, want %d: %s", path, got, want, text)
			}
		}
	}
	// 1. All advance.
	want(map[string]int{"/readyz": 200, "/readyz?follower=text": 200, "/readyz?follower=functions": 200, "/readyz?follower=other": 400})
	if _, text := get("/status"); strings.Contains(text, "stalled") {
		t.Error(text)
	}
	// 2. Two stand still.
	since := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	stalled = []*feed.StalledError{{Follower: "text", Since: since, Cause: errors.New("a row is damaged")}, {Follower: "function f", Since: since}}
	want(map[string]int{"/readyz": 200, "/readyz?follower=text": 503, "/readyz?follower=functions": 503, "/readyz?follower=links": 200})
	if _, text := get("/status"); !strings.Contains(text, `"stalled":[{"follower":"text","since":"2026-11-28T12:00:00Z","error":"a row is damaged"},{"follower":"function f","since":"2026-11-28T12:00:00Z"}]`) {
		t.Error(text)
	}
}
