// Tests of the server.

package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// bubble runs f in synctest with a server on a network of pipes.
func bubble(t *testing.T, o Options, register func(*Server), f func(t *testing.T, s *Server, c *Client)) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(o)
		register(s)
		p := newPipes()
		serveOn(t, s, p)
		c := NewClient(p.dial, func() Header { return sender }, ClientOptions{})
		defer c.Close()
		f(t, s, c)
	})
}

func TestInMemory(t *testing.T) {
	bubble(t, Options{}, func(s *Server) {
		s.Handle("echo", echo)
		s.HandleStream("hourly", func(ctx context.Context, _ Header, _ []byte, w *Writer) error {
			for range 24 {
				time.Sleep(time.Hour)
				if err := errors.Join(w.Write([]byte("tick")), w.Flush()); err != nil {
					return err
				}
			}
			return nil
		})
	}, func(t *testing.T, _ *Server, c *Client) {
		if got, err := c.Call(t.Context(), Recipient{Address: "a:1"}, "echo", make([]byte, 200000)); err != nil || len(got) != 200000 {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		s, err := c.Stream(t.Context(), Recipient{Address: "a:1"}, "hourly", []byte("a body"))
		require.NoError(t, err)
		if frames, err := collect(s); err != io.EOF || len(frames) != 24 {
			t.Errorf("%d frames, %v", len(frames), err)
		}
	})
}

func TestStalledReader(t *testing.T) {
	bubble(t, Options{StallTimeout: time.Minute}, func(s *Server) {
		s.HandleStream("flood", func(_ context.Context, _ Header, _ []byte, w *Writer) error {
			for {
				if err := w.Write(make([]byte, 100000)); err != nil {
					return err
				}
			}
		})
	}, func(t *testing.T, s *Server, c *Client) {
		st, err := c.Stream(t.Context(), Recipient{Address: "a:1"}, "flood", nil)
		require.NoError(t, err)
		time.Sleep(59 * time.Second) // the bubble's clock
		if _, err := st.Next(); err != nil {
			t.Errorf("a reader that is slow: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if frames, err := collect(st); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a reader that stalls: %d frames, %v", len(frames), err)
		}
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running != 0 {
			t.Error("the handler still runs")
		}
	})
}

// If a request is not from one of our nodes, it is refused.
func TestStrangers(t *testing.T) {
	addr, _ := start(t, Options{}, func(s *Server) { s.Handle("echo", echo) })
	fields := "Trefoil-Cluster: c\r\nTrefoil-Generation: 1\r\nTrefoil-Epoch: 1\r\nTrefoil-From: 00000000000000a1\r\nTrefoil-Incarnation: 1\r\n"
	for _, tt := range []struct {
		request string
		code    Code
	}{
		{"POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", CodeStranger},
		{"POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + strings.Replace(fields, "a1", "xx", 1) + "\r\n", CodeStranger},
		{"POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + strings.Replace(fields, "Cluster: ", "Cluster: %", 1) + "\r\n", CodeStranger},
		{"GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + fields + "\r\n", CodeMethod},
		{"POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n" + fields + "\r\n1\r\nx\r\n0\r\n\r\n", CodeTooLarge},
	} {
		c, err := tcp(t.Context(), addr)
		require.NoError(t, err)
		io.WriteString(c, tt.request)
		answer, err := io.ReadAll(c)
		c.Close()
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 409 ") || !strings.Contains(string(answer), string(`"`+tt.code+`"`)) {
			t.Errorf("%q\nis answered %q, %v", tt.request, answer, err)
		}
	}
}

func TestStalledSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(Options{StallTimeout: time.Minute})
		s.Handle("echo", echo)
		p := newPipes()
		serveOn(t, s, p)
		c, err := p.dial(t.Context(), "")
		require.NoError(t, err)
		defer c.Close()
		io.WriteString(c, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nTrefoil-Cluster:\r\nTrefoil-Generation: 1\r\n"+
			"Trefoil-Epoch: 1\r\nTrefoil-From: 00000000000000a1\r\nTrefoil-Incarnation: 1\r\n\r\nhalf")
		begin := time.Now()
		if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
			t.Errorf("%q, %v", b, err)
		}
		if d := time.Since(begin); d < time.Minute || d > 2*time.Minute {
			t.Errorf("cut off after %v", d)
		}
	})
}

