// Several addresses.

package client_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/triple"
)

// refusing returns an address at which nothing listens.
func refusing(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	return "http://" + ln.Addr().String()
}

// TestFailover checks that requests go to the next address: at once if a connection is refused, with
// Load and without retries, too; as a retry if it breaks, or if the node is not available.
func TestFailover(t *testing.T) {
	url, db := startNode(t, server.Options{})
	var requests atomic.Int64
	stranger := func(answer http.HandlerFunc) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			answer(w, r)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	breaks := stranger(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	})
	leaving := stranger(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, `{"error":{"kind":"unavailable","message":"the node is shutting down"}}`)
	})
	all := numbered(4)
	for i, test := range []struct {
		name, first string
		retries     int
		requests    int64 // to the first address
	}{
		{"refused", refusing(t), -1, 0},
		{"broken", breaks, 1, 1},
		{"unavailable", leaving, 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			requests.Store(0)
			c := newClient(t, test.first+", "+url, client.Options{Retries: test.retries})
			added, err := c.Add(ctx, all[i:i+1])
			if err != nil || added.Added != 1 {
				t.Fatalf("add: %+v, %v", added, err)
			}
			if n, err := c.Count(ctx, triple.Pattern{}); err != nil || n != int64(i+1) {
				t.Errorf("count: %d, %v", n, err)
			}
			if n := requests.Load(); n != test.requests {
				t.Errorf("%d requests went to the first address, want %d", n, test.requests)
			}
		})
	}
	// A load is sent once: nothing of it has been sent to an address that refuses it.
	c := newClient(t, refusing(t)+","+url, client.Options{Retries: -1})
	if s, err := c.Load(ctx, strings.NewReader(all[3].String()+"\n"), client.LoadOptions{}); err != nil || s.New != 1 {
		t.Errorf("load: %+v, %v", s, err)
	}
	sn, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	if n, err := sn.Count(ctx, triple.Pattern{}); err != nil || n != 4 {
		t.Errorf("%d triples, %v", n, err)
	}
	// Without a machine, Leave would be for whichever node is current.
	if _, err := c.Admin.Leave(ctx, ""); err == nil || !strings.Contains(err.Error(), "2 addresses") {
		t.Errorf("leave: %v", err)
	}
	// If no address answers, the request ends with an error.
	nobody := newClient(t, refusing(t)+","+refusing(t), client.Options{Retries: 2})
	if _, err := nobody.Count(ctx, triple.Pattern{}); err == nil {
		t.Error("nobody has answered")
	}
	if _, err := client.New(url+",", client.Options{}); err == nil {
		t.Error("an empty address was taken")
	}
}

// TestFailoverLostAnswer checks that a change whose answer was lost is made once, although it is sent again
// to another address.
func TestFailoverLostAnswer(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	var hosts []string
	w := newNetwork(t, func(n int, r *http.Request) fate {
		hosts = append(hosts, r.URL.Host)
		return fate{lose: n == 0}
	})
	port := url[strings.LastIndex(url, ":"):]
	c := newClient(t, url+",http://localhost"+port, client.Options{HTTPClient: &http.Client{Transport: w}})
	result, err := c.Update(ctx, "INSERT DATA { <http://ex/a> <http://ex/p> 1 }", client.QueryOptions{})
	// A second update would have added nothing.
	if err != nil || result.Added != 1 && !result.Repeated {
		t.Errorf("%+v, %v", result, err)
	}
	if len(hosts) != 2 || hosts[0] == hosts[1] {
		t.Errorf("requests went to %q", hosts)
	}
}
