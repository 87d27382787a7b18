// A collector of traces: OTLP over HTTP.

// Package collector receives traces of OpenTelemetry on loopback, for tests. It decodes each request, and rejects what
// is no OTLP in protobuf.
package collector

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	received "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	traces "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a received span. Instance is the service.instance.id of the process that sent it.
type Span struct {
	*traces.Span
	Instance string
}

// Text returns an attribute; "" if there is none.
func (s Span) Text(key string) string { return text(s.Attributes, key) }

func text(all []*common.KeyValue, key string) string {
	for _, a := range all {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// Collector is a collector that keeps all spans. It is safe for concurrent use.
type Collector struct {
	URL string // for --trace-endpoint
	// Fail, if set before the first request, returns the status of each request that is not taken; 0 takes it.
	Fail func() int

	mu      sync.Mutex
	spans   []Span
	headers []http.Header
}

// Start starts a collector, which ends with the test.
func Start(t testing.TB) *Collector {
	c := &Collector{}
	server := httptest.NewServer(c)
	c.URL = server.URL
	t.Cleanup(server.Close)
	return c
}

// ServeHTTP takes a request of spans.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var message received.ExportTraceServiceRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.UnmarshalOptions{}.Unmarshal(body, &message)
	}
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "no OTLP", http.StatusBadRequest)
		return
	}
	// A collector may be overloaded: the sender must then try again.
	if c.Fail != nil {
		if status := c.Fail(); status != 0 {
			w.WriteHeader(status)
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header)
	for _, of := range message.ResourceSpans {
		instance := text(of.Resource.GetAttributes(), "service.instance.id")
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, Span{s, instance})
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Spans returns the spans so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Headers returns the headers of the requests so far.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}
