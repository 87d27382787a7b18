// Tests of calls.

package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func echo(_ context.Context, _ Header, body []byte) ([]byte, error) { return body, nil }

func TestCall(t *testing.T) {
	addr, _ := start(t, Options{}, func(s *Server) {
		s.Handle("test/echo", func(_ context.Context, from Header, body []byte) ([]byte, error) {
			if from != sender {
				return nil, fmt.Errorf("the header came as %+v", from)
			}
			return body, nil
		})
	})
	c := client(t, ClientOptions{})
	for _, n := range []int{0, 1, 1000, 33 << 10, piece, 3*piece + 17} {
		body := bytes.Repeat([]byte{0, 1, 255, '\n'}, n/4+1)[:n]
		got, err := c.Call(t.Context(), Recipient{Address: addr}, "test/echo", body)
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%d bytes came back as %d, %v", n, len(got), err)
		}
	}
}

func TestCallsRunAtOnce(t *testing.T) {
	const n = 40
	var here sync.WaitGroup // no handler answers before all have come
	here.Add(n)
	addr, _ := start(t, Options{}, func(s *Server) {
		s.Handle("meet", func(_ context.Context, _ Header, body []byte) ([]byte, error) {
			here.Done()
			here.Wait()
			return body, nil
		})
	})
	c := client(t, ClientOptions{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			body := bytes.Repeat([]byte{byte(i)}, 5000)
			if got, err := c.Call(t.Context(), Recipient{Address: addr}, "meet", body); err != nil || !bytes.Equal(got, body) {
				t.Errorf("call %d: %d bytes, %v", i, len(got), err)
			}
		})
	}
	wg.Wait()
}

func TestFailuresOfHandlers(t *testing.T) {
	var c *Client
	var addr string
	addr, _ = start(t, Options{}, func(s *Server) {
		s.Handle("refuse", func(context.Context, Header, []byte) ([]byte, error) {
			return nil, &Refusal{Code: CodeEpoch, Message: "not \x00 now", Epoch: 9}
		})
		s.Handle("wrapped", func(context.Context, Header, []byte) ([]byte, error) {
			return nil, fmt.Errorf("half done: %w", &Refusal{Code: CodeEpoch})
		})
		s.Handle("passed-on", func(ctx context.Context, _ Header, _ []byte) ([]byte, error) {
			return c.Call(ctx, Recipient{Address: addr}, "refuse", nil)
		})
		s.Handle("fail", func(context.Context, Header, []byte) ([]byte, error) { return []byte("x"), errors.New("disk full") })
		s.Handle("long", func(context.Context, Header, []byte) ([]byte, error) {
			return nil, errors.New(strings.Repeat("\x01", 1<<20))
		})
		s.Handle("panic", func(context.Context, Header, []byte) ([]byte, error) { panic("oh") })
		s.HandleStream("stream", func(context.Context, Header, []byte, *Writer) error { return nil })
		s.Handle("echo", echo)
	})
	c = client(t, ClientOptions{})
	for _, tt := range []struct {
		method   string
		code     Code // "" = a RemoteError
		message  string
		definite bool
	}{
		{"refuse", CodeEpoch, "not \x00 now", true},
		{"wrapped", "", "half done", false},
		{"passed-on", "", "not \x00 now", false},
		{"fail", "", "disk full", false},
		{"long", "", strings.Repeat("\x01", maxMessage), false},
		{"panic", "", "panic: oh", false},
		{"nowhere", CodeMethod, "nowhere", true},
	} {
		_, err := c.Call(t.Context(), Recipient{Address: addr}, tt.method, []byte("body"))
		var refusal *Refusal
		var remote *RemoteError
		switch {
		case errors.As(err, &refusal):
			if refusal.Code != tt.code || !strings.Contains(refusal.Message, tt.message) {
				t.Errorf("%s: %v", tt.method, err)
			}
			if tt.code == CodeEpoch && (refusal.Epoch != 9 || err.Error() != "peer "+addr+" refuses (epoch, in epoch 9): not \x00 now") {
				t.Errorf("%s: epoch %d: %v", tt.method, refusal.Epoch, err)
			}
		case errors.As(err, &remote):
			if tt.code != "" || !strings.Contains(remote.Message, tt.message) || !strings.HasPrefix(err.Error(), tt.method+" at "+addr+": ") {
				t.Errorf("%s: %v", tt.method, err)
			}
		default:
			t.Errorf("%s: %T %v", tt.method, err, err)
		}
		if IsDefinite(err) != tt.definite {
			t.Errorf("%s: definite %v: %v", tt.method, !tt.definite, err)
		}
	}
	if _, err := c.Call(t.Context(), Recipient{Address: addr}, "stream", nil); err == nil || IsDefinite(err) {
		t.Errorf("a call of a stream: %v", err)
	}
	if s, err := c.Stream(t.Context(), Recipient{Address: addr}, "echo", nil); err == nil {
		s.Close()
		t.Error("a stream of a call was taken")
	}
	if got, err := c.Call(t.Context(), Recipient{Address: addr}, "echo", []byte("still here")); err != nil || string(got) != "still here" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}

