// Spans: the steps of a request.

// Package tracing records what requests do as traces of OpenTelemetry, and sends them to a collector.
//
// A [Tracer] begins the span of an HTTP request ([Tracer.Request]), or of a message from another node that belongs
// to a trace ([Tracer.Message]). Code below calls [Start] with the context: it needs no tracer, because the span in
// the context has it. If nothing is recorded, spans are nil, and all their methods do nothing.
//
// An [Origin] has the IDs of a request and its span. It crosses goroutines, and as headers of messages (W3C Trace
// Context, X-Request-Id) nodes. A node without a tracer passes it on.
//
// Finished spans wait in a bounded queue of the SDK, which drops what does not fit, and go to the collector in
// batches: OTLP over HTTP, see https://opentelemetry.io/docs/specs/otlp/. No request ever waits for it.
package tracing

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Span is a step of a recorded request, or nil. One goroutine may use it at a time.
type Span struct{ span trace.Span }

// maxText is the greatest length of a text in a span, in bytes.
const maxText = 512

// clip returns a copy of a text, cut to maxText. It is a copy, because a text may be part of a header or body,
// whose memory a span in the queue must not keep.
func clip(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	return strings.Clone(text)
}

// Text adds a text to the span.
func (s *Span) Text(key, value string) {
	if s != nil {
		s.span.SetAttributes(attribute.String(key, clip(value)))
	}
}

// Number adds a number to the span.
func (s *Span) Number(key string, value int64) {
	if s != nil {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// End ends the span. An error marks it as failed, unless the client went away.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		s.span.SetStatus(codes.Error, clip(err.Error()))
	}
	s.span.End()
}

// Start begins a span below that of ctx, and returns a context with it. If the span of ctx is not recorded, it
// returns ctx and nil.
func Start(ctx context.Context, name string) (context.Context, *Span) {
	return start(ctx, name, trace.SpanKindInternal)
}

// StartCall is Start for a message to another node.
func StartCall(ctx context.Context, name string) (context.Context, *Span) {
	return start(ctx, name, trace.SpanKindClient)
}

func start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, *Span) {
	above := trace.SpanFromContext(ctx)
	if !above.IsRecording() {
		return ctx, nil
	}
	ctx, span := above.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, &Span{span}
}

// Request begins the span of an HTTP request, below the span in its header if there is one. The ratio decides whether
// it is recorded, because any client can send a sampled span. A span in the header that is not sampled is not recorded.
// A nil Tracer records nothing, but ctx gets the span of the header, for other nodes.
func (t *Tracer) Request(ctx context.Context, h http.Header, method, path string) (context.Context, *Span) {
	if above := parentOf(h).SpanContext(); above.IsValid() {
		// The choice does not follow from the trace ID, because the client may have chosen that.
		if t != nil && above.IsSampled() && rand.Float64() >= t.ratio {
			above = above.WithTraceFlags(above.TraceFlags().WithSampled(false))
		}
		ctx = trace.ContextWithRemoteSpanContext(ctx, above)
	}
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, method+" "+path, trace.WithSpanKind(trace.SpanKindServer))
	if !span.IsRecording() {
		return ctx, nil
	}
	s := &Span{span}
	s.Text("http.request.method", method)
	s.Text("http.route", path)
	return ctx, s
}

// Message begins the span of a message from another node if ctx, which has its origin, is of a recorded trace.
func (t *Tracer) Message(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
	return ctx, &Span{span}
}
