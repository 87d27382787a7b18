// The log of requests, and the audit log.

package server

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/trefoildb/trefoil/internal/audit"
	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/tracing"
)

// withID gives a request its ID, for its answer and for each line of the log about it.
func withID(h http.Header, r *http.Request) *http.Request {
	id := logs.RequestID(r.Header)
	h.Set(logs.Header, id)
	return r.WithContext(logs.NewContext(r.Context(), id))
}

// startSpan begins the span of a request. method and name are those for metrics. Probes and metrics have no spans,
// because they come often and need no identity.
func (a *API) startSpan(r *http.Request, method, name string) (*http.Request, *tracing.Span) {
	if name == "/healthz" || name == "/readyz" || name == "/metrics" {
		return r, nil
	}
	ctx, span := a.options.Tracer.Request(r.Context(), r.Header, method, name)
	if ctx == r.Context() {
		return r, nil
	}
	span.Text("url.path", r.URL.Path)
	span.Text("trefoil.request", logs.RequestOf(ctx))
	return r.WithContext(ctx), span
}

// endSpan ends the span of a request. Only failures of the server are failures of the span, as in OpenTelemetry's
// conventions.
func endSpan(span *tracing.Span, bytes int64, status int, err error) {
	span.Number("http.response.status_code", int64(status))
	span.Number("http.response.body.size", bytes)
	if status < http.StatusInternalServerError {
		err = nil
	}
	span.End(err)
}

// logRequest logs a request that has ended, and removes its query from those that run. A slow query
// is a warning. Others are at level info or debug.
func (a *API) logRequest(w *response.Writer, r *http.Request, trace *request.Trace, status int, took time.Duration) {
	level, message := slog.LevelDebug, "request"
	if a.options.LogRequests {
		level = slog.LevelInfo
	}
	attrs := make([]slog.Attr, 0, 10)
	attrs = append(attrs, slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", status),
		slog.Int64("bytes", w.Bytes), milliseconds(took), slog.String("user", trace.User), slog.String("remote", r.RemoteAddr))
	if trace.Query != nil {
		info, slow := a.shared.Queries.End(trace.Query, w.Bytes, status)
		attrs = append(attrs, slog.String("kind", info.Kind), slog.Int64("rows", info.Rows), slog.String("text", info.Text))
		if slow {
			level, message = slog.LevelWarn, "slow query"
		}
	}
	a.options.Logger.LogAttrs(r.Context(), level, message, attrs...)
}

// audit records a request that has ended, if it is a change or for operators.
func (a *API) audit(r *http.Request, trace *request.Trace, status int) {
	if a.options.Audit == nil || trace.Right == "" || trace.Right == access.Open || trace.Right == access.Read {
		return
	}
	err := a.options.Audit.Write(audit.Record{
		Time: time.Now().UTC(), Request: logs.RequestOf(r.Context()), User: trace.User, Remote: r.RemoteAddr, Method: r.Method, Path: r.URL.Path,
		Right: string(trace.Right), Status: status, Graphs: trace.Graphs.Names(), Added: trace.Added, Deleted: trace.Deleted,
	})
	if err != nil {
		a.options.Logger.ErrorContext(r.Context(), "a request is missing in the audit log", "err", err)
	}
}

// ReopenAudit opens the file of the audit log again, because it may have been renamed.
func (a *API) ReopenAudit() error {
	if a.options.Audit == nil {
		return nil
	}
	return a.options.Audit.Reopen()
}

// milliseconds returns a time with three decimals.
func milliseconds(took time.Duration) slog.Attr {
	return slog.Float64("ms", float64(took.Microseconds())/1e3)
}
