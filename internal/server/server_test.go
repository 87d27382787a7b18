// The server: TLS, crowded listeners, headers, shutdown and logs.

package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
)

// secureListener's connections say that TLS is below them.
type secureListener struct{ net.Listener }

func (l secureListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return toldSecure{conn}, err
}

type toldSecure struct{ net.Conn }

func (toldSecure) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{HandshakeComplete: true}
}

// TestSecure: what a node that speaks TLS writes of itself begins with https.
func TestSecure(t *testing.T) {
	s := serve(t, newStore(t), Options{}, ServerOptions{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(secureListener{ln}) }()
	t.Cleanup(func() {
		ln.Close()
		<-served
	})
	for addr, want := range map[string]string{s.addr: "http://" + s.addr, ln.Addr().String(): "https://" + ln.Addr().String()} {
		resp, err := s.client.Get("http://" + addr + "/fragments")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(body), want+"/fragments{?") {
			t.Errorf("at %s: %v; no link begins with %s: %s", addr, err, want, body)
		}
	}
}

// crowdedListener's connections are beyond its room while crowded is set; busy has
// what their server says of them.
type crowdedListener struct {
	net.Listener
	crowded *atomic.Bool
	busy    chan bool
}

func (l crowdedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return crowdedConn{conn, l}, err
}

type crowdedConn struct {
	net.Conn
	l crowdedListener
}

func (c crowdedConn) Crowded() bool     { return c.l.crowded.Load() }
func (c crowdedConn) SetBusy(busy bool) { c.l.busy <- busy }

