// The engine: its construction, and the limits and options of a request.

package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/outbound"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/triple"
)

// ErrTimeout is the error if a query did not end within its time.
var ErrTimeout = errors.New("the query took too long")

// ErrStopped is the cause of a context's end if an operator stops its query or update.
var ErrStopped = errors.New("an operator of the node has stopped it")

// ErrBusy is the error if too many queries run and none ended in time.
var ErrBusy = errors.New("too many queries run at the moment")

// ErrHost is the error if the operator did not allow a URL of SERVICE or LOAD.
var ErrHost = outbound.ErrHost

// ErrNetwork is the error if another server did not answer, or answered wrongly.
var ErrNetwork = outbound.ErrNetwork

// Limits of requests to other servers.
const (
	defaultIdleTimeout = time.Minute // without a byte
	maxServiceAnswer   = 1 << 30     // bytes, decompressed
)

// Engine runs queries on a store. It is safe for concurrent use.
type Engine struct {
	store    Store
	opts     Options
	start    time.Time
	turns    *turns.Turns
	pool     *pool
	prepared *preparedCache

	hosts       *outbound.Hosts // nil if SERVICE and LOAD are off
	idleTimeout time.Duration
}

// New returns an engine over a store. It fails if an option is invalid.
func New(store Store, opts Options) (*Engine, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	e := &Engine{
		store: store, opts: opts, start: time.Now(), pool: newPool(opts.Memory, opts.MaxQueries), prepared: newPreparedCache(opts.Memory / cachedPart), idleTimeout: defaultIdleTimeout,
	}
	var err error
	if e.turns, err = turns.New(turns.Options{Seats: opts.MaxQueries}); err != nil {
		return nil, err
	}
	if len(opts.AllowHosts) > 0 {
		if e.hosts, err = outbound.ParseHosts(opts.AllowHosts); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Params are the parameters of a request beside its text.
type Params struct {
	// Base resolves relative IRIs. If "", they are an error.
	Base string
	// Bind gives variables values, by name without "?": see [ast.Query.Bind].
	Bind map[string]triple.Term
	// DefaultGraphs and NamedGraphs are the dataset of the protocol (default-graph-uri,
	// using-graph-uri and the like). It replaces that of FROM.
	DefaultGraphs, NamedGraphs []string
	// Timeout shortens that of the engine; 0 keeps it.
	Timeout time.Duration
	// Client is the client of the request, because clients have equal shares of the processors.
	Client string
	// Memory, if not nil, gets the bytes that the query holds, while it runs.
	Memory *atomic.Int64
	// Observe returns a reader of the same store for the request; nil leaves it as it is.
	Observe func(store.Reader) store.Reader
}

// observed returns the reader of a request.
func (p *Params) observed(r store.Reader) store.Reader {
	if p.Observe == nil {
		return r
	}
	return p.Observe(r)
}

// options returns the options of package sparql for one request. network must be nil if LOAD, and
// SERVICE of other endpoints, are off. reader returns the snapshot that the request reads.
func (e *Engine) options(ctx context.Context, p Params, network *outbound.Client, reader func() store.Reader, turn *turns.Turn, memory *reservation) sparql.Options {
	opts := sparql.Options{
		UpdateMemory: e.opts.UpdateMemory,
		Keep:         systemgraph.Graph,
		Options: exec.Options{
			Memory:            e.opts.QueryMemory,
			UnionDefaultGraph: e.opts.UnionDefaultGraph,
			DefaultGraphs:     p.DefaultGraphs, NamedGraphs: p.NamedGraphs,
			Now:    time.Now(),
			Nanos:  func() int64 { return int64(time.Since(e.start)) },
			Uint64: rand.Uint64,
			Spill:  spillDir{dir: e.opts.SpillDir},
			Check:  turn.Check, Reserve: memory.reserve, Cells: &cells,
			LinkPredicate: e.opts.LinkPredicate,
		},
	}
	// The graph of links is of all graphs. A text search has the literals of the user's graphs.
	switch {
	case e.opts.Links == nil:
	case graphrights.FromContext(ctx) != nil:
		opts.Links = linkGraph{func(context.Context) (links.Graph, error) {
			return nil, fmt.Errorf("the graph of links: %w", graphrights.ErrUnfiltered)
		}}
	default:
		opts.Links = linkGraph{e.opts.Links}
	}
	if e.opts.Text != nil {
		opts.Text = textIndex{index: e.opts.Text}
		if graphrights.FromContext(ctx) != nil {
			opts.Text = textIndex{e.opts.Text, func() (store.Reader, error) { return unclosed{reader()}, nil }}
		} else {
			opts.Literals = literalIndex{e.opts.Text, reader}
		}
	}
	opts.Services = services{network: network, limit: maxServiceAnswer, annotations: &annotationService{opts, reader}}
	return opts
}

// network returns the network of one query or update; nil if it is off.
func (e *Engine) network() *outbound.Client {
	if e.hosts == nil {
		return nil
	}
	return &outbound.Client{Hosts: e.hosts, IdleTimeout: e.idleTimeout, Logger: e.opts.Logger}
}

// limit returns ctx with the time limit of a request.
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

// smallText is the length of a text in bytes. A text up to it is parsed and translated without a
// turn, because that takes some tenths of a millisecond at most.
const smallText = 4 << 10

// nodeBytes is about the memory of a pattern or an expression in the tree and in its translation. A
// number in a list takes 285 bytes. Terms of data and of VALUES are counted by their holders.
const nodeBytes = 288

// parse calls do to parse a text, with a turn if the text is not small. The tree counts against the
// memory of all queries. parse returns its bytes, and reserves them without a seat while it runs.
// Between parse and the query's own turn they are not counted.
func (e *Engine) parse(ctx context.Context, text string, p Params, do func(parser.Options) error) (tree int64, err error) {
	opts := parser.Options{Base: p.Base}
	if len(text) <= smallText {
		return 0, do(opts)
	}
	ctx, cancel := e.limit(ctx, p)
	defer cancel()
	turn, err := e.turns.Begin(ctx, p.Client)
	if err != nil {
		return 0, e.cause(ctx, err)
	}
	defer turn.End()
	memory := reservation{pool: e.pool}
	defer memory.end()
	opts.Check = func(nodes int) error {
		if err := memory.reserve(int64(nodes)*nodeBytes - memory.held); err != nil {
			return err
		}
		return turn.Check()
	}
	err = do(opts)
	return memory.held, e.cause(ctx, err)
}

// cause returns the reason for the end of a request's context, if it ended.
func (e *Engine) cause(ctx context.Context, err error) error {
	why := context.Cause(ctx)
	switch {
	case err == nil || why == nil:
	case errors.Is(why, ErrStopped) && errors.Is(err, context.Canceled) && !errors.Is(err, store.ErrUnknown):
		return why
	case !errors.Is(why, ErrTimeout):
	case errors.Is(err, turns.ErrSeat):
		return fmt.Errorf("%w: %d hold much memory, which is the limit, and none ended in time", ErrBusy, e.opts.MaxQueries)
	case errors.Is(err, context.DeadlineExceeded):
		return why
	}
	return err
}

// Running returns the number of queries and updates that run or wait.
func (e *Engine) Running() int {
	live, _ := e.turns.Live()
	return live
}

// Held returns the bytes held by queries and updates.
func (e *Engine) Held() int64 { return e.pool.held.Load() }

// Turns returns the scheduler of the queries.
func (e *Engine) Turns() *turns.Turns { return e.turns }
