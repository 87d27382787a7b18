package engine

import (
	"context"
	"iter"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/triple"
)

// Query is a query that was parsed.
type Query struct {
	engine   *Engine
	prepared *sparql.Prepared
	params   Params
	network  *network
}

// Prepare parses a query. An error of the text is a *[triple.SyntaxError].
func (e *Engine) Prepare(text string, p Params) (*Query, error) {
	network := e.network()
	prepared, err := sparql.Prepare(text, e.options(p, network))
	if err != nil {
		return nil, err
	}
	return &Query{e, prepared, p, network}, nil
}

// Form returns the form of the query.
func (q *Query) Form() ast.Form { return q.prepared.Form() }

// Answer is the result of a query over a snapshot of the store. It belongs to one
// goroutine; close it.
type Answer struct {
	Form ast.Form
	Vars []string // of SELECT

	ctx      context.Context
	result   *sparql.Result
	snapshot Snapshot
	release  func()
}

// Run begins to execute the query on the store as it is now.
func (q *Query) Run(ctx context.Context) (*Answer, error) {
	ctx, snapshot, release, err := q.begin(ctx)
	if err != nil {
		return nil, err
	}
	result, err := q.prepared.Run(ctx, snapshot.Source())
	if err != nil {
		release()
		return nil, cause(ctx, err)
	}
	return &Answer{Form: result.Form, Vars: result.Vars, ctx: ctx, result: result, snapshot: snapshot, release: release}, nil
}

// Explain returns the plan of the query, which is not run.
func (q *Query) Explain(ctx context.Context) (*exec.Plan, error) {
	ctx, snapshot, release, err := q.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	plan, err := q.prepared.Explain(ctx, snapshot.Source())
	return plan, cause(ctx, err)
}

// begin takes a turn and a snapshot, which release gives back.
func (q *Query) begin(ctx context.Context) (_ context.Context, _ Snapshot, release func(), err error) {
	ctx, cancel := q.engine.limit(ctx, q.params)
	turn, err := q.engine.takeTurn(ctx)
	if err != nil {
		cancel()
		return nil, nil, nil, err
	}
	var snapshot Snapshot
	release = func() {
		if snapshot != nil {
			if err := snapshot.Close(); err != nil {
				q.engine.opts.Logger.Error("close the snapshot of a query", "err", err)
			}
		}
		q.network.close()
		turn()
		cancel()
	}
	if snapshot, err = q.engine.store.Snapshot(); err != nil {
		release()
		return nil, nil, nil, err
	}
	return ctx, snapshot, release, nil
}

// Rows returns the solutions of a SELECT: a term for each variable, zero where it
// is unbound. The slice is valid until the next step. An error ends the solutions.
func (a *Answer) Rows() iter.Seq2[[]triple.Term, error] {
	return func(yield func([]triple.Term, error) bool) {
		for row, err := range a.result.Rows() {
			if !yield(row, cause(a.ctx, err)) {
				return
			}
		}
	}
}

// Triples returns the triples of a CONSTRUCT or DESCRIBE. A triple may come more
// than once where there are many. An error ends them.
func (a *Answer) Triples() iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		for t, err := range a.result.Triples() {
			if !yield(t, cause(a.ctx, err)) {
				return
			}
		}
	}
}

// Boolean returns the result of an ASK.
func (a *Answer) Boolean() (bool, error) {
	ok, err := a.result.Boolean()
	return ok, cause(a.ctx, err)
}

// Degraded tells whether something that was read so far came from other orders
// than it would, because machines that own it are away. The answer is complete all
// the same. It may be asked once Run has returned, and is final after the last row.
func (a *Answer) Degraded() bool {
	d, ok := a.snapshot.(interface{ Degraded() bool })
	return ok && d.Degraded()
}

// Plan returns the plan with what the run did so far.
func (a *Answer) Plan() *exec.Plan { return a.result.Plan() }

// Close ends the execution and gives back what it holds. It may be called again.
func (a *Answer) Close() {
	if a.release == nil {
		return
	}
	a.result.Close()
	a.release()
	a.release = nil
}
