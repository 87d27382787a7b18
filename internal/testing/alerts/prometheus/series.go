// Series in memory, made of scrapes as Prometheus makes them.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// job is the label of all targets.
const job = "trefoil"

// database implements [storage.Queryable] and [storage.Querier]. Its series are sorted by their labels.
type database []promql.Series

// ingest returns the series of scrapes. A series that a scrape lacks, or whose target does not answer, is stale from then on.
// Each target has the series up.
func ingest(scrapes []Scrape) (database, error) {
	all := map[string]*promql.Series{}          // by labels
	current := map[string]map[string]struct{}{} // of each instance: the labels of the series in its last scrape
	last := int64(math.MinInt64)
	for _, s := range scrapes {
		if s.Time < last {
			return nil, fmt.Errorf("the scrapes are not in the order of their times: %d follows %d", s.Time, last)
		}
		last = s.Time
		add := func(of labels.Labels, v float64) string {
			key := of.String()
			if all[key] == nil {
				all[key] = &promql.Series{Metric: of}
			}
			all[key].Floats = append(all[key].Floats, promql.FPoint{T: s.Time, F: v})
			return key
		}
		// 1. The samples of the scrape.
		found := map[string]struct{}{}
		up := 0.0
		if !s.Failed {
			up = 1
			if err := parse(s, func(of labels.Labels, v float64) { found[add(of, v)] = struct{}{} }); err != nil {
				return nil, fmt.Errorf("%s at %d: %w", s.Instance, s.Time, err)
			}
		}
		add(labels.FromStrings(labels.MetricName, "up", "instance", s.Instance, "job", job), up)
		// 2. The mark of staleness ends series that are not there any more.
		for key := range current[s.Instance] {
			if _, ok := found[key]; !ok {
				add(all[key].Metric, math.Float64frombits(value.StaleNaN))
			}
		}
		current[s.Instance] = found
	}
	d := make(database, 0, len(all))
	for _, s := range all {
		d = append(d, *s)
	}
	slices.SortFunc(d, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
	return d, nil
}

// parse calls add with the samples of a scrape.
func parse(s Scrape, add func(labels.Labels, float64)) error {
	p, err := textparse.New([]byte(s.Text), "text/plain; version=0.0.4", labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return err
	}
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var of labels.Labels
		p.Labels(&of)
		_, _, v := p.Series()
		add(labels.NewBuilder(of).Set("instance", s.Instance).Set("job", job).Labels(), v)
	}
}

// Querier implements [storage.Queryable].
func (d database) Querier(int64, int64) (storage.Querier, error) { return d, nil }

// Select implements [storage.Querier]. The engine leaves out samples beyond the times that it needs.
func (d database) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found selected
	for i := range d {
		matches := func(m *labels.Matcher) bool { return m.Matches(d[i].Metric.Get(m.Name)) }
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !matches(m) }) {
			found.rest = append(found.rest, d[i])
		}
	}
	return &found
}

// LabelValues implements [storage.Querier]; instant queries do not call it.
func (database) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

// LabelNames implements [storage.Querier]; instant queries do not call it.
func (database) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

// Close implements [storage.Querier].
func (database) Close() error { return nil }

// selected implements [storage.SeriesSet].
type selected struct {
	at   storage.Series
	rest []promql.Series
}

// Next implements [storage.SeriesSet].
func (s *selected) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.at, s.rest = promql.NewStorageSeries(s.rest[0]), s.rest[1:]
	return true
}

// At implements [storage.SeriesSet].
func (s *selected) At() storage.Series { return s.at }

// Err implements [storage.SeriesSet].
func (*selected) Err() error { return nil }

// Warnings implements [storage.SeriesSet].
func (*selected) Warnings() annotations.Annotations { return nil }
