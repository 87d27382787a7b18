// The exporter: spans as OTLP over HTTP.
//
// The one of OpenTelemetry, otlptracehttp, links gRPC: it would add 5 MB to the binary.

package tracing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resources "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	traces "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// exportTimeout bounds a request to the collector, as the specification of OTLP has it.
const exportTimeout = 10 * time.Second

// exporter sends spans to a collector. One that fails is logged once, and its spans are lost.
type exporter struct {
	url     string
	headers http.Header
	log     *slog.Logger
	client  *http.Client
	failing atomic.Bool
	waiting atomic.Int64 // spans that ended and are not sent yet
	// The outcomes of spans.
	sent, failed, dropped atomic.Int64

	ctx context.Context // ends with end
	end context.CancelFunc
}

func newExporter(url string, headers http.Header, log *slog.Logger) *exporter {
	e := &exporter{url: url, headers: headers, log: log}
	e.client = &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	e.ctx, e.end = context.WithCancel(context.Background())
	return e
}

// ExportSpans implements [sdk.SpanExporter]. It returns no error, because the SDK would write it to standard error.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.send(ctx, spans)
	e.waiting.Add(-int64(len(spans)))
	if err == nil {
		e.sent.Add(int64(len(spans)))
	} else {
		e.failed.Add(int64(len(spans)))
	}
	switch {
	case e.ctx.Err() != nil:
	case err != nil && !e.failing.Swap(true):
		e.log.Warn("the collector of traces takes no spans; they are lost until it does", "url", e.url, "err", err)
	case err == nil && e.failing.Swap(false):
		e.log.Info("the collector of traces takes spans again", "url", e.url)
	}
	return nil
}

// Shutdown implements [sdk.SpanExporter].
func (e *exporter) Shutdown(context.Context) error {
	e.end()
	e.client.CloseIdleConnections()
	return nil
}

func (e *exporter) send(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	body, err := proto.Marshal(request(spans))
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if e.headers != nil {
		r.Header = e.headers.Clone()
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	res, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // so that the connection can be used again
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("status %s", res.Status)
	}
	return nil
}

// request returns the message for spans of one tracer: they have one resource and one scope.
func request(spans []sdk.ReadOnlySpan) *collector.ExportTraceServiceRequest {
	of := &traces.ScopeSpans{Scope: &common.InstrumentationScope{Name: scope}}
	for _, s := range spans {
		of.Spans = append(of.Spans, message(s))
	}
	about := &resources.Resource{Attributes: attributes(spans[0].Resource().Attributes())}
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*traces.ResourceSpans{{Resource: about, ScopeSpans: []*traces.ScopeSpans{of}}}}
}

func message(s sdk.ReadOnlySpan) *traces.Span {
	c, above := s.SpanContext(), s.Parent()
	trace, span, parent := c.TraceID(), c.SpanID(), above.SpanID()
	m := &traces.Span{
		TraceId: trace[:], SpanId: span[:], Name: s.Name(), Flags: uint32(c.TraceFlags()),
		Kind:              traces.Span_SpanKind(s.SpanKind()), // the numbers are the same
		StartTimeUnixNano: uint64(s.StartTime().UnixNano()), EndTimeUnixNano: uint64(s.EndTime().UnixNano()),
		Attributes: attributes(s.Attributes()), DroppedAttributesCount: uint32(s.DroppedAttributes()),
	}
	if parent.IsValid() {
		m.ParentSpanId = parent[:]
	}
	if status := s.Status(); status.Code == codes.Error {
		m.Status = &traces.Status{Code: traces.Status_STATUS_CODE_ERROR, Message: status.Description}
	}
	return m
}

// attributes returns the texts and numbers of a span or resource; there are no others.
func attributes(all []attribute.KeyValue) []*common.KeyValue {
	list := make([]*common.KeyValue, len(all))
	for i, a := range all {
		value := &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: a.Value.String()}}
		if a.Value.Type() == attribute.INT64 {
			value.Value = &common.AnyValue_IntValue{IntValue: a.Value.AsInt64()}
		}
		list[i] = &common.KeyValue{Key: string(a.Key), Value: value}
	}
	return list
}
