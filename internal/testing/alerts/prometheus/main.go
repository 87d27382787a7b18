// Command prometheus evaluates a file of alert rules over scrapes, with the parser, the query engine and the templates of
// Prometheus itself. Package alerts runs it:
//
//	stdin    Input as JSON: the rules, the interval, the scrapes in the order of their times
//	stdout   a list of Alert as JSON: each alert that fired, in the order of the times
//
// At each interval from the first scrape to the last one all rules are evaluated. An alert fires if its expression has had a
// value at each evaluation of its "for", as Prometheus does it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
)

// Input is what is evaluated. Times are Unix milliseconds.
type Input struct {
	Rules    string // a file of rules
	Interval int64
	Scrapes  []Scrape
}

// Scrape is one look of Prometheus at a target.
type Scrape struct {
	Instance string
	Time     int64
	Text     string // the answer of /metrics
	Failed   bool   // there was none
}

// Alert is one alert from its firing to its end.
type Alert struct {
	Name                 string
	Labels               map[string]string
	Summary, Description string
	Fired                int64
	Resolved             int64 // 0 if it fires at the end
}

func main() {
	var in Input
	err := json.NewDecoder(os.Stdin).Decode(&in)
	var fired []*Alert
	if err == nil {
		fired, err = evaluate(&in)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(fired)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prometheus:", err)
		os.Exit(1)
	}
}

// rule is an alert rule and the alerts that it has at the time.
type rule struct {
	rulefmt.Rule
	active map[string]*active // by labels
}

// active is an alert whose expression has a value.
type active struct {
	since int64
	fired *Alert // nil while it is pending
}

// evaluate returns the alerts that fired.
func evaluate(in *Input) (fired []*Alert, err error) {
	syntax := parser.NewParser(parser.Options{})
	rules, err := parseRules(in.Rules, syntax)
	if err != nil {
		return nil, err
	}
	series, err := ingest(in.Scrapes)
	if err != nil || len(in.Scrapes) == 0 {
		return nil, err
	}
	// The time of looking back is the default of Prometheus: a series without a mark of staleness lasts for so long.
	engine := promql.NewEngine(promql.EngineOpts{Logger: slog.New(slog.DiscardHandler), MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: syntax})
	query := func(ctx context.Context, text string, at time.Time) (promql.Vector, error) {
		q, err := engine.NewInstantQuery(ctx, series, nil, text, at)
		if err != nil {
			return nil, err
		}
		defer q.Close()
		return q.Exec(ctx).Vector()
	}
	for at := in.Scrapes[0].Time; at <= in.Scrapes[len(in.Scrapes)-1].Time; at += in.Interval {
		for _, r := range rules {
			began, err := r.evaluate(query, at)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.Alert, err)
			}
			fired = append(fired, began...)
		}
	}
	return fired, nil
}

// parseRules returns the alert rules of a file. It rejects what evaluate does not know.
func parseRules(file string, syntax parser.Parser) (rules []*rule, err error) {
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, syntax, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, g := range groups.Groups {
		if g.Interval != 0 || g.QueryOffset != nil || g.Limit != 0 || len(g.Labels) > 0 {
			return nil, fmt.Errorf("group %s has a setting that is not evaluated here", g.Name)
		}
		for _, r := range g.Rules {
			if r.Alert == "" || r.KeepFiringFor != 0 {
				return nil, fmt.Errorf("%s%s: only alerts without keep_firing_for are evaluated here", r.Alert, r.Record)
			}
			rules = append(rules, &rule{r, map[string]*active{}})
		}
	}
	return rules, nil
}

// evaluate returns the alerts that begin to fire at a time.
func (r *rule) evaluate(query template.QueryFunc, at int64) (began []*Alert, err error) {
	values, err := query(context.Background(), r.Expr, timestamp.Time(at))
	if err != nil {
		return nil, err
	}
	present := map[string]bool{}
	for _, v := range values {
		// 1. The text of an alert is expanded also while it is pending, because a wrong one is an error at any time.
		of := labels.NewBuilder(v.Metric).Del(labels.MetricName).Labels()
		if present[of.String()] {
			return nil, fmt.Errorf("two alerts with the labels %s", of)
		}
		present[of.String()] = true
		alert := &Alert{Name: r.Alert, Labels: of.Map(), Fired: at}
		if alert.Summary, err = r.expand(query, "summary", v, at); err == nil {
			alert.Description, err = r.expand(query, "description", v, at)
		}
		if err != nil {
			return nil, err
		}
		// 2. It is pending until its expression has had a value for long enough.
		a := r.active[of.String()]
		if a == nil {
			a = &active{since: at}
			r.active[of.String()] = a
		}
		if a.fired == nil && at-a.since >= time.Duration(r.For).Milliseconds() {
			a.fired = alert
			began = append(began, alert)
		}
	}
	for of, a := range r.active {
		if present[of] {
			continue
		}
		if delete(r.active, of); a.fired != nil {
			a.fired.Resolved = at
		}
	}
	return began, nil
}

var labelNames = regexp.MustCompile(`\$labels\.(\w+)`)

// expand returns the text of an annotation. Unlike Prometheus it rejects a label that the alert has not.
func (r *rule) expand(query template.QueryFunc, annotation string, v promql.Sample, at int64) (string, error) {
	text := r.Annotations[annotation]
	for _, name := range labelNames.FindAllStringSubmatch(text, -1) {
		if !v.Metric.Has(name[1]) {
			return "", fmt.Errorf("its %s names the label %s, and it has %s", annotation, name[1], v.Metric)
		}
	}
	declared := strings.Join([]string{"{{$labels := .Labels}}", "{{$externalLabels := .ExternalLabels}}", "{{$externalURL := .ExternalURL}}", "{{$value := .Value}}", text}, "")
	data := template.AlertTemplateData(v.Metric.Map(), nil, "", v)
	return template.NewTemplateExpander(context.Background(), declared, r.Alert, data, model.Time(at), query, nil, nil).Expand()
}
