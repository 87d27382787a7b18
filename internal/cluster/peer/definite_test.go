// Tests of definite errors.

package peer

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestIsDefinite(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{io.ErrUnexpectedEOF, false},
		{context.Canceled, false},
		{&RemoteError{}, false},
		{&Refusal{Code: CodeBusy}, true},
		{fmt.Errorf("scan: %w", &Refusal{Code: CodeBusy}), true},
	} {
		if IsDefinite(tt.err) != tt.want {
			t.Errorf("%v: %v", tt.err, !tt.want)
		}
	}
}

func TestNeverSent(t *testing.T) {
	full := errors.New("network is full")
	ctx, cancel := context.WithCancel(t.Context())
	c := NewClient(func(dialing context.Context, addr string) (net.Conn, error) {
		switch addr {
		case "fails:1":
			return nil, full
		case "hangs:1":
			cancel()
		}
		<-dialing.Done()
		return nil, dialing.Err()
	}, func() Header { return sender }, ClientOptions{})
	defer c.Close()
	_, err := c.Call(ctx, Recipient{Address: "fails:1"}, "m", []byte("x"))
	if !IsDefinite(err) || !errors.Is(err, full) || !strings.Contains(err.Error(), "m at fails:1: not sent: network is full") {
		t.Errorf("dial fails: %v", err)
	}
	for _, when := range []string{"while dialling", "before"} {
		if _, err = c.Call(ctx, Recipient{Address: "hangs:1"}, "m", []byte("x")); !IsDefinite(err) || !errors.Is(err, context.Canceled) {
			t.Errorf("context ends %s: %v", when, err)
		}
	}
	c.Close()
	if _, err = c.Call(t.Context(), Recipient{Address: "fails:1"}, "m", nil); !IsDefinite(err) || !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// The transport lets a dial go on after its request has ended. It ends with the
// client, or in time.
func TestDialsEnd(t *testing.T) {
	for _, closed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var ended atomic.Int64 // nanoseconds after begin
			begin := time.Now()
			c := NewClient(func(ctx context.Context, _ string) (net.Conn, error) {
				<-ctx.Done()
				ended.Store(int64(time.Since(begin)))
				return nil, ctx.Err()
			}, func() Header { return sender }, ClientOptions{DialTimeout: time.Minute})
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := c.Call(ctx, Recipient{Address: "a:1"}, "m", nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			want := time.Minute
			if closed {
				want = time.Second
				c.Close()
			}
			time.Sleep(time.Hour) // the bubble's clock
			if got := time.Duration(ended.Load()); got != want {
				t.Errorf("closed %v: the dial ended after %v, want %v", closed, got, want)
			}
		})
	}
}

// requests accepts connections and hands their requests to f, which says whether
// to answer and whether to keep the connection.
func requests(t *testing.T, f func(body []byte) (answer, keep bool)) (addr string) {
	l := listen(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					body, err := io.ReadAll(req.Body)
					if err != nil {
						return
					}
					answer, keep := f(body)
					if answer {
						io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					}
					if !keep {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// A request that has arrived is not sent again when its connection, a new one or
// one kept alive, is lost before the answer.
func TestAmbiguousIsNotRepeated(t *testing.T) {
	for _, size := range []int{0, 10, 1 << 20} {
		var mu sync.Mutex
		n := 0
		addr := requests(t, func([]byte) (answer, keep bool) {
			mu.Lock()
			defer mu.Unlock()
			n++
			return n == 2, n == 2 // the first and third are lost
		})
		c := client(t, ClientOptions{})
		body := make([]byte, size)
		for i, answered := range []bool{false, true, false} {
			_, err := c.Call(t.Context(), Recipient{Address: addr}, "m", body)
			if (err == nil) != answered || IsDefinite(err) {
				t.Errorf("%d bytes, request %d: %v", size, i+1, err)
			}
		}
		mu.Lock()
		if n != 3 {
			t.Errorf("%d bytes: %d requests arrived, want 3", size, n)
		}
		mu.Unlock()
	}
}

// The server closes every connection after an answer without notice, because requests must meet
// closing connections.
func TestStaleConnections(t *testing.T) {
	const calls = 500
	var mu sync.Mutex
	arrived := map[uint64]int{}
	addr := requests(t, func(body []byte) (answer, keep bool) {
		mu.Lock()
		defer mu.Unlock()
		arrived[binary.BigEndian.Uint64(body)]++
		return true, false
	})
	c := client(t, ClientOptions{})
	results := map[string]int{}
	for i := range uint64(calls) {
		_, err := c.Call(t.Context(), Recipient{Address: addr}, "m", binary.BigEndian.AppendUint64(nil, i))
		mu.Lock()
		n := arrived[i]
		mu.Unlock()
		switch {
		case err == nil:
			results["answered"]++
			if n != 1 {
				t.Errorf("call %d was answered and arrived %d times", i, n)
			}
		case IsDefinite(err):
			results["definite"]++
		default:
			results["ambiguous"]++
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for i, n := range arrived {
		if n > 1 {
			t.Errorf("call %d arrived %d times", i, n)
		}
	}
	if len(arrived) < results["answered"] || len(arrived) > results["answered"]+results["ambiguous"] {
		t.Errorf("%d calls arrived, of %v", len(arrived), results)
	}
	t.Log(results)
}

// deaf is a connection that fails without sending anything.
type deaf struct{ net.Conn }

func (deaf) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestAttempts(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	c := &conn{Conn: deaf{here}}
	c.Write([]byte("an earlier request"))
	var a attempts
	a.got(httptrace.GotConnInfo{Conn: c})
	if !a.unsent() {
		t.Error("nothing was written, but unsent says no")
	}
	if _, err := c.Write([]byte("late")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write after unsent: %v", err)
	}
	c = &conn{Conn: deaf{here}}
	a.got(httptrace.GotConnInfo{Conn: c})
	c.Write([]byte("x"))
	if a.unsent() {
		t.Error("a write began, but unsent says yes")
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	entered, ended := make(chan struct{}), make(chan struct{})
	addr, _ := start(t, Options{}, func(s *Server) {
		s.Handle("wait", func(ctx context.Context, _ Header, _ []byte) ([]byte, error) {
			close(entered)
			<-ctx.Done()
			close(ended)
			return nil, nil
		})
	})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		<-entered
		cancel()
	})
	_, err := client(t, ClientOptions{}).Call(ctx, Recipient{Address: addr}, "wait", []byte("x"))
	if !errors.Is(err, context.Canceled) || IsDefinite(err) {
		t.Error(err)
	}
	<-ended
	wg.Wait()
}
