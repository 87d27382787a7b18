// Requests to other servers: refusals, redirects and failures.

package outbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// remote is a server on loopback.
func remote(t *testing.T, handler http.HandlerFunc) *url.URL {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	return u
}

func newClient(t *testing.T, idleTimeout time.Duration, allow ...string) *Client {
	t.Helper()
	hosts, err := ParseHosts(allow)
	require.NoError(t, err)
	n := &Client{Hosts: hosts, IdleTimeout: idleTimeout, Logger: slog.New(slog.DiscardHandler)}
	t.Cleanup(n.Close)
	return n
}

func TestClientRefusals(t *testing.T) {
	reached := remote(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("%s was reached", r.Host) })
	u := remote(t, func(w http.ResponseWriter, r *http.Request) {
		to := reached.String()
		switch r.URL.Path {
		case "/loop":
			to = "/loop"
		case "/name": // its name is allowed, its address is not
			to = "http://localhost:" + reached.Port()
		case "/mapped":
			to = "http://[::ffff:127.0.0.1]:" + reached.Port()
		case "/user":
			to = "http://u:p@" + r.Host + "/"
		case "/file":
			to = "file:///etc/passwd"
		case "/long":
			to = "/" + strings.Repeat("a", maxURLBytes)
		case "/status":
			http.Error(w, "out of \x1b order", http.StatusTeapot)
			return
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	n := newClient(t, time.Minute, u.Host, "localhost:"+reached.Port())
	for _, test := range []struct {
		url  string
		want error
		text string
	}{
		{u.String() + "/elsewhere", ErrHost, "redirect"},
		{u.String() + "/loop", ErrNetwork, "5 redirects"},
		{u.String() + "/name", ErrHost, "not public"},
		{u.String() + "/mapped", ErrHost, "redirect"},
		{u.String() + "/user", ErrHost, "user"},
		{u.String() + "/file", ErrHost, `"file"`},
		{u.String() + "/long", ErrNetwork, "bytes"},
		{u.String() + "/status", ErrNetwork, "418 I'm a teapot: out of order"},
		{"http://localhost:" + reached.Port() + "/", ErrHost, "not public"},
		{reached.String(), ErrHost, "127.0.0.1"},
		{"http://u@" + u.Host + "/", ErrHost, "user"},
		{"file:///etc/passwd", ErrHost, `"file"`},
		{"gopher://" + u.Host + "/", ErrHost, `"gopher"`},
		{"http://2130706433:" + u.Port() + "/", ErrHost, "in full"},
		{u.String() + "/" + strings.Repeat("a", maxURLBytes), ErrHost, "bytes"},
		{"http://" + u.Host + "/\x01", ErrHost, "control character"},
	} {
		a, err := n.Do(t.Context(), http.MethodGet, test.url, http.Header{}, "")
		if err == nil {
			a.Body.Close()
		}
		if !errors.Is(err, test.want) || !strings.Contains(fmt.Sprint(err), test.text) {
			t.Errorf("%.60s: %v, want %v with %q", test.url, err, test.want, test.text)
		}
	}
}

// The address that was checked is the one that is dialled, whatever the name
// says a moment later: the check is within the dial itself.
func TestDialChecksAddress(t *testing.T) {
	n := newClient(t, time.Minute, "localhost:*")
	n.once.Do(n.open)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	for _, address := range []string{listener.Addr().String(), "localhost:" + fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)} {
		if c, err := n.transport.DialContext(t.Context(), "tcp", address); !errors.Is(err, ErrHost) {
			t.Errorf("%s: %v", address, err)
			if err == nil {
				c.Close()
			}
		}
	}
	if n.transport.Proxy != nil || n.client.Jar != nil {
		t.Error("requests go through a proxy, or keep cookies")
	}
}

// A redirect says nothing of where it comes from, and brings no cookies.
func TestRedirectTellsNothing(t *testing.T) {
	u := remote(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer") != "" || r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s came with %v", r.URL, r.Header)
		}
		if r.URL.Path == "/" {
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, "/to", http.StatusFound)
		}
	})
	a, err := newClient(t, time.Minute, u.Host).Do(t.Context(), http.MethodGet, u.String()+"/", http.Header{}, "")
	require.NoError(t, err)
	a.Body.Close()
}

func TestHTTPSToHTTP(t *testing.T) {
	n := newClient(t, time.Minute, "example.org")
	from, _ := http.NewRequest(http.MethodGet, "https://example.org/", nil)
	to, _ := http.NewRequest(http.MethodGet, "http://example.org/", nil)
	if err := n.checkRedirect(to, []*http.Request{from}); !errors.Is(err, ErrHost) {
		t.Errorf("got %v", err)
	}
	if err := n.checkRedirect(from, []*http.Request{to}); err != nil {
		t.Error(err)
	}
}

// A server that is not there is no end of a context, though net says so of its
// time-outs.
func TestClientErrors(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone := listener.Addr().String()
	listener.Close()
	n := newClient(t, time.Minute, gone)
	if _, err := n.Do(t.Context(), http.MethodGet, "http://"+gone, http.Header{}, ""); !errors.Is(err, ErrNetwork) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	_, w := n.watch(t.Context())
	defer w.stop()
	timeout := &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
	if err := w.explain(&url.Error{Op: "Get", Err: timeout}); !errors.Is(err, ErrNetwork) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
