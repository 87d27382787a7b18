// Tests of streams.

package peer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

func collect(s *Stream) (frames [][]byte, err error) {
	defer s.Close()
	for {
		frame, err := s.Next()
		if err != nil {
			return frames, err
		}
		frames = append(frames, bytes.Clone(frame))
	}
}

func TestStream(t *testing.T) {
	sizes := []int{0, 1, 127, 128, 65535, 65536, 3*piece + 1, MaxFrame, 5}
	var dials atomic.Int32
	addr, _ := start(t, Options{}, func(s *Server) {
		s.HandleStream("sizes", func(_ context.Context, _ Header, body []byte, w *Writer) error {
			for _, n := range sizes {
				if err := w.Write(bytes.Repeat(body, n)); err != nil {
					return err
				}
			}
			return nil
		})
		s.HandleStream("none", func(context.Context, Header, []byte, *Writer) error { return nil })
		s.HandleStream("many", func(_ context.Context, _ Header, _ []byte, w *Writer) error {
			for i := range 20000 {
				if err := w.Write(binary.AppendUvarint(nil, uint64(i))); err != nil {
					return err
				}
			}
			return nil
		})
	})
	c := NewClient(func(ctx context.Context, addr string) (net.Conn, error) {
		dials.Add(1)
		return tcp(ctx, addr)
	}, func() Header { return sender }, ClientOptions{})
	defer c.Close()
	run := func(method string) [][]byte {
		s, err := c.Stream(t.Context(), Recipient{Address: addr}, method, []byte("x"))
		require.NoError(t, err)
		frames, err := collect(s)
		if err != io.EOF {
			t.Fatalf("%s ended with %v", method, err)
		}
		if _, err := s.Next(); err != io.EOF {
			t.Errorf("%s after its end: %v", method, err)
		}
		return frames
	}
	frames := run("sizes")
	if len(frames) != len(sizes) {
		t.Fatalf("%d frames, want %d", len(frames), len(sizes))
	}
	for i, f := range frames {
		if len(f) != sizes[i] || bytes.Count(f, []byte("x")) != sizes[i] {
			t.Errorf("frame %d has %d bytes, want %d", i, len(f), sizes[i])
		}
	}
	if frames := run("none"); len(frames) != 0 {
		t.Errorf("%d frames of none", len(frames))
	}
	for i, f := range run("many") {
		if n, _ := binary.Uvarint(f); n != uint64(i) {
			t.Fatalf("frame %d is %d", i, n)
		}
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections for three streams in turn", n)
	}
}

