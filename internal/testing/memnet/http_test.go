// HTTP over the network in memory, with faults.

package memnet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// serveHTTP serves on host B and returns a client of host A.
func serveHTTP(t *testing.T, n *Net, handler http.HandlerFunc) (client *http.Client, end func()) {
	t.Helper()
	l, err := n.Host(hostB).Listen(t.Context(), there)
	require.NoError(t, err)
	server := &http.Server{Handler: handler}
	served := make(chan error)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		return n.Host(hostA).Dial(ctx, addr)
	}}
	return &http.Client{Transport: transport}, func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}
}

// HTTP works over streams, in the time of the bubble.
func TestHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		n.Delay(time.Second, time.Second)
		client, end := serveHTTP(t, n, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(w, r.Body)
		})
		defer end()
		for _, want := range []time.Duration{4 * time.Second, 2 * time.Second} { // the second one need not dial
			start := time.Now()
			r, err := client.Post("http://"+there+"/", "text/plain", strings.NewReader("hello"))
			require.NoError(t, err)
			text, err := io.ReadAll(r.Body)
			r.Body.Close()
			if took := time.Since(start); err != nil || string(text) != "hello" || took != want {
				t.Errorf("%q, %v after %v; want %v", text, err, took, want)
			}
		}
		big := strings.Repeat("0123456789", 100_000)
		r, err := client.Post("http://"+there+"/", "text/plain", strings.NewReader(big))
		require.NoError(t, err)
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || string(text) != big {
			t.Errorf("%d bytes, %v; want %d", len(text), err, len(big))
		}
	})
}

// A request into a cut waits for its context; a reset ends it at once.
func TestHTTPFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		client, end := serveHTTP(t, n, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/wait" {
				<-r.Context().Done()
			}
		})
		ask := func(path string, timeout time.Duration) (time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			start := time.Now()
			// No client sends a POST twice by itself.
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+there+path, nil)
			require.NoError(t, err)
			answer, err := client.Do(r)
			if err == nil {
				answer.Body.Close()
			}
			return time.Since(start), err
		}
		if _, err := ask("/", time.Minute); err != nil {
			t.Fatal(err)
		}
		n.CutOneWay(hostB, hostA)
		if took, err := ask("/", time.Minute); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("into a cut: %v after %v", err, took)
		}
		n.Heal()
		if _, err := ask("/", time.Minute); err != nil {
			t.Errorf("healed: %v", err)
		}
		ended := make(chan error)
		go func() {
			_, err := ask("/wait", time.Hour)
			ended <- err
		}()
		synctest.Wait()
		start := time.Now()
		n.Reset(hostA, hostB)
		if err := <-ended; err == nil || time.Since(start) != 0 {
			t.Errorf("reset: %v after %v", err, time.Since(start))
		}
		end()
	})
}
