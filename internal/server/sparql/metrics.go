// The metrics of /sparql.

package sparql

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// formNames are the forms of queries in metrics.
var formNames = map[ast.Form]string{ast.Select: "select", ast.Ask: "ask", ast.Construct: "construct", ast.Describe: "describe"}

type sparqlMetrics struct {
	operations *prometheus.CounterVec   // by form and outcome
	seconds    *prometheus.HistogramVec // by form
	rows       prometheus.Counter
	read       prometheus.Counter
}

// sparqlDone is the work done for a request.
type sparqlDone struct {
	form string // "none" if the text could not be parsed
	read int64
}

func newSPARQLMetrics(registry *prometheus.Registry, e *engine.Engine) (*sparqlMetrics, error) {
	// 1. Counters of the endpoint.
	m := &sparqlMetrics{
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trefoil_sparql_operations_total", Help: "Queries and updates, by form and outcome: done, or the kind of error.",
		}, []string{"form", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "trefoil_sparql_seconds", Help: "Time from a query's or update's arrival to the end of its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 12),
		}, []string{"form"}),
		rows: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trefoil_sparql_rows_total", Help: "Solutions and triples in answers to queries.",
		}),
		read: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trefoil_sparql_rows_read_total", Help: "Rows of the store that queries read.",
		}),
	}
	// 2. Gauges of the engine; without an engine they are 0.
	running := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "trefoil_sparql_running", Help: "Queries and updates that run or wait for their turn.",
	}, func() float64 {
		if e == nil {
			return 0
		}
		return float64(e.Running())
	})
	var errs []error
	for _, c := range append([]prometheus.Collector{m.operations, m.seconds, m.rows, m.read, running}, turnMetrics(e)...) {
		errs = append(errs, registry.Register(c))
	}
	return m, errors.Join(errs...)
}

// turnMetrics are the metrics of waits for a processor, if there is an engine.
func turnMetrics(e *engine.Engine) []prometheus.Collector {
	if e == nil {
		return nil
	}
	seats := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "trefoil_sparql_seats", Help: "Queries that hold much memory: each has one of the places of --max-queries.",
	}, func() float64 { _, seated := e.Turns().Live(); return float64(seated) })
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "trefoil_sparql_bytes", Help: "Memory that queries and updates hold.",
	}, func() float64 { return float64(e.Held()) })
	all := []prometheus.Collector{seats, held}
	for _, kind := range []turns.Kind{turns.Short, turns.Long, turns.Seat} {
		labels := prometheus.Labels{"for": kind.String()}
		all = append(all,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "trefoil_sparql_waiting", ConstLabels: labels,
				Help: "Queries and updates that wait: for a processor as short or long ones, or for one of the places of --max-queries.",
			}, func() float64 { return float64(e.Turns().Stats(kind).Waiting) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "trefoil_sparql_waits_total", Help: "Waits that have ended.", ConstLabels: labels,
			}, func() float64 { return float64(e.Turns().Stats(kind).Waits) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "trefoil_sparql_wait_seconds_total", Help: "Time of these waits.", ConstLabels: labels,
			}, func() float64 { return e.Turns().Stats(kind).Waited.Seconds() }))
	}
	return all
}

func (m *sparqlMetrics) observe(done sparqlDone, rows int64, outcome string, took time.Duration) {
	m.operations.WithLabelValues(done.form, outcome).Inc()
	m.seconds.WithLabelValues(done.form).Observe(took.Seconds())
	m.rows.Add(float64(rows))
	m.read.Add(float64(done.read))
}

// outcome returns the end of a request as a label: "done", or the kind of its error.
func (a *API) outcome(r *request.Request, err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, engine.ErrStopped):
		return string(problem.KindStopped)
	case r.Context().Err() != nil && !a.Draining.Load():
		return string(problem.KindGone)
	}
	return string(problem.As(err).Kind)
}
