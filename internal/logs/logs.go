// The log of a process: its formats, and the ID of a request in each line.

// Package logs makes the log of a process. [New] returns a logger of one format and level, and
// [WithRequests] adds the ID of the request in the context to each line. [RequestID] returns the ID
// that a request's headers have, or makes one.
package logs

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"strings"
)

// New returns a logger that writes lines of text (key=value) or, if json is set, of JSON.
func New(w io.Writer, json bool, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if json {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// Key is the name of a request's ID in a line.
const Key = "request"

type requestKey struct{}

// NewContext returns ctx with the ID of its request.
func NewContext(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// RequestOf returns the ID of the request of ctx, "" if it has none.
func RequestOf(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// WithRequests returns a logger that adds the ID of the request in the context to each line. It
// returns the logger itself if it does so already.
func WithRequests(l *slog.Logger) *slog.Logger {
	if _, ok := l.Handler().(handler); ok {
		return l
	}
	return slog.New(handler{l.Handler()})
}

type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if id := RequestOf(ctx); id != "" {
		r.AddAttrs(slog.String(Key, id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }

// Header is the header of a request's ID, in requests and answers.
const Header = "X-Request-Id"

// maxID is the greatest length of an ID in bytes.
const maxID = 128

// RequestID returns the ID of a request: that of X-Request-Id, or the trace ID of traceparent (W3C
// Trace Context). Without a valid one it makes a new ID.
func RequestID(h http.Header) string {
	if id := SentID(h); id != "" {
		return id
	}
	// version "-" trace-id "-" parent-id "-" flags; later versions may have more parts.
	parts := strings.Split(h.Get("Traceparent"), "-")
	if len(parts) >= 4 && len(parts[0]) == 2 && parts[0] != "ff" && isTraceID(parts[1]) {
		return parts[1]
	}
	return rand.Text()
}

// SentID returns the ID in X-Request-Id, "" if there is no valid one.
func SentID(h http.Header) string {
	if id := h.Get(Header); isID(id) {
		return id
	}
	return ""
}

// isID reports whether an ID needs no quotes in a line: letters, digits and some signs.
func isID(id string) bool {
	for _, c := range []byte(id) {
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z'; !letter && (c < '0' || c > '9') && strings.IndexByte("-._~:/+@", c) < 0 {
			return false
		}
	}
	return id != "" && len(id) <= maxID
}

func isTraceID(id string) bool {
	return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == "" && strings.Trim(id, "0") != ""
}
