// Clusters: status, members, degraded answers and lost rows.

package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/triple"
)

// standIn is a node that answers as a function says.
func standIn(t *testing.T, handler http.HandlerFunc, options client.Options) *client.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return newClient(t, server.URL, options)
}

func TestMembers(t *testing.T) {
	var asked []string
	c := standIn(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String())
		fmt.Fprint(w, `{"cluster":"photos","members":[{"id":"1","state":"leaving","walk":{"rows":5,"etaSeconds":1.5}}]}`)
	}, client.Options{})
	for _, change := range []func(context.Context, string) (client.Status, error){c.Admin.Leave, c.Admin.Remove} {
		for _, machine := range []string{"", "0123456789abcdef"} {
			s, err := change(t.Context(), machine)
			if err != nil || s.Cluster != "photos" || s.Members[0].State != "leaving" || s.Members[0].Walk.ETA != 1.5 {
				t.Errorf("%+v, %v", s, err)
			}
		}
	}
	if want := []string{"POST /cluster/leave", "POST /cluster/leave?machine=0123456789abcdef",
		"POST /cluster/remove", "POST /cluster/remove?machine=0123456789abcdef"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q", asked)
	}
	url, _ := startNode(t, server.Options{})
	if _, err := newClient(t, url, client.Options{}).Admin.Leave(t.Context(), ""); !errors.Is(err, client.ErrConflict) {
		t.Errorf("a node alone: %v", err)
	}
}

// What a node says of degraded answers reaches the caller, page by page and by
// callback.
func TestDegraded(t *testing.T) {
	degraded := "true"
	var told []string
	c := standIn(t, func(w http.ResponseWriter, r *http.Request) {
		if degraded != "" {
			w.Header().Set("Trefoil-Degraded", degraded)
		}
		if r.URL.Path == "/count" {
			fmt.Fprint(w, `{"count":1,"exact":true}`)
		} else {
			fmt.Fprint(w, "<x:s> <x:p> \"1\" .\n")
		}
	}, client.Options{Degraded: func(path string) { told = append(told, path) }})
	for _, degraded = range []string{"true", ""} {
		page, err := c.MatchPage(t.Context(), triple.Pattern{}, client.PageOptions{})
		if err != nil || page.Degraded != (degraded != "") || len(page.Triples) != 1 {
			t.Errorf("%+v, %v", page, err)
		}
		collect(t, c.Range(t.Context(), triple.Bounds{Order: triple.SPO}, client.RangeOptions{}))
		if _, err := c.Count(t.Context(), triple.Pattern{}); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(told, []string{"/triples", "/range", "/count"}) {
		t.Errorf("told of %q", told)
	}
}

// What is lost does not come back by asking again; what is away may.
func TestLost(t *testing.T) {
	asked, kind := 0, ""
	c := standIn(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, `{"error":{"kind":%q,"message":"m","where":"","done":12}}`, kind)
	}, client.Options{Retries: 2})
	for _, test := range []struct {
		kind string
		err  error
		asks int
	}{{"lost", client.ErrLost, 1}, {"unavailable", client.ErrUnavailable, 3}} {
		asked, kind = 0, test.kind
		_, err := c.Count(t.Context(), triple.Pattern{})
		var e *client.Error
		if !errors.Is(err, test.err) || asked != test.asks || !errors.As(err, &e) || e.Done != 12 {
			t.Errorf("%s: asked %d times, %v", test.kind, asked, err)
		}
	}
}
