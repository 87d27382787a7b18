// Tests of running queries.

package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
)

// TestStopQueryAgain: a stop whose answer is lost is sent again, also to another address, because its ID is of no other query.
func TestStopQueryAgain(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	w := newNetwork(t, func(n int, _ *http.Request) fate { return fate{lose: n == 0} })
	options := client.Options{HTTPClient: &http.Client{Transport: w}}
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	if _, err := newClient(t, url+",http://localhost:"+port, options).Admin.StopQuery(ctx, "NOSUCH"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if n := w.requests(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}
