// Tests of spans.

package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/collector"
	"github.com/trefoildb/trefoil/internal/tracing"
)

// traced returns the spans of the requests that do makes.
func traced(t *testing.T, ratio float64, do func(s *testServer)) []collector.Span {
	to := collector.Start(t)
	tracer, err := tracing.New(tracing.Options{Endpoint: to.URL, Ratio: ratio, Failure: problem.Failure})
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

// TestSpansOfErrors: no span has the text of an error, which may have data. A bad update is no failed span.
func TestSpansOfErrors(t *testing.T) {
	spans := traced(t, 1, func(s *testServer) {
		got := s.do("POST", "/sparql", "INSERT DATA { secret }", "Content-Type", "application/sparql-update", "Authorization", "Bearer client")
		if got.status != 400 || !strings.Contains(got.body, "secret") {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
	if len(spans) != 2 {
		t.Errorf("%d spans, want those of the request and the update", len(spans))
	}
	for _, s := range spans {
		if s.Status != nil || strings.Contains(s.Span.String(), "secret") {
			t.Errorf("span %s: %v", s.Name, s.Span)
		}
	}
	// Failures have their kind.
	for want, err := range map[string]error{
		"corrupt": fmt.Errorf("secret: %w", store.ErrCorrupt), "internal": errors.New("secret"), "timeout": context.DeadlineExceeded, "": fmt.Errorf("secret: %w", store.ErrConflict),
	} {
		if got := problem.Failure(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
