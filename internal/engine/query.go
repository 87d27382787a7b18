// Queries: preparation, runs and answers.

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/outbound"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/tracing"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/triple"
)

// Query is a prepared query with the parameters of its request.
type Query struct {
	engine   *Engine
	prepared *shared
	params   Params
	bytes    int64 // of the tree, if it is not small
}

// Prepare parses and translates a query, unless it did so before: it keeps those of small texts. If
// the text is wrong, the error is a *[triple.SyntaxError]. A long text waits for its turn, as in Run.
func (e *Engine) Prepare(ctx context.Context, text string, p Params) (*Query, error) {
	// 1. Values of variables change the tree, so the query cannot be shared.
	key := preparedKey{text, p.Base}
	kept := len(text) <= smallText && len(p.Bind) == 0
	if kept {
		if query := e.prepared.get(key); query != nil {
			return &Query{engine: e, prepared: query, params: p}, nil
		}
		text = strings.Clone(text) // it may be a part of a long URL
		key.text = text
	}
	// 2. A new text is parsed and translated.
	q := &Query{engine: e, prepared: &shared{}, params: p}
	var err error
	q.bytes, err = e.parse(ctx, text, p, func(opts parser.Options) error {
		tree, err := parser.ParseQuery(text, opts)
		if err == nil && len(p.Bind) > 0 {
			err = bindError(tree.Bind(p.Bind))
		}
		if err == nil {
			q.prepared.Prepared, err = sparql.PrepareTree(tree, sparql.Options{})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if kept {
		e.prepared.put(key, q.prepared)
	}
	return q, nil
}

// bindError returns the error of values that do not fit a text.
func bindError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", store.ErrInvalid, err)
}

// Form returns the form of the query.
func (q *Query) Form() ast.Form { return q.prepared.Form() }

// Answer is the result of a query over a snapshot of the store. It must be used by one goroutine,
// and must be closed.
type Answer struct {
	Form ast.Form
	Vars []string // of SELECT

	run      *run
	prepared *sparql.Prepared
	result   *sparql.Result
	closed   bool
	empty    bool // there is no row, no triple, or the boolean is false
}

// run holds the resources of an execution: a turn, a snapshot and the network.
type run struct {
	engine   *Engine
	ctx      context.Context
	cancel   context.CancelFunc
	turn     *turns.Turn
	memory   reservation
	network  *outbound.Client
	snapshot store.Reader
	filter   func(store.Reader) store.Reader // makes snapshot of that of the store
	release  func()                          // permits rows of later states
	span     *tracing.Span
	rows     int64 // that were returned
	begun    int   // how many times it was begun again
	failed   error // the first error of the run
}

// longRows is a number of estimated rows. If a query has more, it begins in the long lane, because
// no query returns so many in the time of the short one.
const longRows = 1_000_000

// Run begins to execute the query on the current state of the store. It computes in turns with
// other queries (see package turns).
func (q *Query) Run(ctx context.Context) (*Answer, error) {
	// 1. Take a turn. The span of the query ends with the answer.
	ctx, span := tracing.Start(ctx, "query")
	_, waits := tracing.Start(ctx, "wait for a turn")
	r, prepared, err := q.begin(ctx)
	waits.End(err)
	if err != nil {
		span.End(err)
		return nil, err
	}
	r.span = span
	// 2. Plan it. Operators read nothing yet.
	a := &Answer{run: r, prepared: prepared}
	_, plans := tracing.Start(ctx, "plan")
	err = a.plan()
	plans.End(err)
	if err != nil {
		r.failed = r.cause(err)
		r.end()
		return nil, r.failed
	}
	a.Form, a.Vars = a.result.Form, a.result.Vars
	return a, nil
}

// plan begins to execute the query on the snapshot of its run.
func (a *Answer) plan() error {
	result, err := a.prepared.Run(a.run.ctx, a.run.snapshot.Source())
	if err == nil && result.Plan().EstimatedRows() > longRows {
		if err = a.run.turn.ToLong(); err != nil {
			result.Close()
		}
	}
	if err == nil {
		a.result = result
	}
	return err
}

// Explain returns the plan of the query, and does not run it.
func (q *Query) Explain(ctx context.Context) (*explain.Plan, error) {
	r, prepared, err := q.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer r.end()
	plan, err := prepared.Explain(r.ctx, r.snapshot.Source())
	return plan, r.cause(err)
}

// begin takes a turn and a snapshot, and gives the query its options. If it fails, it has released
// everything.
func (q *Query) begin(ctx context.Context) (*run, *sparql.Prepared, error) {
	e := q.engine
	r := &run{engine: e, network: e.network()}
	r.ctx, r.cancel = e.limit(ctx, q.params)
	// Each step needs the one before.
	var prepared *sparql.Prepared
	var err error
	if r.turn, err = e.turns.Begin(r.ctx, q.params.Client); err == nil {
		r.ctx = turns.NewContext(r.ctx, r.turn)
		r.memory = reservation{pool: e.pool, turn: r.turn, report: q.params.Memory}
		if err = r.memory.reserve(q.bytes); err == nil {
			opts := e.options(ctx, q.params, r.network, func() store.Reader { return r.snapshot }, r.turn, &r.memory)
			opts.Orders = &q.prepared.orders
			opts.LinkEdges = e.linkEdges(r)
			prepared, err = q.prepared.With(opts)
		}
		if err == nil {
			r.filter = func(sn store.Reader) store.Reader {
				return q.params.observed(graphrights.Filter(ctx, prefixes.HideIn(sn)))
			}
			err = r.open()
		}
	}
	if err != nil {
		r.end()
		return nil, nil, r.cause(err)
	}
	return r, prepared, nil
}

// open makes the snapshot one of the present state.
func (r *run) open() error {
	sn, release, err := r.engine.store.StateReader()
	if err == nil {
		r.snapshot, r.release = r.filter(sn), release
	}
	return err
}

// cause returns the reason for the end of the run's context, if it ended.
func (r *run) cause(err error) error {
	err = r.engine.cause(r.ctx, err)
	r.failed = cmp.Or(r.failed, err)
	return err
}

// end returns the memory, the turn and the snapshot of the run. It must be called once.
func (r *run) end() {
	if r.snapshot != nil {
		r.closeSnapshot(r.snapshot)
	}
	r.network.Close()
	if r.turn != nil {
		r.memory.end()
		r.turn.End()
	}
	r.cancel()
	r.span.Number("trefoil.rows", r.rows)
	r.span.End(r.failed)
}

func (r *run) closeSnapshot(sn store.Reader) {
	if err := sn.Close(); err != nil {
		r.engine.opts.Logger.ErrorContext(r.ctx, "close the snapshot of a query", "err", err)
	}
}

// maxBegun is how many times a query is begun again. The last time its rows may be those of several states.
const maxBegun = 5

// beginAgain reports whether the query has begun again, on the present state: nothing was returned, and the rows of the
// state that it began with are not kept any more. The error is that of the new beginning.
func (a *Answer) beginAgain(err error) (bool, error) {
	r := a.run
	if !errors.Is(err, store.ErrSnapshotTooOld) || r.rows > 0 || r.begun == maxBegun {
		return false, err
	}
	a.result.Close()
	old := r.snapshot
	if err := r.open(); err != nil {
		return false, err
	}
	r.closeSnapshot(old)
	if r.begun++; r.begun == maxBegun {
		r.release()
	}
	err = a.plan()
	return err == nil, err
}

// each passes on what a result has. all returns it.
func each[T any](a *Answer, all func(*sparql.Result) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for again := true; again; {
			again = false
			for one, err := range all(a.result) {
				if err != nil {
					if again, err = a.beginAgain(err); again {
						break
					}
				}
				if a.run.rows++; a.run.rows == 1 {
					a.run.release() // it cannot begin again
				}
				if !yield(one, a.run.cause(err)) {
					return
				}
			}
		}
		a.empty = a.run.rows == 0
	}
}

// Prologue returns the base and the prefixes declared by the query.
func (q *Query) Prologue() ast.Prologue { return q.prepared.Prologue() }

// Rows returns the solutions of a SELECT: a term for each variable, zero if it is unbound. The
// slice is valid until the next step. An error ends the solutions.
func (a *Answer) Rows() iter.Seq2[[]triple.Term, error] {
	return each(a, (*sparql.Result).Rows)
}

// Triples returns the triples of a CONSTRUCT or DESCRIBE. If there are many, a triple may be
// repeated. An error ends them.
func (a *Answer) Triples() iter.Seq2[triple.Triple, error] {
	return each(a, (*sparql.Result).Triples)
}

// Boolean returns the result of an ASK.
func (a *Answer) Boolean() (bool, error) {
	ok, err := a.result.Boolean()
	for again := err != nil; again; {
		if again, err = a.beginAgain(err); again {
			ok, err = a.result.Boolean()
			again = err != nil
		}
	}
	a.empty = !ok && err == nil
	return ok, a.run.cause(err)
}

// Drain runs the query to its end, and counts the rows in rows.
func (a *Answer) Drain(rows *atomic.Int64) error {
	switch a.Form {
	case ast.Ask:
		rows.Store(1)
		_, err := a.Boolean()
		return err
	case ast.Select:
		for _, err := range a.Rows() {
			if err != nil {
				return err
			}
			rows.Add(1)
		}
	default:
		for _, err := range a.Triples() {
			if err != nil {
				return err
			}
			rows.Add(1)
		}
	}
	return nil
}

// Degraded reports whether a row came from another order, because its owner was down. The answer is
// complete all the same. The result is final after the last row.
func (a *Answer) Degraded() bool { return a.run.snapshot.Degraded() }

// Warning returns why the result is empty, if filters were errors in every row that they met; else "". It
// is "" until the end of the result. See [explain.Plan.Warnings].
func (a *Answer) Warning() string {
	if !a.empty {
		return ""
	}
	return a.Plan().Warnings()
}

// Plan returns the plan with what the run did so far.
func (a *Answer) Plan() *explain.Plan { return a.result.Plan() }

// Wait calls do and returns its error. do may wait for something other than a processor, such as a
// client, because the slot is given back meanwhile.
func (a *Answer) Wait(do func() error) error { return a.run.turn.Wait(do) }

// Leave returns the slot. It must be called when all rows are computed.
func (a *Answer) Leave() { a.run.turn.Leave() }

// Close ends the execution and releases its resources. It may be called again.
func (a *Answer) Close() {
	if a.closed {
		return
	}
	a.closed = true
	a.Leave() // because removing temporary files may take long
	a.result.Close()
	a.run.end()
}
