// Tests of tracers, with a collector on loopback.

package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/internal/testing/collector"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	above   = "b7ad6b7169203331"
)

func header(fields ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(fields); i += 2 {
		h.Set(fields[i], fields[i+1])
	}
	return h
}

// TestSpans: a request and its steps are sent with IDs, parents, attributes and failures; those of a message from
// another process, whose tracer is another one, are in the same trace.
func TestSpans(t *testing.T) {
	c := collector.Start(t)
	of := func(instance string) *Tracer {
		tracer, err := New(Options{Endpoint: c.URL, Headers: header("Api-Key", "k 1"), Ratio: 1, Instance: instance})
		require.NoError(t, err)
		return tracer
	}
	first, second := of("one"), of("two")
	ctx := logs.NewContext(t.Context(), "r-1")
	ctx, span := first.Request(ctx, header("Traceparent", "00-"+traceID+"-"+above+"-01"), "GET", "/sparql")
	span.Text("long", strings.Repeat("é", maxText))
	span.Number("n", 7)
	inner, query := Start(ctx, "query")
	calling, call := StartCall(inner, "reads/scan")
	message := http.Header{}
	OriginOf(calling).Write(message)
	there := Read(message).Context(t.Context())
	if id := logs.RequestOf(there); id != "r-1" {
		t.Errorf("the other node has request %q", id)
	}
	_, answer := second.Message(there, "reads/scan")
	// Work in another goroutine of this process is below the span, too.
	_, sends := StartCall(OriginOf(inner).Context(context.Background()), "send")
	sends.End(nil)
	answer.End(nil)
	call.End(errors.New("lost"))
	query.End(context.Canceled)
	span.End(nil)
	for _, tracer := range []*Tracer{first, second} {
		require.NoError(t, tracer.Shutdown(t.Context()))
	}

	parents, spans := map[string]string{}, map[string]collector.Span{}
	for _, s := range c.Spans() {
		if got := fmt.Sprintf("%x", s.TraceId); got != traceID {
			t.Errorf("span %s is of trace %s", s.Name, got)
		}
		if s.EndTimeUnixNano < s.StartTimeUnixNano || time.Since(time.Unix(0, int64(s.StartTimeUnixNano))) > time.Hour {
			t.Errorf("span %s: from %d to %d", s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
		name := s.Instance + " " + s.Name + " " + s.Kind.String()
		spans[name], parents[name] = s, fmt.Sprintf("%x", s.ParentSpanId)
	}
	if len(spans) != 5 {
		t.Fatalf("%d spans: %v", len(spans), parents)
	}
	id := func(name string) string { return fmt.Sprintf("%x", spans[name].GetSpanId()) }
	root, q := "one GET /sparql SPAN_KIND_SERVER", "one query SPAN_KIND_INTERNAL"
	out, in := "one reads/scan SPAN_KIND_CLIENT", "two reads/scan SPAN_KIND_SERVER"
	for name, parent := range map[string]string{root: above, q: id(root), out: id(q), in: id(out), "one send SPAN_KIND_CLIENT": id(q)} {
		if parents[name] != parent {
			t.Errorf("%s has the parent %s, not %s", name, parents[name], parent)
		}
	}
	if s := spans[root]; s.Text("http.route") != "/sparql" || s.Status != nil || len(s.Text("long")) != maxText {
		t.Errorf("the request is %v", s.Span)
	}
	if s := spans[q]; s.Status != nil {
		t.Errorf("a query whose client went away is a failure: %v", s.Status)
	}
	if s := spans[out]; s.GetStatus().GetMessage() != "failed" || s.GetStatus().GetCode().String() != "STATUS_CODE_ERROR" {
		t.Errorf("the call's status is %v", s.Status)
	}
	if h := c.Headers()[0]; h.Get("Api-Key") != "k 1" {
		t.Errorf("the collector got %v", h)
	}
}

// TestRatio: the ratio decides about requests without a trace and with a sampled one. Others are not recorded.
func TestRatio(t *testing.T) {
	c := collector.Start(t)
	for _, test := range []struct {
		ratio  float64
		parent string
		want   bool
	}{
		{0, "", false}, {1, "", true}, {0, "00-" + traceID + "-" + above + "-01", false}, {1, "00-" + traceID + "-" + above + "-01", true},
		// This trace ID is in each share of the SDK that is above 0.
		{1e-9, "00-" + traceID[:16] + "0000000000000000-" + above + "-01", false},
		{1, "00-" + traceID + "-" + above + "-00", false},
		{0, "00-" + traceID + "-zz-01", false}, {1, "nonsense", true},
	} {
		tracer, err := New(Options{Endpoint: c.URL, Ratio: test.ratio})
		require.NoError(t, err)
		ctx, span := tracer.Request(t.Context(), header("Traceparent", test.parent), "GET", "/")
		if (span != nil) != test.want {
			t.Errorf("%+v: recorded is %v", test, span != nil)
		}
		// Another node records its part if this one does.
		h := http.Header{}
		OriginOf(ctx).Write(h)
		_, there := tracer.Message(Read(h).Context(t.Context()), "m")
		if (there != nil) != test.want {
			t.Errorf("%+v: the message is recorded: %v", test, there != nil)
		}
		there.End(nil)
		span.End(nil)
		if err := tracer.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestOff: without a tracer nothing is recorded and nothing allocated, and the trace of a client is passed on.
func TestOff(t *testing.T) {
	var off *Tracer
	ctx, span := off.Request(t.Context(), header("Traceparent", "00-"+traceID+"-"+above+"-01"), "GET", "/")
	h := http.Header{}
	OriginOf(ctx).Write(h)
	if span != nil || h.Get("Traceparent") != "00-"+traceID+"-"+above+"-01" {
		t.Errorf("span %v, header %v", span, h)
	}
	if _, span := off.Message(ctx, "m"); span != nil {
		t.Error("a message is recorded")
	}
	if OriginOf(t.Context()) != nil || Read(header("X-Request-Id", "a b", "Traceparent", "x")) != nil {
		t.Error("there is an origin without a request")
	}
	plain := logs.NewContext(t.Context(), "r")
	if n := testing.AllocsPerRun(100, func() {
		_, span := Start(plain, "step")
		span.Text("key", "value")
		span.End(nil)
	}); n != 0 {
		t.Errorf("a step allocates %g times", n)
	}
}

// TestUnreachable: a collector that never answers delays no request, however many spans there are, and Shutdown ends
// with its context. The log has one line.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // connections are accepted by the system, and nobody answers
	require.NoError(t, err)
	defer l.Close()
	tracer, err := New(Options{Endpoint: "http://" + l.Addr().String(), Ratio: 1})
	require.NoError(t, err)
	began := time.Now()
	for range 20_000 { // ten times the queue
		_, span := tracer.Request(t.Context(), nil, "GET", "/")
		span.End(nil)
	}
	if took := time.Since(began); took > exportTimeout/2 {
		t.Errorf("20,000 requests took %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began = time.Now()
	if err := tracer.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > exportTimeout/2 {
		t.Errorf("the shutdown took %s", took)
	}
}

// TestFailures: each run of failures is one warning, and its end one line.
func TestFailures(t *testing.T) {
	var status atomic.Int32
	c := collector.Start(t)
	c.Fail = func() int { return int(status.Load()) }
	var log strings.Builder
	e := newExporter(c.URL+"/v1/traces", nil, slog.New(slog.NewTextHandler(&log, nil)))
	defer e.Shutdown(t.Context())
	for _, s := range []int32{0, 503, 307, 503, 0, 0, 400} {
		status.Store(s)
		if err := e.ExportSpans(t.Context(), oneSpan(t)); err != nil {
			t.Errorf("status %d: %v", s, err)
		}
	}
	if warns, infos := strings.Count(log.String(), "level=WARN"), strings.Count(log.String(), "level=INFO"); warns != 2 || infos != 1 {
		t.Errorf("%d warnings and %d lines of info:\n%s", warns, infos, log.String())
	}
	if n := len(c.Spans()); n != 3 {
		t.Errorf("%d spans came", n)
	}
}

// oneSpan returns a finished span.
func oneSpan(t *testing.T) []sdk.ReadOnlySpan {
	provider := sdk.NewTracerProvider()
	defer provider.Shutdown(t.Context())
	_, span := provider.Tracer(scope).Start(t.Context(), "one")
	span.End()
	return []sdk.ReadOnlySpan{span.(sdk.ReadOnlySpan)}
}

func TestValidate(t *testing.T) {
	for _, o := range []Options{{}, {Endpoint: "127.0.0.1:4318"}, {Endpoint: "ftp://a"}, {Endpoint: "http://"}, {Endpoint: "http://u:hidden@a"}, {Endpoint: "http://a", Ratio: -1}, {Endpoint: "http://a", Ratio: 1.1}} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// BenchmarkSpans is what traces cost: a step of a request and the header of a message, without a tracer, with one
// whose request is not recorded, and recorded.
func BenchmarkSpans(b *testing.B) {
	c := collector.Start(b)
	for _, test := range []struct {
		name   string
		ratio  float64
		tracer bool
	}{{"off", 0, false}, {"unsampled", 0, true}, {"recorded", 1, true}} {
		b.Run(test.name, func(b *testing.B) {
			var tracer *Tracer
			if test.tracer {
				var err error
				if tracer, err = New(Options{Endpoint: c.URL, Ratio: test.ratio}); err != nil {
					b.Fatal(err)
				}
				defer tracer.Shutdown(context.Background())
			}
			ctx, span := tracer.Request(logs.NewContext(b.Context(), "r"), nil, "GET", "/")
			defer span.End(nil)
			b.Run("step", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, span := Start(ctx, "step")
					span.Number("rows", 1)
					span.End(nil)
				}
			})
			b.Run("message", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					h := http.Header{}
					OriginOf(ctx).Write(h)
					_, span := tracer.Message(Read(h).Context(ctx), "m")
					span.End(nil)
				}
			})
		})
	}
}

// TestLostSpans: spans that are sent, that the collector refuses, and that find no room are counted.
func TestLostSpans(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	var status atomic.Int64
	status.Store(http.StatusOK)
	came, held := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		came <- struct{}{}
		<-held
		w.WriteHeader(int(status.Load()))
	}))
	defer server.Close()
	tracer, err := New(Options{Endpoint: server.URL, Ratio: 1})
	require.NoError(t, err)
	end := func(n int) {
		for range n {
			_, span := tracer.Request(t.Context(), header(), "GET", "/")
			span.End(nil)
		}
	}
	counts := func() string {
		registry := prometheus.NewRegistry()
		registry.MustRegister(tracer)
		all, err := registry.Gather()
		require.NoError(t, err)
		var text []string
		for _, m := range all[0].GetMetric() {
			text = append(text, fmt.Sprintf("%s %g", m.GetLabel()[0].GetValue(), m.GetCounter().GetValue()))
		}
		return strings.Join(text, ", ")
	}
	// 1. While the collector does not answer, ten spans wait: the one on its way is among them.
	end(1)
	<-came
	end(14)
	if got := counts(); got != "dropped 5, failed 0, sent 0" {
		t.Errorf("while the collector does not answer: %s", got)
	}
	// 2. It refuses all that wait.
	status.Store(http.StatusServiceUnavailable)
	close(held)
	require.NoError(t, tracer.provider.ForceFlush(t.Context()))
	if got := counts(); got != "dropped 5, failed 10, sent 0" {
		t.Errorf("when it refuses: %s", got)
	}
	// 3. It takes spans again.
	status.Store(http.StatusOK)
	end(3)
	require.NoError(t, tracer.Shutdown(t.Context()))
	if got := counts(); got != "dropped 5, failed 10, sent 3" {
		t.Errorf("at the end: %s", got)
	}
	// A node without traces has the metric, too.
	tracer = nil
	if got := counts(); got != "dropped 0, failed 0, sent 0" {
		t.Errorf("without traces: %s", got)
	}
}
