// The metrics of functions.

package functions

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// figures count what a function has done in this member since it was compiled here.
type figures struct {
	calls, failures, rejected, skipped, effects atomic.Int64

	nanos atomic.Int64 // in calls
	// until is a time in nanoseconds since 1970: the runner has processed all changes that were made
	// before it. It is 0 if no runner runs.
	until atomic.Int64
}

// counts returns the figures in the form of a [State].
func (f *figures) counts() Counts {
	return Counts{Calls: f.calls.Load(), Effects: f.effects.Load(), Failures: f.failures.Load(), Skipped: f.skipped.Load(), Rejected: f.rejected.Load()}
}

// reached records that all changes before a time are processed. Machines' clocks differ, so the time
// only grows.
func (f *figures) reached(at time.Time) { f.until.Store(max(f.until.Load(), at.UnixNano())) }

var (
	functionLabel = []string{"function"}
	callSeconds   = prometheus.NewDesc("trefoil_function_call_seconds_total", "Time spent in calls of the function.", functionLabel, nil)
	lagSeconds    = prometheus.NewDesc("trefoil_function_lag_seconds", "Age of the oldest change that the function may not have processed yet.", functionLabel, nil)
	runs          = prometheus.NewDesc("trefoil_function_running", "1 if this machine runs the function, or checks with it; 0 if it should and cannot.", functionLabel, nil)
)

// counters are the metrics that only count.
var counters = []struct {
	desc *prometheus.Desc
	of   func(*figures) *atomic.Int64
}{
	{newCounter("calls_total", "Calls of the function."), func(f *figures) *atomic.Int64 { return &f.calls }},
	{newCounter("failures_total", "Tries that failed, or were over a limit."), func(f *figures) *atomic.Int64 { return &f.failures }},
	{newCounter("rejected_total", "Changes that the check has rejected."), func(f *figures) *atomic.Int64 { return &f.rejected }},
	{newCounter("skipped_total", "Changes given up after the last try."), func(f *figures) *atomic.Int64 { return &f.skipped }},
	{newCounter("effects_total", "Triples added, deleted and annotated by the function."), func(f *figures) *atomic.Int64 { return &f.effects }},
}

func newCounter(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("trefoil_function_"+name, help, functionLabel, nil)
}

// Describe implements [prometheus.Collector].
func (s *Service) Describe(to chan<- *prometheus.Desc) {
	for i := range counters {
		to <- counters[i].desc
	}
	to <- callSeconds
	to <- lagSeconds
	to <- runs
}

// Collect implements [prometheus.Collector]. Each member has the figures of its own calls. The lag is
// that of the member that runs the function, and others have none.
func (s *Service) Collect(to chan<- prometheus.Metric) {
	for name, f := range s.functions() {
		for i := range counters {
			to <- prometheus.MustNewConstMetric(counters[i].desc, prometheus.CounterValue, float64(counters[i].of(&f.figures).Load()), name)
		}
		to <- prometheus.MustNewConstMetric(callSeconds, prometheus.CounterValue, time.Duration(f.figures.nanos.Load()).Seconds(), name)
		if until := f.figures.until.Load(); until != 0 {
			lag := max(s.now().Sub(time.Unix(0, until)), 0)
			to <- prometheus.MustNewConstMetric(lagSeconds, prometheus.GaugeValue, lag.Seconds(), name)
		}
		var st Status
		f.report(&st)
		switch {
		case st.Running:
			to <- prometheus.MustNewConstMetric(runs, prometheus.GaugeValue, 1, name)
		case st.Problem != "":
			to <- prometheus.MustNewConstMetric(runs, prometheus.GaugeValue, 0, name)
		}
	}
}
