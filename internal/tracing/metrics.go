// The metric of spans: how many were sent, and how many were lost.

package tracing

import (
	"os"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// queueSize returns the number of spans that may wait for the collector.
func queueSize() int {
	if n, err := strconv.Atoi(os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE")); err == nil && n > 0 {
		return n
	}
	return sdk.DefaultMaxQueueSize
}

// queue passes spans on to the processor of the SDK while there is room. That one drops spans without a count, so it must
// never be full: it has as much room as this one.
type queue struct {
	sdk.SpanProcessor
	exporter *exporter
	room     int64
}

// OnEnd implements [sdk.SpanProcessor].
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	switch {
	case !s.SpanContext().IsSampled():
	case q.exporter.waiting.Add(1) > q.room:
		q.exporter.waiting.Add(-1)
		q.exporter.dropped.Add(1)
	default:
		q.SpanProcessor.OnEnd(s)
	}
}

var spansDesc = prometheus.NewDesc("trefoil_trace_spans_total",
	"Spans by outcome: sent, failed (the collector took none), dropped (too many waited). All are 0 without traces.", []string{"outcome"}, nil)

// Describe implements [prometheus.Collector].
func (t *Tracer) Describe(all chan<- *prometheus.Desc) { all <- spansDesc }

// Collect implements [prometheus.Collector].
func (t *Tracer) Collect(all chan<- prometheus.Metric) {
	var sent, failed, dropped int64
	if t != nil {
		e := t.exporter
		sent, failed, dropped = e.sent.Load(), e.failed.Load(), e.dropped.Load()
	}
	for outcome, n := range map[string]int64{"sent": sent, "failed": failed, "dropped": dropped} {
		all <- prometheus.MustNewConstMetric(spansDesc, prometheus.CounterValue, float64(n), outcome)
	}
}
