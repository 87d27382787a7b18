package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/trefoildb/trefoil/node/turns"
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
	turns *turns.Turns
	pool  *pool

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
		store: store, opts: opts, start: time.Now(), pool: newPool(opts.Memory, opts.MaxQueries), patience: defaultPatience,
		readOnly: store.Status().ReadOnly,
	}
	var err error
	if e.turns, err = turns.New(turns.Options{Seats: opts.MaxQueries}); err != nil {
		return nil, err
	}
	if len(opts.AllowHosts) > 0 {
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
	// Client names who asks: clients have equal shares of the processors.
	Client string
}

// options returns what package sparql needs to run one request; network is nil where
// SERVICE and LOAD are off.
func (e *Engine) options(p Params, network *network, turn *turns.Turn, memory *reservation) sparql.Options {
	opts := sparql.Options{
		UpdateMemory: e.opts.UpdateMemory,
		Options: exec.Options{
			Memory:            e.opts.QueryMemory,
			UnionDefaultGraph: e.opts.UnionDefaultGraph,
			DefaultGraphs:     p.DefaultGraphs, NamedGraphs: p.NamedGraphs,
			Now:    time.Now(),
			Nanos:  func() int64 { return int64(time.Since(e.start)) },
			Uint64: rand.Uint64,
			Spill:  spill{dir: e.opts.SpillDir},
			Check:  turn.Check, Reserve: memory.reserve,
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

// smallText is how long a text is that is parsed without a turn: it takes less than
// a tenth of a millisecond.
const smallText = 4 << 10

// parse calls do, which parses a text, with a turn if the text is not small. check is
// for [parser.Options].Check.
func (e *Engine) parse(ctx context.Context, text string, p Params, do func(parser.Options) error) error {
	opts := parser.Options{Base: p.Base}
	if len(text) <= smallText {
		return do(opts)
	}
	ctx, cancel := e.limit(ctx, p)
	defer cancel()
	turn, err := e.turns.Begin(ctx, p.Client)
	if err != nil {
		return e.cause(ctx, err)
	}
	defer turn.End()
	opts.Check = turn.Check
	return e.cause(ctx, do(opts))
}

// cause says why a request ended that its context ended.
func (e *Engine) cause(ctx context.Context, err error) error {
	why := context.Cause(ctx)
	switch {
	case err == nil || why == nil || !errors.Is(why, ErrTimeout):
	case errors.Is(err, turns.ErrSeat):
		return fmt.Errorf("%w: %d hold much memory, which is the limit, and none ended in time", ErrBusy, e.opts.MaxQueries)
	case errors.Is(err, context.DeadlineExceeded):
		return why
	}
	return err
}

// Running returns how many queries and updates run or wait for their turn.
func (e *Engine) Running() int {
	live, _ := e.turns.Live()
	return live
}

// Held returns the bytes that queries and updates hold.
func (e *Engine) Held() int64 { return e.pool.held.Load() }

// Turns returns how the queries share the processors.
func (e *Engine) Turns() *turns.Turns { return e.turns }
