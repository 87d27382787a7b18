// SPARQL on a data directory.

package target

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/results"
	"github.com/trefoildb/trefoil/triple"
)

// prepare parses a query for the engine, which the first one makes.
func (l *local) prepare(ctx context.Context, query string, o client.QueryOptions) (*engine.Query, error) {
	if err := l.openEngine(); err != nil {
		return nil, err
	}
	return l.sparql.Prepare(ctx, query, engine.Params{Bind: o.Bind, DefaultGraphs: o.DefaultGraphs, NamedGraphs: o.NamedGraphs, Timeout: o.Timeout})
}

func (l *local) openEngine() (err error) {
	if l.sparql != nil {
		return nil
	}
	o := l.opening.Engine
	o.ReadOnly = l.opening.Store.ReadOnly
	o.SpillDir = spillDir(l.dir, o.ReadOnly)
	o.Timeout = -1 // the user can interrupt it
	l.sparql, err = engine.New(l.store, o)
	return err
}

// spillDir returns the directory of temporary files for queries on a data directory. It is inside
// of it, because /tmp may be in memory. If it does not exist or must not be written, the result is
// "".
func spillDir(data string, readOnly bool) string {
	dir := filepath.Join(data, "tmp")
	if info, err := os.Stat(dir); readOnly || err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

func (l *local) run(ctx context.Context, query string, o client.QueryOptions) (*engine.Answer, error) {
	prepared, err := l.prepare(ctx, query, o)
	if err != nil {
		return nil, err
	}
	return prepared.Run(ctx)
}

// Query implements [queries].
func (l *local) Query(ctx context.Context, query string, o client.QueryOptions) iter.Seq2[client.Solution, error] {
	return func(yield func(client.Solution, error) bool) {
		answer, err := l.run(ctx, query, o)
		if err != nil {
			yield(client.Solution{}, err)
			return
		}
		defer answer.Close()
		header := results.NewHeader(answer.Vars)
		for row, err := range answer.Rows() {
			if err != nil {
				yield(client.Solution{}, err)
				return
			}
			if !yield(header.Solution(row), nil) {
				return
			}
		}
		l.warn(answer.Warning())
	}
}

// Ask implements [queries].
func (l *local) Ask(ctx context.Context, query string, o client.QueryOptions) (bool, error) {
	answer, err := l.run(ctx, query, o)
	if err != nil {
		return false, err
	}
	defer answer.Close()
	value, err := answer.Boolean()
	l.warn(answer.Warning())
	return value, err
}

// Construct implements [queries].
func (l *local) Construct(ctx context.Context, query string, o client.QueryOptions) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		answer, err := l.run(ctx, query, o)
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		defer answer.Close()
		answer.Triples()(yield)
		l.warn(answer.Warning())
	}
}

// Explain implements [queries].
func (l *local) Explain(ctx context.Context, query string, run bool, o client.QueryOptions) (x client.Explanation, err error) {
	// 1. Without a run, only the plan is needed.
	start := time.Now()
	prepared, err := l.prepare(ctx, query, o)
	if err != nil {
		return x, err
	}
	x.Form, x.Ran, x.Isolation = prepared.Form().String(), run, string(l.sparql.Isolation())
	if !run {
		x.Plan, err = prepared.Explain(ctx)
		return x, err
	}
	// 2. Run the query to its end, and count its rows.
	answer, err := prepared.Run(ctx)
	if err != nil {
		return x, err
	}
	x.PlanSeconds = time.Since(start).Seconds()
	defer answer.Close()
	switch answer.Form {
	case ast.Ask:
		x.Rows = 1
		_, err = answer.Boolean()
	case ast.Select:
		for _, e := range answer.Rows() {
			x.Rows, err = x.Rows+1, e
		}
	default:
		for _, e := range answer.Triples() {
			x.Rows, err = x.Rows+1, e
		}
	}
	// 3. Read the figures of the run.
	if x.Plan = answer.Plan(); x.Plan != nil {
		x.RowsRead = x.Plan.TotalReads()
	}
	x.Seconds = time.Since(start).Seconds()
	return x, err
}

// Update implements [queries].
func (l *local) Update(ctx context.Context, update string, o client.QueryOptions) (r client.UpdateResult, err error) {
	if err := l.openEngine(); err != nil {
		return r, err
	}
	done, err := l.sparql.Update(ctx, update, engine.Params{Bind: o.Bind, DefaultGraphs: o.DefaultGraphs, NamedGraphs: o.NamedGraphs, Timeout: o.Timeout})
	return client.UpdateResult{Added: done.Added, Deleted: done.Deleted, Isolation: string(l.sparql.Isolation())}, err
}
