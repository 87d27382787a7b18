// The origin of work: the request and the span that it is for.

package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/trefoildb/trefoil/internal/logs"
)

// Origin is the request for which work is done: its ID and the current span. It goes with the
// work to other goroutines and nodes. A nil Origin is no request.
type Origin struct {
	request string
	span    trace.Span // of this process, or with the IDs of one elsewhere
}

// OriginOf returns the origin in ctx, nil if ctx is of no request.
func OriginOf(ctx context.Context) *Origin {
	return (&Origin{logs.RequestOf(ctx), trace.SpanFromContext(ctx)}).orNil()
}

func (o *Origin) orNil() *Origin {
	if o.request == "" && !o.span.SpanContext().IsValid() {
		return nil
	}
	return o
}

// Context returns ctx with the origin. Its span is the parent of spans that begin in it.
func (o *Origin) Context(ctx context.Context) context.Context {
	if o == nil {
		return ctx
	}
	if o.request != "" {
		ctx = logs.NewContext(ctx, o.request)
	}
	return trace.ContextWithSpan(ctx, o.span)
}

// parent is the header traceparent as a carrier. There is no tracestate, because that of a client may be longer
// than the header of a message between nodes.
type parent struct{ http.Header }

const parentHeader = "Traceparent"

func (p parent) Get(key string) string {
	if http.CanonicalHeaderKey(key) != parentHeader {
		return ""
	}
	return p.Header.Get(parentHeader)
}

func (p parent) Set(key, value string) {
	if http.CanonicalHeaderKey(key) == parentHeader {
		p.Header[parentHeader] = []string{value}
	}
}

func (p parent) Keys() []string { return []string{parentHeader} }

// Write adds the origin to the header of a message: X-Request-Id, and traceparent of W3C Trace Context.
func (o *Origin) Write(h http.Header) {
	if o == nil {
		return
	}
	if o.request != "" {
		h[logs.Header] = []string{o.request}
	}
	if o.span.SpanContext().IsValid() {
		propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), o.span), parent{h})
	}
}

// Read returns the origin in the header of a message, nil if it has none. Malformed fields are ignored.
func Read(h http.Header) *Origin {
	return (&Origin{logs.SentID(h), parentOf(h)}).orNil()
}

// parentOf returns the span in a header; one without valid IDs if it has none.
func parentOf(h http.Header) trace.Span {
	if len(h[parentHeader]) == 0 {
		return trace.SpanFromContext(context.Background())
	}
	return trace.SpanFromContext(propagation.TraceContext{}.Extract(context.Background(), parent{h}))
}
