package update

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/triple"
)

// Errors of requests; test with [errors.Is].
var (
	// ErrMemory: the changes of the request take more than its memory. The message
	// has the limit and what to do.
	ErrMemory = errors.New("the update changes too much at once")
	// ErrDataset: a request that the protocol gives a dataset has WITH or USING.
	ErrDataset = errors.New("a dataset is given twice")
	// ErrGraphExists: CREATE of a graph that has triples.
	ErrGraphExists = errors.New("the graph exists")
	// ErrNoGraph: ADD, MOVE or COPY from a graph without triples.
	ErrNoGraph = errors.New("the graph does not exist")
	// ErrLoad: LOAD, where it is off, or of a document that cannot be loaded.
	ErrLoad = errors.New("the document cannot be loaded")
)

// DefaultMemory is what the changes of a request may take where [Options.Memory]
// is 0.
const DefaultMemory = 256 << 20

// Options say how a request is carried out. The zero value is usable.
type Options struct {
	// Query is for the patterns of WHERE. Its DefaultGraphs and NamedGraphs are
	// those of the protocol's using-graph-uri and using-named-graph-uri: WHERE
	// looks at them, and the request may have no WITH and no USING. Uint64 is
	// needed to make blank nodes, and Documents for LOAD.
	Query exec.Options
	// Memory is how many bytes the changes may take; 0 means [DefaultMemory].
	Memory int64
}

// Validate returns nil where the options can be used.
func (o Options) Validate() error {
	if o.Memory < 0 {
		return fmt.Errorf("the memory of an update is %d bytes", o.Memory)
	}
	return o.Query.Validate()
}

// Request is an update request that was checked and translated. It may be run any
// number of times, and from several goroutines.
type Request struct {
	operations []operation
	opts       Options
	lastWhere  int // index of the last operation with a WHERE, -1 for none
}

// operation is one operation of a request.
type operation struct {
	name string // for messages
	pos  ast.Pos
	do   func(*run) error
}

// New checks a request and translates it. The tree stays as it is, and is needed
// as long as the request.
func New(u *ast.Update, opts Options) (*Request, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Memory == 0 {
		opts.Memory = DefaultMemory
	}
	r := &Request{opts: opts, lastWhere: -1}
	for i, op := range u.Operations {
		next := operation{pos: op.Position()}
		var err error
		switch op := op.(type) {
		case *ast.InsertData:
			next.name = "INSERT DATA"
			next.do, err = data(op.Triples, false)
		case *ast.DeleteData:
			next.name = "DELETE DATA"
			next.do, err = data(op.Triples, true)
		case *ast.Modify:
			next.name = modifyName(op)
			next.do, err = r.modify(op)
			r.lastWhere = i
		case *ast.Load:
			next.name, next.do = "LOAD", load(op)
		case *ast.Clear:
			next.name, next.do = "CLEAR", clearGraphs(op.Target)
		case *ast.Drop:
			next.name, next.do = "DROP", clearGraphs(op.Target)
		case *ast.Create:
			next.name, next.do = "CREATE", create(op)
		case *ast.Transfer:
			next.name, next.do = op.Verb.String(), transfer(op)
		default:
			err = fmt.Errorf("no operation %T", op)
		}
		if err != nil {
			return nil, next.wrap(err)
		}
		r.operations = append(r.operations, next)
	}
	return r, nil
}

func (op operation) wrap(err error) error { return fmt.Errorf("%s at %s: %w", op.name, op.pos, err) }

// Run carries out the request over a source, which must stay valid as long as
// Run runs, and returns what it changes.
func (r *Request) Run(ctx context.Context, src exec.Source) (*Changes, error) {
	run := &run{ctx: ctx, base: src, opts: &r.opts, delta: newDelta(r.opts.Memory)}
	run.blanks.random = r.opts.Query.Uint64
	for i, op := range r.operations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		run.delta.begin(i < r.lastWhere)
		if err := op.do(run); err != nil {
			return nil, op.wrap(err)
		}
	}
	return run.changes()
}

// run is one execution of a request.
type run struct {
	ctx    context.Context
	base   exec.Source
	opts   *Options
	delta  *delta
	blanks blanks
}

// source returns the state before the operation that asks.
func (r *run) source() exec.Source { return r.delta.over(r.base) }

// blanks makes blank nodes that are in no store, whatever stores there are.
type blanks struct {
	random func() uint64
	prefix string
	n      uint64
}

func (b *blanks) next() (triple.Term, error) {
	if b.prefix == "" {
		if b.random == nil {
			return triple.Term{}, errors.New("a new blank node needs randomness, and Options.Uint64 is nil")
		}
		b.prefix = "u" + strconv.FormatUint(b.random(), 36) + "x" + strconv.FormatUint(b.random(), 36) + "x"
	}
	b.n++
	return triple.NewBlank(b.prefix + strconv.FormatUint(b.n, 36)), nil
}
