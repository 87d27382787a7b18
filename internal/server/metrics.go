// Metrics of all requests.

package server

import (
	"errors"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/server/limits"
)

type metrics struct {
	requests *prometheus.CounterVec   // by endpoint, method, status
	seconds  *prometheus.HistogramVec // by endpoint
	inFlight prometheus.Gauge
}

func newMetrics(registry *prometheus.Registry, memory *limits.Budget, version string) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trefoil_http_requests_total", Help: "Requests answered; 499 where the client went away.",
		}, []string{"endpoint", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "trefoil_http_request_seconds", Help: "Time from header to end of answer.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 12),
		}, []string{"endpoint"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "trefoil_http_requests_in_flight", Help: "Requests being answered.",
		}),
	}
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "trefoil_http_bytes_in_flight", Help: "Memory that documents and pages of requests hold.",
	}, func() float64 { return float64(memory.Held.Load()) })
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "trefoil_build_info", Help: "1, with the version of the program and of its Go.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	var errs []error
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.inFlight, held, build} {
		errs = append(errs, registry.Register(c))
	}
	return m, errors.Join(errs...)
}

func (m *metrics) observe(endpoint, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(endpoint, method, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(endpoint).Observe(took.Seconds())
}
