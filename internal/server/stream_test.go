// Streams: broken, abandoned, stalled or slow, and slow uploads.

package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// fill adds n triples with values of some size.
func fill(t testing.TB, db *store.Store, n, valueBytes int) {
	t.Helper()
	var all []triple.Triple
	value := strings.Repeat("v", valueBytes)
	for i := range n {
		all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("%s%06d", exampleIRI, i)), Predicate: triple.NewIRI(exampleIRI + "p"), Object: triple.NewString(value)})
	}
	if _, err := store.Add(context.Background(), db, all); err != nil {
		t.Fatal(err)
	}
}

// brokenStore fails its reads after some rows.
type brokenStore struct {
	store.Triples
	after int
	err   error
	panic bool
}

type brokenSnapshot struct {
	store.Reader
	store *brokenStore
}

func (b *brokenStore) Reader() (store.Reader, error) {
	sn, err := b.Triples.Reader()
	return brokenSnapshot{sn, b}, err
}

func (b *brokenStore) StateReader() (r store.Reader, release func(), err error) {
	r, err = b.Reader()
	return r, func() {}, err
}

func (b brokenSnapshot) Range(ctx context.Context, bounds triple.Bounds, o store.ReadOptions) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		n := 0
		for row, err := range b.Reader.Range(ctx, bounds, o) {
			if n == b.store.after {
				if b.store.panic {
					panic("a bug")
				}
				yield(store.Row{}, b.store.err)
				return
			}
			if n++; !yield(row, err) {
				return
			}
		}
	}
}

func (b *brokenStore) Backup(_ context.Context, w io.Writer) error {
	if b.after > 0 {
		if _, err := w.Write(make([]byte, b.after)); err != nil {
			return err
		}
	}
	return b.err
}

// TestBrokenStream: an answer that breaks off never looks complete, and one that
// breaks before anything was sent is an error.
func TestBrokenStream(t *testing.T) {
	db := newStore(t)
	fill(t, db, 2000, 400)
	broken := &brokenStore{Triples: db, err: fmt.Errorf("read: %w", store.ErrCorrupt)}
	s := serve(t, broken, Options{}, ServerOptions{})
	for _, crash := range []bool{false, true} {
		broken.panic = crash
		for _, accept := range []string{response.NQuads, response.NDJSON, response.JSON} {
			broken.after = 1500
			if got := s.get("/range?order=spo", "Accept", accept); got.status != 200 || !errors.Is(got.err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, panic %t: status %d, %d bytes, error %v", accept, crash, got.status, len(got.body), got.err)
			}
			broken.after = 10
			kind, words := problem.KindCorrupt, "corrupt"
			if crash {
				kind, words = problem.KindInternal, "internal error"
			}
			s.get("/range?order=spo", "Accept", accept).wantError(t, 500, kind, "", words)
			broken.after = 1500
			s.get("/range?order=spo&limit=2000", "Accept", accept).wantError(t, 500, kind, "", words)
		}
	}
	broken.after = 100_000
	if got := s.get("/backup"); got.status != 200 || !errors.Is(got.err, io.ErrUnexpectedEOF) {
		t.Errorf("backup: status %d, %d bytes, error %v", got.status, len(got.body), got.err)
	}
	broken.after = 0
	s.get("/backup").wantError(t, 500, problem.KindCorrupt, "", "corrupt")
	s.idle()
}

// TestHTTP10: a client that cannot tell a broken stream gets none, and that is no failure of the node.
func TestHTTP10(t *testing.T) {
	store := newStore(t)
	fill(t, store, 2000, 400)
	failures, written := io.Pipe()
	logged := make(chan string)
	go func() {
		text, _ := io.ReadAll(failures)
		logged <- string(text)
	}()
	defer func() {
		written.Close()
		if text := <-logged; text != "" {
			t.Errorf("logged: %s", text)
		}
	}()
	s := serve(t, store, Options{Logger: slog.New(slog.NewTextHandler(written, &slog.HandlerOptions{Level: slog.LevelWarn}))}, ServerOptions{})
	for target, want := range map[string]string{
		"/range?order=spo": "505", "/backup": "505", "/range?order=spo&limit=5": "200", "/range?order=osp&ge=1": "200",
	} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.0\r\n\r\n", target)
		text, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(text), "HTTP/1.0 "+want) {
			t.Errorf("GET %s HTTP/1.0: %.60q, %v", target, text, err)
		}
		conn.Close()
	}
}

// TestAbandoned: a client that goes away leaves no request, goroutine or snapshot:
// the store closes at once (see newStore), and TestMain looks for goroutines.
func TestAbandoned(t *testing.T) {
	store := newStore(t)
	fill(t, store, 5_000, 1000)
	s := serve(t, store, Options{}, ServerOptions{})
	for range 5 {
		ctx, cancel := context.WithCancel(context.Background())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/range?order=spo", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(got.Body, make([]byte, 64<<10)); err != nil {
			t.Fatal(err)
		}
		cancel()
		got.Body.Close()
	}
	s.idle()
	if got := s.get("/metrics").body; !strings.Contains(got, `trefoil_http_requests_total{endpoint="/range",method="GET",status="499"} 5`) {
		t.Errorf("abandoned requests are not counted in\n%s", got)
	}
}

