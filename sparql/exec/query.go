package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// Options say how a query is executed. The zero value is usable: no clock and no
// randomness, so that NOW, RAND and the like are errors.
type Options struct {
	// Memory is how many bytes the operators of the query may hold; 0 means
	// [DefaultMemory].
	Memory int64
	// Reserve, if not nil, is called before the query holds more bytes, and with a
	// negative number when it holds less. It may wait. An error wraps [ErrMemory] if
	// there is no room for them at present: operators then use temporary files.
	Reserve func(bytes int64) error
	// UnionDefaultGraph makes the default graph the merge of all graphs, where
	// neither the query nor these options name a dataset.
	UnionDefaultGraph bool
	// DefaultGraphs and NamedGraphs are IRIs of a dataset that goes before that
	// of FROM and FROM NAMED, as the protocol has it. Where both are empty, there
	// is none.
	DefaultGraphs, NamedGraphs []string

	// Now is the value of NOW.
	Now time.Time
	// Nanos is a clock for the times of EXPLAIN; nil for none.
	Nanos func() int64
	// Uint64 returns random numbers.
	Uint64 func() uint64

	// Check is called at checkpoints, often. It may wait, and its error ends the query;
	// nil is the context's Err.
	Check func() error

	// Spill makes temporary files; nil for none: what does not fit in Memory then
	// ends the query.
	Spill Spill
	// SpillBytes is how many bytes the temporary files of the query may take at a
	// time; 0 means [DefaultSpillBytes].
	SpillBytes int64
	// Services answers SERVICE; nil turns it off.
	Services Services
	// Documents answers LOAD of updates; nil turns it off.
	Documents Documents
}

// Validate returns nil where the options can be used.
func (o Options) Validate() error {
	if o.Memory < 0 {
		return fmt.Errorf("the memory of a query is %d bytes", o.Memory)
	}
	if o.SpillBytes < 0 {
		return fmt.Errorf("the temporary files of a query may take %d bytes", o.SpillBytes)
	}
	for _, list := range [][]string{o.DefaultGraphs, o.NamedGraphs} {
		for _, iri := range list {
			if err := triple.CheckIRI(iri); err != nil {
				return fmt.Errorf("graph: %w", err)
			}
		}
	}
	return nil
}

// ErrService is what a query with SERVICE ends in that is not SILENT.
var ErrService = errors.New("SERVICE is off")

// query is what the operators of one execution share.
type query struct {
	ctx     context.Context
	src     Source
	opts    Options
	width   int
	account account
	scratch scratch
	ticks   uint
	arena   *arena
	blanks  *blanks
	closers []operator // of EXISTS

	surveyed surveyed
}

func (q *query) check() error {
	if q.opts.Check != nil {
		return q.opts.Check()
	}
	return q.ctx.Err()
}

// tick is check, now and then: for each row that expressions are evaluated for,
// which with large terms may take milliseconds.
func (q *query) tick() error {
	if q.ticks++; q.ticks%4 == 0 {
		return q.check()
	}
	return nil
}

// spills reports whether operators may go on in temporary files.
func (q *query) spills() bool { return q.scratch.spill != nil }

// attach tells an operator its plan, and gives it a share of the memory if it can
// go on without more.
func (q *query) attach(op operator, p *Plan) {
	if x, ok := op.(interface{ setPlan(*Plan) }); ok {
		x.setPlan(p)
	}
	if x, ok := op.(interface{ spiller() *holder }); ok && q.spills() {
		x.spiller().shares()
	}
}

// blanks makes blank nodes that are in no graph.
type blanks struct {
	prefix string
	n      uint64
}

func (b *blanks) next() triple.Term {
	b.n++
	return triple.NewBlank(fmt.Sprintf("%s%d", b.prefix, b.n))
}

// Run is an execution. It belongs to one goroutine; close it.
type Run struct {
	// Plan is the tree of operators.
	Plan *Plan

	query *query
	root  operator
	batch *batch
	at    int
	err   error
	view  rowView
	ended bool
}

// Start plans a query over a source and begins its execution.
func Start(ctx context.Context, src Source, body *algebra.Body, dataset Dataset, opts Options) (*Run, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Memory == 0 {
		opts.Memory = DefaultMemory
	}
	q := &query{ctx: ctx, src: src, opts: opts, width: body.Scope.Len(), arena: &arena{}}
	q.account.limit, q.account.reserve = opts.Memory, opts.Reserve
	q.scratch = newScratch(opts, &q.account, q.check)
	q.blanks = &blanks{prefix: "q"}
	if opts.Uint64 != nil {
		q.blanks.prefix = fmt.Sprintf("q%016xx", opts.Uint64())
	}
	c := &compiler{query: q, body: body, dataset: dataset, known: map[algebra.Node]known{}, top: -1}
	s, err := c.compile(body.Root, c.begin(), c.defaultGraphs(), 0)
	if err != nil {
		return nil, err
	}
	q.account.divide()
	return &Run{Plan: s.plan, query: q, root: s.op, batch: newBatch(q.width)}, nil
}

// Next moves to the next solution. It returns false at the end and at an error.
func (r *Run) Next() bool {
	if r.ended {
		return false
	}
	if r.at++; r.at < r.batch.n {
		return true
	}
	r.batch.clear()
	r.at = 0
	if r.err = r.query.check(); r.err == nil {
		r.err = r.root.next(r.batch)
	}
	if r.err != nil || r.batch.n == 0 {
		r.ended = true
		return false
	}
	return true
}

// Check is a checkpoint of who reads the run (see [Options.Check]).
func (r *Run) Check() error { return r.query.check() }

// Err returns what ended Next, nil at the end of the solutions.
func (r *Run) Err() error { return r.err }

// Bound reports whether the solution binds a variable.
func (r *Run) Bound(slot int) bool { return r.batch.row(r.at)[slot] != "" }

// Binding returns the whole encoded term of a variable, "" where it is unbound.
func (r *Run) Binding(slot int) string { return r.batch.row(r.at)[slot] }

// Term returns the term of a variable, the zero Term where it is unbound.
func (r *Run) Term(slot int) triple.Term {
	return r.view.of(r.batch.row(r.at)).Value(slot).Term()
}

// NewBlank returns a blank node that is in no graph and no solution.
func (r *Run) NewBlank() triple.Term { return r.query.blanks.next() }

// Close ends the execution and frees what it holds.
func (r *Run) Close() {
	if r.root != nil {
		r.root.close()
		r.root = nil
		for _, op := range r.query.closers {
			op.close()
		}
		r.query.scratch.closeAll()
		r.query.account.settle()
	}
	r.ended = true
}

func (q *query) newEnv() *expr.Env {
	return &expr.Env{Now: q.opts.Now, Uint64: q.opts.Uint64, NewBlank: q.blanks.next}
}
