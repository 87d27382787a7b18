// A request: its operations, one after the other.

package update

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// Errors of requests; test with [errors.Is].
var (
	// ErrMemory: the changes of the request take more than its memory. The message has the
	// limit and a remedy.
	ErrMemory = errors.New("the update changes too much at once")
	// ErrDataset: a request has WITH or USING, but the protocol gives it a dataset.
	ErrDataset = errors.New("a dataset is given twice")
	// ErrGraphExists: CREATE of a graph with triples.
	ErrGraphExists = errors.New("the graph exists")
	// ErrNoGraph: ADD, MOVE or COPY from a graph without triples.
	ErrNoGraph = errors.New("the graph does not exist")
	// ErrLoad: LOAD is off, or the document cannot be loaded.
	ErrLoad = errors.New("the document cannot be loaded")
)

// DefaultMemory bounds the changes of a request, in bytes, if [Options.Memory] is 0.
const DefaultMemory = 256 << 20

// Options are the settings of a request. The zero value is usable.
type Options struct {
	// Query is for the patterns of WHERE. Its DefaultGraphs and NamedGraphs are those of the
	// protocol's using-graph-uri and using-named-graph-uri: WHERE reads them. If they are set,
	// the request must not have WITH or USING. Uint64 is needed to make blank nodes, and
	// Documents for LOAD.
	Query exec.Options
	// Memory is how many bytes the changes may take; 0 means [DefaultMemory].
	Memory int64
	// Keep, if set, is a graph that CLEAR and DROP of ALL or NAMED leave as it is.
	Keep triple.Term
}

// Validate returns nil if the options can be used.
func (o Options) Validate() error {
	if o.Memory < 0 {
		return fmt.Errorf("the memory of an update is %d bytes", o.Memory)
	}
	return o.Query.Validate()
}

// Request is an update request checked and translated. It may be run any
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
		// Each operation becomes a function over the run. Check now if a check needs no store,
		// because errors should precede any work.
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

// Run carries out the request over a source and returns its changes. The source must stay valid
// until Run returns.
func (r *Request) Run(ctx context.Context, src source.Source) (*Changes, error) {
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
	base   source.Source
	opts   *Options
	delta  *delta
	blanks blanks
}

// source returns the state before the current operation.
func (r *run) source() source.Source { return r.delta.applyTo(r.base) }

// blanks makes blank nodes unique among all stores.
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
