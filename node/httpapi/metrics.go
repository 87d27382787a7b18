// What the doors count.

package httpapi

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/trefoildb/trefoil/node/engine"
)

type metrics struct {
	requests    *prometheus.CounterVec   // by door, method, status
	seconds     *prometheus.HistogramVec // by door
	inFlight    prometheus.Gauge
	rowsRead    prometheus.Counter
	rowsWritten *prometheus.CounterVec // by change
	sparql      *sparqlMetrics
	handler     http.Handler
}

func newMetrics(registry *prometheus.Registry, memory *budget, e *engine.Engine) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trefoil_http_requests_total", Help: "Requests answered; 499 where the client went away.",
		}, []string{"door", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "trefoil_http_request_seconds", Help: "Time from header to end of answer.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 12),
		}, []string{"door"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trefoil_http_requests_in_flight", Help: "Requests being answered.",
		}),
		rowsRead: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trefoil_http_rows_read_total", Help: "Triples in answers.",
		}),
		rowsWritten: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trefoil_http_rows_written_total", Help: "Triples added, deleted and loaded.",
		}, []string{"change"}),
	}
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "trefoil_http_bytes_in_flight", Help: "Memory that documents and pages of requests hold.",
	}, func() float64 { return float64(memory.held.Load()) })
	var errs []error
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.inFlight, m.rowsRead, m.rowsWritten, held} {
		errs = append(errs, registry.Register(c))
	}
	var err error
	m.sparql, err = newSPARQLMetrics(registry, e)
	errs = append(errs, err)
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return m, errors.Join(errs...)
}

func (m *metrics) observe(door, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(door, method, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(door).Observe(took.Seconds())
}