// TestStalledReader: a client that does not read holds a stream no longer than the
// stall timeout.
func TestStalledReader(t *testing.T) {
	store := newStore(t)
	fill(t, store, 5_000, 1000)
	s := serve(t, store, Options{StallTimeout: 50 * time.Millisecond}, ServerOptions{})
	await.Condition(t, "an answer that begins in time", func() bool { // a slow machine may stall itself
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() }) // it stays open: the server has to let go
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /range?order=spo HTTP/1.1\r\nHost: localhost\r\n\r\n")
		line, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
		return err == nil && strings.Contains(line, "200")
	})
	s.idle()
}

// TestSlowReader: a client that keeps a pace, however little at a time, gets all.
func TestSlowReader(t *testing.T) {
	store := newStore(t)
	fill(t, store, 3_000, 1000)
	s := serve(t, store, Options{StallTimeout: time.Minute, MinBytesPerSecond: 1}, ServerOptions{})
	got, err := s.client.Get(s.url + "/range?order=spo")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	n, piece := 0, make([]byte, 1000)
	for {
		m, err := got.Body.Read(piece)
		n += m
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	if n < 3_000*1000 {
		t.Errorf("%d bytes came", n)
	}
}

// TestSlowBodies: bodies that stall or trickle are cut off, on endpoints that take
// them and on endpoints that do not.
func TestSlowBodies(t *testing.T) {
	seed.Slow(t)
	store := newStore(t)
	request.LeftoverTimeout, request.LingerTimeout = 50*time.Millisecond, 100*time.Millisecond // before the server starts
	t.Cleanup(func() { request.LeftoverTimeout, request.LingerTimeout = time.Second, 10*time.Second })
	s := serve(t, store, Options{StallTimeout: 500 * time.Millisecond, MinBytesPerSecond: 1 << 20}, ServerOptions{})
	for _, test := range []struct{ head, status string }{
		{"POST /triples HTTP/1.1\r\nContent-Type: text/turtle\r\nContent-Length: 1000", "408"},
		{"POST /load HTTP/1.1\r\nContent-Type: application/n-triples\r\nContent-Length: 1000", "408"},
		{"POST /triples HTTP/1.1\r\nContent-Type: text/turtle\r\nTransfer-Encoding: chunked", "408"},
		{"POST /triples HTTP/1.1\r\nContent-Length: 1000", "415"},
		{"GET /range?order=spo HTTP/1.1\r\nContent-Length: 1000", "400"},
		{"POST /nowhere HTTP/1.1\r\nContent-Length: 100000", "404"},
	} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s\r\nHost: localhost\r\n\r\n", test.head)
		stop := make(chan struct{})
		stopped := make(chan struct{})
		go func() { // trickles as long as the server takes it
			defer close(stopped)
			for {
				piece := "#"
				if strings.Contains(test.head, "chunked") {
					piece = "1\r\n#\r\n"
				}
				if _, err := io.WriteString(conn, piece); err != nil {
					return
				}
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
			}
		}()
		text, _ := io.ReadAll(conn) // may end with a reset
		if !strings.HasPrefix(string(text), "HTTP/1.1 "+test.status) {
			t.Errorf("%q: %.100q", test.head, text)
		}
		close(stop)
		<-stopped
		conn.Close()
	}
	s.idle()
}

// TestBodyBreaksOff: a body that ends before its announced length is no document.
func TestBodyBreaksOff(t *testing.T) {
	s, store := serveTriples(t, "", Options{})
	for _, head := range []string{
		"POST /triples HTTP/1.1\r\nContent-Type: application/n-triples\r\nContent-Length: 1000",
		"POST /triples HTTP/1.1\r\nContent-Type: text/turtle\r\nTransfer-Encoding: chunked",
		"POST /load HTTP/1.1\r\nContent-Type: application/n-triples\r\nContent-Length: 1000",
	} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		body := "<http://a> <http://b> <http://c> .\n"
		if strings.Contains(head, "chunked") {
			body = fmt.Sprintf("%x\r\n%s\r\n", len(body), body)
		}
		fmt.Fprintf(conn, "%s\r\nHost: localhost\r\n\r\n%s", head, body)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(conn)
		conn.Close()
	}
	s.idle()
	if got := s.get("/count"); got.body != `{"count":0,"exact":true}`+"\n" {
		t.Errorf("half a document was taken: %s", got.body)
	}
	if left, err := os.ReadDir(store.Sink().Dir()); len(left) != 0 || err != nil {
		t.Errorf("of a load that broke off there is left %v, %v", left, err)
	}
}

// TestUploadWithPauses: an upload whose sender is busy between pieces, but in time
// with each, goes through, and the answer is not cut by an old deadline.
func TestUploadWithPauses(t *testing.T) {
	s, _ := serveTriples(t, "", Options{StallTimeout: time.Minute, MinBytesPerSecond: 1})
	r, w := io.Pipe()
	go func() {
		for i := range 200 {
			fmt.Fprintf(w, "<http://a> <http://b> \"%d\" .\n", i)
			runtime.Gosched()
		}
		w.Close()
	}()
	if got := s.send("POST", "/load", r, "Content-Type", response.NTriples); got.status != 200 || !strings.Contains(got.body, `"new":200`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}
