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
	"math/rand/v2"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Span is a step of a recorded request, or nil. One goroutine may use it at a time.
type Span struct{ span recorded }

// recorded is a span of a [Tracer] in a context, with the tracer's Options.Failure for the spans below it.
type recorded struct {
	trace.Span
	failure func(error) string
}

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

// End ends the span. An error marks it as failed with its kind, unless it is the client's. The text of the error is
// left out, because it may have data.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		if kind := s.span.failure(err); kind != "" {
			s.span.SetStatus(codes.Error, kind)
		}
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
	above, ok := trace.SpanFromContext(ctx).(recorded)
	if !ok || !above.IsRecording() {
		return ctx, nil
	}
	return begin(ctx, above.TracerProvider().Tracer(scope), name, kind, above.failure)
}

func begin(ctx context.Context, t trace.Tracer, name string, kind trace.SpanKind, failure func(error) string) (context.Context, *Span) {
	_, span := t.Start(ctx, name, trace.WithSpanKind(kind))
	r := recorded{span, failure}
	return trace.ContextWithSpan(ctx, r), &Span{r}
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
	ctx, s := begin(ctx, t.tracer, method+" "+path, trace.SpanKindServer, t.failure)
	if !s.span.IsRecording() {
		return ctx, nil
	}
	s.Text("http.request.method", method)
	s.Text("http.route", path)
	return ctx, s
}

// Message begins the span of a message from another node if ctx, which has its origin, is of a recorded trace.
func (t *Tracer) Message(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, nil
	}
	return begin(ctx, t.tracer, name, trace.SpanKindServer, t.failure)
}
