// Tests of spans.

package server

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/collector"
	"github.com/trefoildb/trefoil/internal/tracing"
)

// traced returns the spans of the requests that do makes.
func traced(t *testing.T, ratio float64, do func(s *testServer)) []collector.Span {
	to := collector.Start(t)
	tracer, err := tracing.New(tracing.Options{Endpoint: to.URL, Ratio: ratio})
	if err != nil {
		t.Fatal(err)
	}
	// The end of the subtest waits for the server, because spans end after their answers.
	t.Run("requests", func(t *testing.T) {
		do(serve(t, newStore(t), Options{Token: "client", Tracer: tracer}, ServerOptions{}))
	})
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	return to.Spans()
}

// TestSpansOfStrangers: a client without a token cannot have more recorded than the ratio, and probes have no spans.
func TestSpansOfStrangers(t *testing.T) {
	for ratio, want := range map[float64]int{0: 0, 1: 1} {
		spans := traced(t, ratio, func(s *testServer) {
			for _, path := range []string{"/healthz", "/readyz", "/metrics", "/sparql"} {
				s.get(path, "Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
			}
		})
		if len(spans) != want || want == 1 && spans[0].Name != "GET /sparql" {
			t.Errorf("ratio %g: %d spans, want %d: %v", ratio, len(spans), want, spans)
		}
	}
}
