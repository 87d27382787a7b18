// Updates.

package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/outbound"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/tracing"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/parser"
)

// ErrUpdateMemory is the error if an update exceeds [Options].UpdateMemory. Then nothing was
// changed.
var ErrUpdateMemory = sparql.ErrUpdateMemory

// maxChangeBytes is the greatest change of a store at once.
const maxChangeBytes = 1 << 30

// UpdateResult counts the triples added and removed by an update. Triples that existed, or were
// missing, are not counted.
type UpdateResult struct{ Added, Deleted int64 }

// Update makes an update request (SPARQL 1.1 Update) as one durable change of the store. On one
// node that is all or nothing; only [store.ErrUnknown] means that either is possible. If a store
// changes step by step, the result counts the work done before an error. If the text is wrong, the
// error is a *[triple.SyntaxError].
//
// Updates of one node's store run one after the other, each on the result of the one before;
// queries go on meanwhile. The time limit includes the wait for the turn. Other ways to write
// ([store.Add] and the like) do not wait: see [store.Update].
func (e *Engine) Update(ctx context.Context, text string, p Params) (_ UpdateResult, err error) {
	ctx, span := tracing.Start(ctx, "update")
	defer func() { span.End(err) }()
	if e.opts.ReadOnly {
		return UpdateResult{}, fmt.Errorf("update: %w", store.ErrReadOnly)
	}
	// 1. Parse the request, and set the bound variables.
	var tree *ast.Update
	bytes, err := e.parse(ctx, text, p, func(opts parser.Options) (err error) {
		tree, err = parser.ParseUpdate(text, opts)
		return err
	})
	if err == nil && len(p.Bind) > 0 {
		err = bindError(tree.Bind(p.Bind))
	}
	if err != nil {
		return UpdateResult{}, err
	}
	// 2. Fetch the documents of LOAD before the update has its turn, because a slow server must not
	// delay others.
	network := e.network()
	defer network.Close()
	documents := e.documents(network)
	if documents != nil {
		defer e.closeDocuments(ctx, documents)
	}

	ctx, cancel := e.limit(ctx, p)
	defer cancel()
	if documents != nil {
		if err := documents.fetch(ctx, loads(tree)); err != nil {
			return UpdateResult{}, e.cause(ctx, err)
		}
	}
	// 3. Evaluate it on a snapshot and apply its net effect.
	result, err := store.Update(ctx, e.store, func(snapshot store.Reader) (store.Steps, error) {
		changes, err := e.changes(ctx, tree, bytes, p, network, documents, graphrights.Filter(ctx, prefixes.HideIn(snapshot)))
		if err == nil {
			err = graphrights.Check(ctx, &changes)
		}
		return changes, err
	})
	if errors.Is(err, store.ErrTooLarge) {
		err = fmt.Errorf("%w: %w; nothing was changed", ErrUpdateMemory, err)
	}
	return UpdateResult{Added: result.Added, Deleted: result.Deleted}, e.cause(ctx, err)
}

// updaters is the client of all updates. An update must not wait behind the queries of its own
// client, because other updates wait for it.
const updaters = "updates"

// changes evaluates an update on a snapshot, and returns its net effect.
func (e *Engine) changes(ctx context.Context, tree *ast.Update, bytes int64, p Params, network *outbound.Client, documents *documents, snapshot store.Reader) (store.Steps, error) {
	// 1. Take a turn. It needs no seat, because waiting for one could take as long as the queries
	// that have them.
	turn, err := e.turns.BeginExclusive(ctx, updaters)
	if err != nil {
		return store.Steps{}, err
	}
	defer turn.End()
	memory := reservation{pool: e.pool, turn: turn, report: p.Memory}
	defer memory.end()
	if err := memory.reserve(bytes); err != nil {
		return store.Steps{}, err
	}
	// 2. Evaluate the operations. The store applies the result when this returns.
	// What observes the reader ends with its Close, but the snapshot is not ours to close.
	observed := p.observed(unclosed{snapshot})
	defer observed.Close()
	opts := e.options(ctx, p, network, func() store.Reader { return observed }, turn, &memory)
	if documents != nil {
		opts.Documents = documents
	}
	prepared, err := sparql.PrepareUpdateTree(tree, opts)
	if err != nil {
		return store.Steps{}, err
	}
	ctx, span := tracing.Start(ctx, "evaluate")
	changes, err := prepared.Run(turns.NewContext(ctx, turn), observed.Source())
	span.End(err)
	if err != nil {
		return store.Steps{}, err
	}
	return store.Steps{
		ClearAll: changes.ClearAll, ClearDefault: changes.ClearDefault, ClearGraphs: changes.ClearGraphs,
		Delete: changes.Deletes(), Add: changes.Adds(),
		MaxBytes: min(e.opts.UpdateMemory, maxChangeBytes),
	}, nil
}

// unclosed is a reader that its owner closes.
type unclosed struct{ store.Reader }

func (unclosed) Close() error { return nil }

// documents returns the documents for LOAD; nil if it is off.
func (e *Engine) documents(network *outbound.Client) *documents {
	if network == nil {
		return nil
	}
	return &documents{
		network: network, spill: spillDir{dir: e.opts.SpillDir}, contexts: e.opts.Contexts, limit: e.opts.UpdateMemory, fetched: map[string]*document{},
		newBlank: func() string { return fmt.Sprintf("l%016x%016x", rand.Uint64(), rand.Uint64()) },
	}
}

func (e *Engine) closeDocuments(ctx context.Context, d *documents) {
	if err := d.close(); err != nil {
		e.opts.Logger.ErrorContext(ctx, "close the documents of an update", "err", err)
	}
}

// loads returns the IRIs of the documents loaded by a request.
func loads(u *ast.Update) []string {
	var iris []string
	for _, op := range u.Operations {
		if load, ok := op.(*ast.Load); ok {
			iris = append(iris, load.Source)
		}
	}
	return iris
}
