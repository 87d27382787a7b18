// Connections that wait for the next request.

package outbound

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestIdleConnections sends a request to each of many hosts. Few connections stay open behind that.
func TestIdleConnections(t *testing.T) {
	// 1. One server at many addresses counts the connections that it has.
	var mu sync.Mutex
	open, changed := map[net.Conn]bool{}, make(chan struct{}, 1)
	server := &http.Server{
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		ConnState: func(c net.Conn, state http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			switch state {
			case http.StateNew:
				open[c] = true
			case http.StateClosed:
				delete(open, c)
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		},
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer server.Close()
	h, err := ParseHosts([]string{"127.0.0.1:*"})
	require.NoError(t, err)
	transport := h.Transport(slog.New(slog.DiscardHandler))
	transport.IdleConnTimeout = time.Hour
	defer transport.CloseIdleConnections()
	for range 2 * maxIdle {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		tasks.Go(func() { server.Serve(l) })
		// 2. Each is requested once.
		response, err := transport.RoundTrip(httptest.NewRequest(http.MethodGet, "http://"+l.Addr().String(), nil))
		require.NoError(t, err)
		response.Body.Close()
	}
	// 3. The oldest are closed.
	deadline := time.After(10 * time.Second)
	for {
		mu.Lock()
		n := len(open)
		mu.Unlock()
		if n <= maxIdle {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%d connections are open, want %d", n, maxIdle)
		}
	}
}