// A connection beyond the room gets an answer to a health check, and to anything else
// that there is no room; and then it is closed.
func TestCrowded(t *testing.T) {
	s := serve(t, newStore(t), Options{}, ServerOptions{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var crowded atomic.Bool
	busy := make(chan bool, 100)
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(crowdedListener{ln, &crowded, busy}) }()
	t.Cleanup(func() {
		ln.Close()
		<-served
	})
	s.url = "http://" + ln.Addr().String()
	if got := s.get("/count"); got.status != 200 || got.header.Get("Connection") == "close" {
		t.Errorf("within the room: %+v", got)
	}
	for i, want := range []bool{false, true, false} { // new, in a request, between two
		if got := <-busy; got != want {
			t.Errorf("state %d: busy %v", i, got)
		}
	}
	s.client.CloseIdleConnections()
	crowded.Store(true)
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := s.get(path); got.status != 200 {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for _, path := range []string{"/count", "/", "/nowhere"} {
		s.get(path).wantError(t, 503, problem.KindBusy, "", "no room for another connection")
	}
	s.do("POST", "/triples", "<http://a> <http://b> <http://c> .", "Content-Type", response.NTriples).wantError(t, 503, problem.KindBusy, "", "no room")
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if text, err := io.ReadAll(conn); err != nil || !strings.Contains(string(text), "Connection: close") {
		t.Errorf("it is not closed: %q, %v", text, err)
	}
}

// TestHeaders: slow and huge headers.
func TestHeaders(t *testing.T) {
	store := newStore(t)
	s := serve(t, store, Options{}, ServerOptions{ReadHeaderTimeout: 50 * time.Millisecond, IdleTimeout: 50 * time.Millisecond})
	for _, start := range []string{"", "GET /hea", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-"} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, start) // on a slow machine the server has hung up before
		if got, _ := io.ReadAll(conn); strings.HasPrefix(string(got), "HTTP/1.1 2") {
			t.Errorf("%q is answered: %q", start, got)
		}
		conn.Close()
	}
	s = serve(t, store, Options{}, ServerOptions{})
	if got := s.get(target("/triples", "o", `"`+strings.Repeat("x", 200<<10)+`"`)); got.status != 200 {
		t.Errorf("a long term: %d", got.status)
	}
	if got := s.get(target("/triples", "o", `"`+strings.Repeat("x", 300<<10)+`"`)); got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a huge header: %d", got.status)
	}
}

// openStream opens an unlimited answer and reads its beginning.
func openStream(t testing.TB, s *testServer) *http.Response {
	t.Helper()
	got, err := s.client.Get(s.url + "/range?order=spo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { got.Body.Close() })
	if _, err := io.ReadFull(got.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestShutdown: running requests end, new ones are refused, the node is not ready.
func TestShutdown(t *testing.T) {
	store := newStore(t)
	fill(t, store, 5_000, 1000)
	s := serve(t, store, Options{}, ServerOptions{})
	got := openStream(t, s)
	done := make(chan error, 1)
	go func() { done <- s.server.Shutdown(context.Background()) }()
	await.Condition(t, "the shutdown to begin", s.api.shared.Draining.Load)
	ready := newRecorder(s.api, "/readyz")
	ready.wantError(t, 503, problem.KindUnavailable, "", "shutting down")
	n, err := io.Copy(io.Discard, got.Body)
	if err != nil || n < 5_000_000 {
		t.Errorf("the running stream: %d bytes, %v", n, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", s.addr); err == nil {
		t.Error("the port is still open")
	}
}

// newRecorder answers a request without a connection.
func newRecorder(handler http.Handler, target string) answer {
	w := &recorder{header: http.Header{}}
	r, _ := http.NewRequest(http.MethodGet, target, nil)
	handler.ServeHTTP(w, r)
	return answer{w.status, w.header, w.body.String(), nil}
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

// TestShutdownInTime: what does not end by the deadline is cut off, and is over
// when Shutdown returns.
func TestShutdownInTime(t *testing.T) {
	store := newStore(t)
	fill(t, store, 5_000, 1000)
	s := serve(t, store, Options{}, ServerOptions{})
	got := openStream(t, s) // and does not read on
	body, bodyWriter := io.Pipe()
	defer bodyWriter.Close()
	upload := make(chan error, 1)
	go func() {
		r, _ := http.NewRequest(http.MethodPost, s.url+"/load", body)
		r.Header.Set("Content-Type", response.NTriples)
		got, err := s.client.Do(r)
		if err == nil {
			got.Body.Close()
		}
		upload <- err
	}()
	fmt.Fprintf(bodyWriter, "<http://a> <http://b> \"1\" .\n")
	await.Condition(t, "the load to begin", func() bool { return len(s.api.triples.Loads) == 1 })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := s.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown: %v", err)
	}
	s.server.running.mu.Lock()
	if s.server.running.n != 0 {
		t.Errorf("%d requests still run", s.server.running.n)
	}
	s.server.running.mu.Unlock()
	if _, err := io.Copy(io.Discard, got.Body); err == nil {
		t.Error("the stream that was cut off looks complete")
	}
	bodyWriter.Close()
	<-upload
}

// TestShutdownUnserved: a server that never served can be shut down, and twice.
func TestShutdownUnserved(t *testing.T) {
	api, err := New(newStore(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := NewServer(api, ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// TestLogs: requests are logged at debug, failures once at error, refusals at debug only, and
// answers that break off without a failure of the node once at warn.
func TestLogs(t *testing.T) {
	var mu sync.Mutex
	var text bytes.Buffer
	logger := slog.New(slog.NewTextHandler(lockedWriter{&mu, &text}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	db := newStore(t)
	fill(t, db, 2000, 400)
	// 1. An answer that breaks off because a machine is away.
	limited := serve(t, &brokenStore{Triples: db, after: 1500, err: store.ErrUnavailable}, Options{Logger: logger}, ServerOptions{Logger: logger})
	limited.get("/range?order=spo")
	limited.idle()
	mu.Lock()
	if n := strings.Count(text.String(), "level=WARN"); n != 1 || strings.Contains(text.String(), "level=ERROR") {
		t.Errorf("%d warnings in the log, one of a broken answer expected:\n%s", n, text.String())
	}
	text.Reset()
	mu.Unlock()
	// 2. A panic, a refusal and a request.
	s := serve(t, &brokenStore{Triples: db, after: 10, panic: true}, Options{Logger: logger}, ServerOptions{Logger: logger})
	s.get("/range?order=spo")
	s.get("/range?order=bad")
	s.get("/healthz")
	s.idle()
	mu.Lock()
	defer mu.Unlock()
	if n := strings.Count(text.String(), "level=ERROR"); n != 1 || !strings.Contains(text.String(), "a bug") || !strings.Contains(text.String(), "stream_test.go") {
		t.Errorf("%d errors in the log, one with the panic's place expected:\n%s", n, text.String())
	}
	if n := strings.Count(text.String(), "level=DEBUG msg=request"); n != 3 {
		t.Errorf("%d requests in the log, want 3:\n%s", n, text.String())
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