func TestStreamFailures(t *testing.T) {
	addr, _ := start(t, Options{}, func(s *Server) {
		s.HandleStream("fail", func(_ context.Context, _ Header, body []byte, w *Writer) error {
			if strings.Contains(string(body), "after") {
				if err := errors.Join(w.Write([]byte("one")), w.Flush()); err != nil {
					return err
				}
			}
			switch {
			case strings.Contains(string(body), "refuse"):
				return &Refusal{Code: CodeLease, Message: "no lease", Epoch: 4}
			case strings.Contains(string(body), "panic"):
				panic("oh")
			case strings.Contains(string(body), "great"):
				return w.Write(make([]byte, MaxFrame+1))
			}
			return errors.New("disk full")
		})
	})
	c := client(t, ClientOptions{})
	for _, body := range []string{"refuse", "refuse after", "panic", "panic after", "great after", "fail", "fail after"} {
		s, err := c.Stream(t.Context(), Recipient{Address: addr}, "fail", []byte(body))
		after := strings.HasSuffix(body, "after")
		if (err == nil) != after {
			t.Fatalf("%s: Stream: %v", body, err)
		}
		if err == nil {
			var frames [][]byte
			if frames, err = collect(s); len(frames) != 1 {
				t.Errorf("%s: %d frames", body, len(frames))
			}
		}
		var refusal *Refusal
		var remote *RemoteError
		if strings.HasPrefix(body, "refuse") {
			if !errors.As(err, &refusal) || refusal.Code != CodeLease || refusal.Epoch != 4 {
				t.Errorf("%s: %v", body, err)
			}
		} else if !errors.As(err, &remote) || remote.Message == "" {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// answering dials connections on which every request gets answer, and then the end.
func answering(t *testing.T, answer []byte) func(context.Context, string) (net.Conn, error) {
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	return func(context.Context, string) (net.Conn, error) {
		here, there := net.Pipe()
		wg.Go(func() {
			defer there.Close()
			req, err := http.ReadRequest(bufio.NewReader(there))
			if err != nil {
				return
			}
			io.Copy(io.Discard, req.Body)
			there.Write(answer)
		})
		return here, nil
	}
}

func chunked(frames string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(frames), frames)
}

// Wherever an answer is cut, its reader gets an error.
func TestStreamCut(t *testing.T) {
	whole := chunked("d\x03oned\x00d\x03two" + "e\x00")
	complete := bytes.Index(whole, []byte("e\x00")) + 2
	for n := range len(whole) + 1 {
		c := NewClient(answering(t, whole[:n]), func() Header { return sender }, ClientOptions{})
		s, err := c.Stream(t.Context(), Recipient{Address: "a:1"}, "m", nil)
		if err != nil {
			if n > bytes.Index(whole, []byte("\r\n\r\n"))+4 || IsDefinite(err) {
				t.Errorf("cut at %d of %d: Stream: %v", n, len(whole), err)
			}
			c.Close()
			continue
		}
		frames, err := collect(s)
		if n >= complete {
			if err != io.EOF || len(frames) != 3 {
				t.Errorf("cut at %d of %d, behind the end frame: %q, %v", n, len(whole), frames, err)
			}
		} else if errors.Is(err, io.EOF) || !errors.Is(err, io.ErrUnexpectedEOF) || IsDefinite(err) {
			t.Errorf("cut at %d of %d: %q, %v", n, len(whole), frames, err)
		}
		c.Close()
	}
}

func TestStreamMalformed(t *testing.T) {
	for _, frames := range []string{
		"d\x01x",                         // HTTP's end, but no end frame
		"q\x00",                          // unknown kind
		"e\x01x",                         // an end with content
		"d\x81\x80\x80\x08",              // above MaxFrame
		"d\xff\xff\xff\x07",              // just below it, with nothing behind
		"x\x81\x80\x04",                  // an error above its limit
		"x\x01{",                         // an error that is not JSON
		"d" + strings.Repeat("\xff", 20), // a length without end
	} {
		c := NewClient(answering(t, chunked(frames)), func() Header { return sender }, ClientOptions{})
		s, err := c.Stream(t.Context(), Recipient{Address: "a:1"}, "m", nil)
		require.NoError(t, err)
		if _, err = collect(s); err == nil || errors.Is(err, io.EOF) || IsDefinite(err) {
			t.Errorf("%q: %v", frames, err)
		}
		c.Close()
	}
}

// io.EOF stands for an end between frames, never inside of one.
func TestReadFrameEOF(t *testing.T) {
	whole := "d\x81\x01" + strings.Repeat("x", 129)
	for n := range len(whole) + 1 {
		_, content, err := readFrame(bufio.NewReader(strings.NewReader(whole[:n])), nil)
		want := io.ErrUnexpectedEOF
		switch n {
		case 0:
			want = io.EOF
		case len(whole):
			want = nil
		}
		if err != want || err == nil && len(content) != 129 {
			t.Errorf("%d of %d bytes: %v, want %v", n, len(whole), err, want)
		}
	}
}

func TestStreamEndsWithItsReader(t *testing.T) {
	ended := make(chan error, 1)
	addr, _ := start(t, Options{}, func(s *Server) {
		s.HandleStream("wait", func(ctx context.Context, _ Header, _ []byte, w *Writer) error {
			if err := errors.Join(w.Write([]byte("one")), w.Flush()); err != nil {
				return err
			}
			<-ctx.Done()
			ended <- w.Write([]byte("two"))
			return ctx.Err()
		})
	})
	for name, tt := range map[string]struct {
		end  func(c *Client, s *Stream, cancel func())
		want error
	}{
		"Stream.Close": {func(_ *Client, s *Stream, _ func()) { s.Close() }, ErrClosed},
		"Client.Close": {func(c *Client, _ *Stream, _ func()) { c.Close() }, ErrClosed},
		"context":      {func(_ *Client, _ *Stream, cancel func()) { cancel() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := client(t, ClientOptions{})
			s, err := c.Stream(ctx, Recipient{Address: addr}, "wait", nil)
			require.NoError(t, err)
			defer s.Close()
			// The first frame comes though the handler goes on: it was flushed.
			if frame, err := s.Next(); err != nil || string(frame) != "one" {
				t.Fatalf("%q, %v", frame, err)
			}
			var wg sync.WaitGroup
			wg.Go(func() { tt.end(c, s, cancel) })
			if _, err := s.Next(); !errors.Is(err, tt.want) || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the reader got %v", err)
			}
			if err := <-ended; err == nil {
				t.Error("the writer got no error")
			}
			wg.Wait()
		})
	}
}