// TestClaims: clients announce more bytes than there is memory for, and send few. They must not
// keep others out, because only received bytes count.
func TestClaims(t *testing.T) {
	const body = 4 << 20
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(Options{MaxBody: body, MaxMemory: 2 * body})
		s.Handle("echo", echo)
		p := newPipes()
		serveOn(t, s, p)
		send := func(sent int) io.ReadCloser {
			c, err := p.dial(t.Context(), "")
			require.NoError(t, err)
			if _, err := fmt.Fprintf(c, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nTrefoil-Cluster:\r\nTrefoil-Generation: 1\r\n"+
				"Trefoil-Epoch: 1\r\nTrefoil-From: 00000000000000a1\r\nTrefoil-Incarnation: 1\r\n\r\n%s", body, make([]byte, sent)); err != nil {
				t.Fatal(err)
			}
			return c
		}
		// 1. Many large bodies of which little arrives leave room for one more.
		var stalled []io.ReadCloser
		for range 20 {
			stalled = append(stalled, send(1000))
		}
		synctest.Wait()
		c := NewClient(p.dial, func() Header { return sender }, ClientOptions{})
		defer c.Close()
		if got, err := c.Call(t.Context(), Recipient{Address: "a:1"}, "echo", make([]byte, body)); err != nil || len(got) != body {
			t.Errorf("beside claims of %d bytes, of which %d have arrived: %d bytes, %v", 20*body, 20*1000, len(got), err)
		}
		// 2. Bodies that have arrived in large part leave none.
		for range 3 {
			stalled = append(stalled, send(body/2+1))
		}
		synctest.Wait()
		var r *Refusal
		if _, err := c.Call(t.Context(), Recipient{Address: "a:1"}, "echo", make([]byte, body)); !errors.As(err, &r) || r.Code != CodeBusy {
			t.Errorf("beside much that has arrived: %v", err)
		}
		for _, c := range stalled {
			c.Close()
		}
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.memory != 0 || s.running != 0 {
			t.Errorf("afterwards %d requests run, with %d bytes", s.running, s.memory)
		}
	})
}

func TestCloseWaits(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	addr, s := start(t, Options{}, func(s *Server) {
		s.Handle("wait", func(ctx context.Context, _ Header, _ []byte) ([]byte, error) {
			close(entered)
			<-leave
			return []byte("done"), ctx.Err()
		})
		s.Handle("echo", echo)
		s.HandleStream("stream", func(_ context.Context, _ Header, _ []byte, w *Writer) error { return w.Write([]byte("x")) })
	})
	c := client(t, ClientOptions{})
	other := client(t, ClientOptions{})
	if _, err := other.Call(t.Context(), Recipient{Address: addr}, "echo", nil); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if got, err := c.Call(t.Context(), Recipient{Address: addr}, "wait", nil); err != nil || string(got) != "done" {
			t.Errorf("a call that ran when Close came: %q, %v", got, err)
		}
	})
	<-entered
	closed := make(chan error)
	wg.Go(func() { closed <- s.Close(context.Background()) })
	// The kept connection gets a refusal. After that one is used up, dialling fails.
	var r *Refusal
	for r == nil {
		_, err := other.Call(t.Context(), Recipient{Address: addr}, "echo", nil)
		if errors.As(err, &r) && r.Code != CodeClosing || err != nil && !IsDefinite(err) {
			t.Fatal(err)
		}
	}
	select {
	case <-closed:
		t.Error("Close did not wait")
	default:
	}
	close(leave)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	wg.Wait()
	if _, err := other.Call(t.Context(), Recipient{Address: addr}, "echo", nil); err == nil {
		t.Error("a call after Close was answered")
	}
	if err := s.Serve(listen(t)); err != nil {
		t.Errorf("Serve after Close: %v", err)
	}
}

func TestCloseEndsHandlers(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		leave := make(chan struct{})
		synctest.Test(t, func(t *testing.T) {
			leave = make(chan struct{})
			s := NewServer(Options{})
			s.Handle("wait", func(ctx context.Context, _ Header, _ []byte) ([]byte, error) {
				if deaf {
					<-leave
				}
				<-ctx.Done()
				return nil, ctx.Err()
			})
			p := newPipes()
			serveOn(t, s, p)
			c := NewClient(p.dial, func() Header { return sender }, ClientOptions{})
			defer c.Close()
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := c.Call(t.Context(), Recipient{Address: "a:1"}, "wait", nil); err == nil || IsDefinite(err) {
					t.Errorf("the call: %v", err)
				}
			})
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begin := time.Now()
			err := s.Close(ctx)
			if (err != nil) != deaf {
				t.Errorf("deaf %v: Close: %v", deaf, err)
			}
			want := time.Minute
			if deaf {
				want += grace
			}
			if d := time.Since(begin); d != want {
				t.Errorf("deaf %v: Close took %v, want %v", deaf, d, want)
			}
			close(leave)
			wg.Wait()
		})
	}
}

func TestTwoHandlersOfOneMethod(t *testing.T) {
	s := NewServer(Options{})
	s.Handle("m", echo)
	defer func() {
		if recover() == nil {
			t.Error("two handlers of one method were taken")
		}
		s.Close(t.Context())
	}()
	s.HandleStream("m", func(context.Context, Header, []byte, *Writer) error { return nil })
}

// Watch is called for every admitted request, when it begins and when it is answered, also with
// an error.
func TestWatch(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	say := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, what)
	}
	watch := func(_ context.Context, method string, _ Header) func() {
		say("begin " + method)
		if method == "echo" {
			return nil
		}
		return func() { say("end " + method) }
	}
	bubble(t, Options{Watch: watch}, func(s *Server) {
		s.Handle("echo", echo)
		s.Handle("fail", func(context.Context, Header, []byte) ([]byte, error) {
			say("run fail")
			return nil, errors.New("no")
		})
	}, func(t *testing.T, _ *Server, c *Client) {
		for _, method := range []string{"echo", "fail", "nothing"} {
			_, err := c.Call(t.Context(), Recipient{Address: "a:1"}, method, nil)
			if (err == nil) != (method == "echo") {
				t.Errorf("%s: %v", method, err)
			}
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if got, want := strings.Join(heard, ", "), "begin echo, begin fail, run fail, end fail"; got != want {
			t.Errorf("heard %q, not %q", got, want)
		}
	})
}
