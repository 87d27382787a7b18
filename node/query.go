// SPARQL on a store.

package node

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/results"
	"github.com/trefoildb/trefoil/triple"
)

// Solution is one solution of a SELECT: its methods Term and Lookup return a term by the
// name of its variable, and All yields the bound variables. The caller owns it.
type Solution = client.Solution

// QueryOptions are the parameters of a query or update besides its text. The zero value
// is ready to use. Timeout shortens [Options].QueryTimeout; 0 does not.
type QueryOptions = client.QueryOptions

func paramsOf(o QueryOptions) engine.Params {
	return engine.Params{Bind: o.Bind, DefaultGraphs: o.DefaultGraphs, NamedGraphs: o.NamedGraphs, Timeout: o.Timeout}
}

// UpdateResult is the result of an update.
type UpdateResult = client.UpdateResult

// Query runs a SELECT and yields its solutions as they are computed. The query sees the
// store as it is when the loop begins, and ends with the loop. An error ends the
// solutions.
func (s *Store) Query(ctx context.Context, query string, o QueryOptions) iter.Seq2[Solution, error] {
	return func(yield func(Solution, error) bool) {
		answer, err := s.run(ctx, query, o, ast.Select)
		if err != nil {
			yield(Solution{}, err)
			return
		}
		defer answer.Close()
		header := results.NewHeader(answer.Vars)
		for row, err := range answer.Rows() {
			if err != nil {
				yield(Solution{}, failed(fmt.Errorf("query: %w", err)))
				return
			}
			if !yield(header.Solution(row), nil) {
				return
			}
		}
		s.warn(answer)
	}
}

// Ask runs an ASK.
func (s *Store) Ask(ctx context.Context, query string, o QueryOptions) (bool, error) {
	answer, err := s.run(ctx, query, o, ast.Ask)
	if err != nil {
		return false, err
	}
	defer answer.Close()
	value, err := answer.Boolean()
	s.warn(answer)
	return value, failed(err)
}

// Construct runs a CONSTRUCT or DESCRIBE and yields its triples; see [Store.Query]. A
// triple of a large result may come more than once.
func (s *Store) Construct(ctx context.Context, query string, o QueryOptions) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		answer, err := s.run(ctx, query, o, ast.Construct, ast.Describe)
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		defer answer.Close()
		for t, err := range answer.Triples() {
			if !yield(t, failed(err)) || err != nil {
				return
			}
		}
		s.warn(answer)
	}
}

// warn passes the warning of an ended answer on, if there is one.
func (s *Store) warn(a *engine.Answer) {
	if text := a.Warning(); text != "" && s.options.Warning != nil {
		s.options.Warning(text)
	}
}

// Explain returns the plan of a query. If run is set, the query first runs to its end, and its result is
// dropped.
func (s *Store) Explain(ctx context.Context, query string, run bool, o QueryOptions) (x client.Explanation, err error) {
	// 1. Without a run, only the plan is needed.
	start := time.Now()
	prepared, err := s.engine.Prepare(ctx, query, paramsOf(o))
	if err != nil {
		return x, failed(fmt.Errorf("explain: %w", err))
	}
	x.Form, x.Ran, x.Isolation = prepared.Form().String(), run, string(s.engine.Isolation())
	if !run {
		x.Plan, err = prepared.Explain(ctx)
		return x, failed(err)
	}
	// 2. Run the query to its end, and read the figures of the run.
	answer, err := prepared.Run(ctx)
	if err != nil {
		return x, failed(err)
	}
	x.PlanSeconds = time.Since(start).Seconds()
	defer answer.Close()
	var rows atomic.Int64
	err = answer.Drain(&rows)
	x.Rows, x.Plan = rows.Load(), answer.Plan()
	x.RowsRead, x.Seconds = x.Plan.TotalReads(), time.Since(start).Seconds()
	return x, failed(err)
}

// Update executes a SPARQL update as one durable change: all of it, or nothing if there
// is an error. Updates run one after the other.
func (s *Store) Update(ctx context.Context, update string, o QueryOptions) (UpdateResult, error) {
	r, err := s.engine.Update(ctx, update, paramsOf(o))
	return UpdateResult{Added: r.Added, Deleted: r.Deleted, Isolation: string(s.engine.Isolation())}, failed(err)
}

// run begins a query, which must have one of the forms.
func (s *Store) run(ctx context.Context, query string, o QueryOptions, forms ...ast.Form) (*engine.Answer, error) {
	prepared, err := s.engine.Prepare(ctx, query, paramsOf(o))
	if err != nil {
		return nil, failed(fmt.Errorf("query: %w", err))
	}
	if !slices.Contains(forms, prepared.Form()) {
		return nil, fmt.Errorf("query: %w: it is of the form %s: SELECT is for Query, ASK for Ask, CONSTRUCT and DESCRIBE for Construct", client.ErrNotAcceptable, prepared.Form())
	}
	answer, err := prepared.Run(ctx)
	return answer, failed(err)
}
