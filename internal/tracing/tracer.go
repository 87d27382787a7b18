// The tracer: what it needs, and its life.

package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the library that makes the spans.
const scope = "github.com/trefoildb/trefoil"

// Options are the parameters of [New].
type Options struct {
	// Endpoint is the URL of a collector for OTLP over HTTP, such as http://127.0.0.1:4318. Spans go to v1/traces
	// below it.
	Endpoint string
	// Headers go with each request to the collector.
	Headers http.Header
	// Ratio is the share of requests that are recorded, 0 to 1. It is also that of requests with a sampled traceparent;
	// those with one that is not sampled are not recorded.
	Ratio float64
	// Failure returns the kind of an error, the only text of it in spans; "" if it is the client's, because that is no
	// failure of the span. If nil, each error is "failed", unless the client has cancelled.
	Failure func(error) string
	// Version and Instance name the program's version and this node.
	Version, Instance string
	// Logger gets a warning if the collector does not take spans any more; nil discards it.
	Logger *slog.Logger
}

// Validate returns an error if an option is invalid.
func (o Options) Validate() error {
	u, err := url.Parse(o.Endpoint)
	if err == nil && u.User != nil { // its password would be in the log
		return fmt.Errorf("the URL of the collector at %q has a user: send the password as a header (OTEL_EXPORTER_OTLP_HEADERS)", u.Host)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is no URL of a collector, such as http://127.0.0.1:4318", o.Endpoint)
	}
	if !(o.Ratio >= 0 && o.Ratio <= 1) {
		return fmt.Errorf("a ratio of %g: it is 0 to 1", o.Ratio)
	}
	return nil
}

// Tracer begins the spans of requests. It is safe for concurrent use. A nil Tracer records nothing.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
	ratio    float64
	failure  func(error) string
}

// anyFailure is the failure of every error that is not the end of a request by its client.
func anyFailure(err error) string {
	if errors.Is(err, context.Canceled) {
		return ""
	}
	return "failed"
}

// New returns a tracer, which must be shut down. Names and attributes in OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES are added to its spans. OTEL_BSP_MAX_QUEUE_SIZE and the like set the queue.
func New(o Options) (*Tracer, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	about, err := resource.New(context.Background(), resource.WithAttributes(
		attribute.String("service.name", "trefoil"), attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Instance),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: describe this node: %w", err)
	}
	t := &Tracer{exporter: newExporter(strings.TrimSuffix(o.Endpoint, "/")+"/v1/traces", o.Headers, o.Logger), ratio: o.Ratio, failure: o.Failure}
	if t.failure == nil {
		t.failure = anyFailure
	}
	room := queueSize()
	waiting := &queue{sdk.NewBatchSpanProcessor(t.exporter, sdk.WithMaxQueueSize(room)), t.exporter, int64(room)}
	t.provider = sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithSpanProcessor(waiting), sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(o.Ratio))))
	t.tracer = t.provider.Tracer(scope)
	return t, nil
}

// Shutdown sends the spans that wait. When ctx ends, it drops the rest.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	err := t.provider.Shutdown(ctx)
	t.exporter.end()
	if ctx.Err() != nil {
		return nil // an unreachable collector, which was logged
	}
	return err
}