func TestCheck(t *testing.T) {
	var ran atomic.Bool
	addr, _ := start(t, Options{Check: func(h Header) *Refusal {
		if h.Cluster == sender.Cluster {
			return &Refusal{Code: CodeStranger, Message: "who are you?"}
		}
		return nil
	}}, func(s *Server) {
		s.Handle("run", func(context.Context, Header, []byte) ([]byte, error) {
			ran.Store(true)
			return nil, nil
		})
	})
	_, err := client(t, ClientOptions{}).Call(t.Context(), Recipient{Address: addr}, "run", make([]byte, 1<<20))
	var r *Refusal
	if !errors.As(err, &r) || r.Code != CodeStranger || ran.Load() {
		t.Errorf("%v, handler ran: %v", err, ran.Load())
	}
}

func TestLimits(t *testing.T) {
	addr, _ := start(t, Options{MaxBody: 1000}, func(s *Server) {
		s.Handle("echo", echo)
		s.Handle("big", func(context.Context, Header, []byte) ([]byte, error) { return make([]byte, 2001), nil })
	})
	c := client(t, ClientOptions{MaxBody: 1 << 20, MaxAnswer: 2000})
	if _, err := c.Call(t.Context(), Recipient{Address: addr}, "echo", make([]byte, 1000)); err != nil {
		t.Error(err)
	}
	_, err := c.Call(t.Context(), Recipient{Address: addr}, "echo", make([]byte, 1001))
	var r *Refusal
	if !errors.As(err, &r) || r.Code != CodeTooLarge {
		t.Errorf("above the server's limit: %v", err)
	}
	if _, err = c.Call(t.Context(), Recipient{Address: addr}, "echo", make([]byte, 1<<20+1)); !IsDefinite(err) {
		t.Errorf("above the client's limit: %v", err)
	}
	if _, err = c.Call(t.Context(), Recipient{Address: addr}, "big", nil); err == nil || IsDefinite(err) {
		t.Errorf("a great answer: %v", err)
	}
}

// A group of methods that fills its share leaves the others their room.
func TestShares(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	addr, _ := start(t, Options{Shares: map[string]int{"reads": 2}}, func(s *Server) {
		s.HandleStream("reads/scan", func(context.Context, Header, []byte, *Writer) error {
			entered <- struct{}{}
			<-leave
			return nil
		})
		s.Handle("reads/count", echo)
		s.Handle("writes/deliver", echo)
	})
	c := client(t, ClientOptions{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			stream, err := c.Stream(t.Context(), Recipient{Address: addr}, "reads/scan", nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer stream.Close()
			if _, err := stream.Next(); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		})
		<-entered
	}
	for range 3 {
		_, err := c.Call(t.Context(), Recipient{Address: addr}, "reads/count", nil)
		var r *Refusal
		if !errors.As(err, &r) || r.Code != CodeBusy || !strings.Contains(r.Message, "2 requests of reads") {
			t.Errorf("above the share: %v", err)
		}
		if _, err := c.Call(t.Context(), Recipient{Address: addr}, "writes/deliver", nil); err != nil {
			t.Errorf("of another group: %v", err)
		}
	}
	close(leave)
	wg.Wait()
	// The answers may be here a moment before their handlers count as gone.
	var r *Refusal
	_, err := c.Call(t.Context(), Recipient{Address: addr}, "reads/count", nil)
	for errors.As(err, &r) && r.Code == CodeBusy && t.Context().Err() == nil {
		_, err = c.Call(t.Context(), Recipient{Address: addr}, "reads/count", nil)
	}
	if err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestBusy(t *testing.T) {
	for name, o := range map[string]Options{
		"handlers": {MaxConcurrent: 1},
		"memory":   {MaxBody: 1500, MaxMemory: 1500},
	} {
		t.Run(name, func(t *testing.T) {
			entered, leave := make(chan struct{}), make(chan struct{})
			addr, _ := start(t, o, func(s *Server) {
				s.Handle("wait", func(context.Context, Header, []byte) ([]byte, error) {
					close(entered)
					<-leave
					return nil, nil
				})
				s.Handle("echo", echo)
			})
			c := client(t, ClientOptions{})
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := c.Call(t.Context(), Recipient{Address: addr}, "wait", make([]byte, 1000)); err != nil {
					t.Error(err)
				}
			})
			<-entered
			_, err := c.Call(t.Context(), Recipient{Address: addr}, "echo", make([]byte, 501))
			var r *Refusal
			if !errors.As(err, &r) || r.Code != CodeBusy {
				t.Errorf("while one runs: %v", err)
			}
			close(leave)
			wg.Wait()
			// The first answer may be here a moment before its handler counts as gone.
			for err = r; errors.As(err, &r) && r.Code == CodeBusy && t.Context().Err() == nil; {
				_, err = c.Call(t.Context(), Recipient{Address: addr}, "echo", make([]byte, 501))
			}
			if err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
