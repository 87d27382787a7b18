package engine

import (
	"context"
	"iter"

	"github.com/trefoildb/trefoil/node/turns"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/triple"
)

// Query is a query that was parsed.
type Query struct {
	engine *Engine
	tree   *ast.Query
	params Params
}

// Prepare parses a query. An error of the text is a *[triple.SyntaxError]. A long text
// waits for its turn, as Run does.
func (e *Engine) Prepare(ctx context.Context, text string, p Params) (*Query, error) {
	q := &Query{engine: e, params: p}
	err := e.parse(ctx, text, p, func(opts parser.Options) (err error) {
		q.tree, err = parser.ParseQuery(text, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return q, nil
}

// Form returns the form of the query.
func (q *Query) Form() ast.Form { return q.tree.Form }

// Answer is the result of a query over a snapshot of the store. It belongs to one
// goroutine; close it.
type Answer struct {
	Form ast.Form
	Vars []string // of SELECT

	run    *run
	result *sparql.Result
	closed bool
}

// run is what an execution has: a turn, a snapshot and the way to the network.
type run struct {
	engine   *Engine
	ctx      context.Context
	cancel   context.CancelFunc
	turn     *turns.Turn
	memory   reservation
	network  *network
	snapshot Snapshot
}

// longRows is from how many estimated rows on a query is computed in the long lane from
// its first row on: no query gives so many in the time of the short one.
const longRows = 1_000_000

// Run begins to execute the query on the store as it is now. It computes in turns with
// other queries (see package turns).
func (q *Query) Run(ctx context.Context) (*Answer, error) {
	r, prepared, err := q.begin(ctx)
	if err != nil {
		return nil, err
	}
	result, err := prepared.Run(r.ctx, r.snapshot.Source())
	if err == nil && result.Plan() != nil && result.Plan().EstimatedRows() > longRows {
		if err = r.turn.ToLong(); err != nil {
			result.Close()
		}
	}
	if err != nil {
		r.end()
		return nil, r.cause(err)
	}
	return &Answer{Form: result.Form, Vars: result.Vars, run: r, result: result}, nil
}

// Explain returns the plan of the query, which is not run.
func (q *Query) Explain(ctx context.Context) (*exec.Plan, error) {
	r, prepared, err := q.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer r.end()
	plan, err := prepared.Explain(r.ctx, r.snapshot.Source())
	return plan, r.cause(err)
}

// begin takes a turn and a snapshot, and translates the query.
func (q *Query) begin(ctx context.Context) (*run, *sparql.Prepared, error) {
	e := q.engine
	r := &run{engine: e, network: e.network()}
	r.ctx, r.cancel = e.limit(ctx, q.params)
	var prepared *sparql.Prepared
	var err error
	if r.turn, err = e.turns.Begin(r.ctx, q.params.Client); err == nil {
		r.ctx = turns.NewContext(r.ctx, r.turn)
		r.memory = reservation{pool: e.pool, turn: r.turn}
		if prepared, err = sparql.PrepareTree(q.tree, e.options(q.params, r.network, r.turn, &r.memory)); err == nil {
			r.snapshot, err = e.store.Snapshot()
		}
	}
	if err != nil {
		r.end()
		return nil, nil, r.cause(err)
	}
	return r, prepared, nil
}

// cause says why the run ended that its context ended.
func (r *run) cause(err error) error { return r.engine.cause(r.ctx, err) }

// end gives back what the run has.
func (r *run) end() {
	if r.snapshot != nil {
		if err := r.snapshot.Close(); err != nil {
			r.engine.opts.Logger.Error("close the snapshot of a query", "err", err)
		}
	}
	r.network.close()
	if r.turn != nil {
		r.memory.end()
		r.turn.End()
	}
	r.cancel()
}

// Rows returns the solutions of a SELECT: a term for each variable, zero where it
// is unbound. The slice is valid until the next step. An error ends the solutions.
func (a *Answer) Rows() iter.Seq2[[]triple.Term, error] {
	return func(yield func([]triple.Term, error) bool) {
		for row, err := range a.result.Rows() {
			if !yield(row, a.run.cause(err)) {
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
			if !yield(t, a.run.cause(err)) {
				return
			}
		}
	}
}

// Boolean returns the result of an ASK.
func (a *Answer) Boolean() (bool, error) {
	ok, err := a.result.Boolean()
	return ok, a.run.cause(err)
}

// Degraded reports whether something that was read so far came from other orders
// than it would, because machines that own it are away. The answer is complete all
// the same. It may be asked once Run has returned, and is final after the last row.
func (a *Answer) Degraded() bool {
	d, ok := a.run.snapshot.(interface{ Degraded() bool })
	return ok && d.Degraded()
}

// Plan returns the plan with what the run did so far.
func (a *Answer) Plan() *exec.Plan { return a.result.Plan() }

// Wait calls do, which waits for something else than a processor, such as the client
// that takes the answer: others compute meanwhile. It returns do's error.
func (a *Answer) Wait(do func() error) error { return a.run.turn.Wait(do) }

// Leave gives back the slot of a computation that is at its end.
func (a *Answer) Leave() { a.run.turn.Leave() }

// Close ends the execution and gives back what it holds. It may be called again.
func (a *Answer) Close() {
	if a.closed {
		return
	}
	a.closed = true
	a.Leave() // removing temporary files may take long
	a.result.Close()
	a.run.end()
}
