// Tests of the origin of requests, and of fields of other releases.

package peer

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/tracing"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestOrigin: calls and streams carry the ID of the request and its trace, also through a node without a tracer.
func TestOrigin(t *testing.T) {
	origin := func(ctx context.Context) string {
		h := http.Header{}
		tracing.OriginOf(ctx).Write(h)
		return logs.RequestOf(ctx) + " " + h.Get("Traceparent")
	}
	addr, _ := start(t, Options{}, func(s *Server) {
		s.Handle("call", func(ctx context.Context, _ Header, _ []byte) ([]byte, error) { return []byte(origin(ctx)), nil })
		s.HandleStream("stream", func(ctx context.Context, _ Header, _ []byte, w *Writer) error { return w.Write([]byte(origin(ctx))) })
	})
	c := client(t, ClientOptions{})
	h := http.Header{}
	h.Set("Traceparent", parent)
	h.Set(logs.Header, strings.Repeat("r", 128))
	for want, ctx := range map[string]context.Context{
		" ":                                     t.Context(),
		"r-1 ":                                  logs.NewContext(t.Context(), "r-1"),
		strings.Repeat("r", 128) + " " + parent: tracing.Read(h).Context(t.Context()),
	} {
		got, err := c.Call(ctx, Recipient{Address: addr}, "call", nil)
		if err != nil || string(got) != want {
			t.Errorf("the call has the origin %q, want %q: %v", got, want, err)
		}
		stream, err := c.Stream(ctx, Recipient{Address: addr}, "stream", nil)
		require.NoError(t, err)
		if got, err := stream.Next(); err != nil || string(got) != want {
			t.Errorf("the stream has the origin %q, want %q: %v", got, want, err)
		}
		stream.Close()
	}
}

// TestUnknownFields: fields of a later release are ignored, and those of this one may be missing or malformed, as in
// messages of an earlier one.
func TestUnknownFields(t *testing.T) {
	addr, _ := start(t, Options{}, func(s *Server) { s.Handle("echo", echo) })
	for _, fields := range []http.Header{
		{}, {"Trefoil-Later": {"new"}, "Tracestate": {"a=b"}}, {"X-Request-Id": {"a b"}, "Traceparent": {"00-0-0-0"}},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/echo", strings.NewReader("body"))
		require.NoError(t, err)
		r.Header = sender.fields()
		maps.Copy(r.Header, fields)
		r.Close = true
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		res.Body.Close()
		if res.StatusCode != http.StatusOK || res.ContentLength != 4 {
			t.Errorf("with %v: %s", fields, res.Status)
		}
	}
}
