// Tests of running queries.

package client_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
)

// TestStopQueryOnce: a request to stop a query goes to one address, once, because another process may have the ID for
// another query.
func TestStopQueryOnce(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	w := newNetwork(t, func(int, *http.Request) fate { return fate{lose: true} })
	options := client.Options{HTTPClient: &http.Client{Transport: w}}
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	if _, err := newClient(t, url+",http://localhost:"+port, options).StopQuery(ctx, "", 1); err == nil || !strings.Contains(err.Error(), "2 addresses") {
		t.Errorf("several addresses: %v", err)
	}
	if n := w.requests(); n != 0 {
		t.Errorf("%d requests with several addresses", n)
	}
	if _, err := newClient(t, url, options).StopQuery(ctx, "", 1); err == nil {
		t.Error("no error for a lost answer")
	}
	if n := w.requests(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}
