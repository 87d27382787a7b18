package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/parser"
)

// ErrTimeout: the query did not end within its time.
var ErrTimeout = errors.New("the query took too long")

// ErrBusy: too many queries run, and none of them ended in time.
var ErrBusy = errors.New("too many queries run at the moment")

// Engine runs queries on a store. Its methods may be called at the same time.
type Engine struct {
	store Store
	opts  Options
	start time.Time
	turns chan struct{} // holds an element for each query that runs

	readOnly bool
	hosts    *hosts // nil where SERVICE and LOAD are off
	patience time.Duration
}

// New returns an engine over a store.
func New(store Store, opts Options) (*Engine, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	e := &Engine{
		store: store, opts: opts, start: time.Now(), turns: make(chan struct{}, opts.MaxQueries), patience: defaultPatience,
		readOnly: store.Status().ReadOnly,
	}
	if len(opts.AllowHosts) > 0 {
		var err error
		if e.hosts, err = parseHosts(opts.AllowHosts); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Params are what a request says beside its text.
type Params struct {
	// Base resolves relative IRIs; "" leaves them an error.
	Base string
	// DefaultGraphs and NamedGraphs are the dataset of the protocol
	// (default-graph-uri, using-graph-uri and the like), which replaces that of FROM.
	DefaultGraphs, NamedGraphs []string
	// Timeout shortens that of the engine; 0 leaves it.
	Timeout time.Duration
}

// options returns what package sparql needs for one request; network is nil where
// SERVICE and LOAD are off.
func (e *Engine) options(p Params, network *network) sparql.Options {
	opts := sparql.Options{
		Parser:       parser.Options{Base: p.Base},
		UpdateMemory: e.opts.UpdateMemory,
		Options: exec.Options{
			Memory:            e.opts.QueryMemory,
			UnionDefaultGraph: e.opts.UnionDefaultGraph,
			DefaultGraphs:     p.DefaultGraphs, NamedGraphs: p.NamedGraphs,
			Now:    time.Now(),
			Nanos:  func() int64 { return int64(time.Since(e.start)) },
			Uint64: rand.Uint64,
			Spill:  spill{dir: e.opts.SpillDir},
		},
	}
	if network != nil {
		opts.Services = services{network, maxServiceAnswer}
	}
	return opts
}

// network returns what makes the requests of a query or update; nil where that is
// off.
func (e *Engine) network() *network {
	if e.hosts == nil {
		return nil
	}
	return &network{hosts: e.hosts, patience: e.patience, logger: e.opts.Logger}
}

// limit returns ctx with the time that a request has.
func (e *Engine) limit(ctx context.Context, p Params) (context.Context, context.CancelFunc) {
	timeout := e.opts.Timeout
	if p.Timeout > 0 && (timeout < 0 || p.Timeout < timeout) {
		timeout = p.Timeout
	}
	if timeout < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w: its limit is %s", ErrTimeout, timeout))
}

// takeTurn waits until fewer than MaxQueries run; release gives the turn back.
func (e *Engine) takeTurn(ctx context.Context) (release func(), err error) {
	select {
	case e.turns <- struct{}{}:
		return func() { <-e.turns }, nil
	default:
	}
	select {
	case e.turns <- struct{}{}:
		return func() { <-e.turns }, nil
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), ErrTimeout) {
			return nil, fmt.Errorf("%w: %d, which is the limit", ErrBusy, e.opts.MaxQueries)
		}
		return nil, ctx.Err()
	}
}

// cause says why a request ended that its context ended.
func cause(ctx context.Context, err error) error {
	if err == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if why := context.Cause(ctx); why != nil && errors.Is(why, ErrTimeout) {
		return why
	}
	return err
}
