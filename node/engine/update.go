package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/turns"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/parser"
)

// ErrUpdateMemory: an update changes more than [Options].UpdateMemory takes.
// Nothing of it was done.
var ErrUpdateMemory = sparql.ErrUpdateMemory

// maxChangeBytes is the greatest change that a store makes at once.
const maxChangeBytes = 1 << 30

// UpdateResult says how many triples an update added that were not there, and how
// many it removed that were.
type UpdateResult struct{ Added, Deleted int64 }

// Update carries out an update request (SPARQL 1.1 Update) as one durable change of
// the store. Of one node's that is all of it, or nothing where there is an error;
// only [node.ErrUnknown] leaves open which. A store that changes step by step says
// in the result what was done before an error. An error of the text is a
// *[triple.SyntaxError].
//
// Updates of one node's store run one after the other, each on what the one before
// has left; queries go on meanwhile. The time limit includes the wait for the turn.
// Other ways to write ([node.Store.Add] and the like) are not held up: see
// [node.Store.Update].
func (e *Engine) Update(ctx context.Context, text string, p Params) (UpdateResult, error) {
	if e.readOnly {
		return UpdateResult{}, fmt.Errorf("update: %w", node.ErrReadOnly)
	}
	var tree *ast.Update
	err := e.parse(ctx, text, p, func(opts parser.Options) (err error) {
		tree, err = parser.ParseUpdate(text, opts)
		return err
	})
	if err != nil {
		return UpdateResult{}, err
	}
	network := e.network()
	defer network.close()
	documents := e.documents(network)
	if documents != nil {
		defer e.closeDocuments(documents)
	}

	ctx, cancel := e.limit(ctx, p)
	defer cancel()
	if documents != nil {
		if err := documents.fetch(ctx, loads(tree)); err != nil {
			return UpdateResult{}, e.cause(ctx, err)
		}
	}
	result, err := e.store.Update(ctx, func(snapshot Snapshot) (node.Changes, error) {
		return e.changes(ctx, tree, p, network, documents, snapshot)
	})
	if errors.Is(err, node.ErrTooLarge) {
		err = fmt.Errorf("%w: %w; nothing was changed", ErrUpdateMemory, err)
	}
	return UpdateResult{Added: result.Added, Deleted: result.Deleted}, e.cause(ctx, err)
}

// updaters is the client that all updates are of: others wait for the one that is
// carried out, so that it is not to fall behind with the queries of who sent it.
const updaters = "updates"

// changes carries out an update on a snapshot, and returns what is to be done.
func (e *Engine) changes(ctx context.Context, tree *ast.Update, p Params, network *network, documents *documents, snapshot Snapshot) (node.Changes, error) {
	turn, err := e.turns.BeginExclusive(ctx, updaters)
	if err != nil {
		return node.Changes{}, err
	}
	defer turn.End()
	memory := reservation{pool: e.pool, turn: turn}
	defer memory.end()
	opts := e.options(p, network, turn, &memory)
	if documents != nil {
		opts.Documents = documents
	}
	prepared, err := sparql.PrepareUpdateTree(tree, opts)
	if err != nil {
		return node.Changes{}, err
	}
	changes, err := prepared.Run(turns.NewContext(ctx, turn), snapshot.Source())
	if err != nil {
		return node.Changes{}, err
	}
	return node.Changes{
		ClearAll: changes.ClearAll, ClearDefault: changes.ClearDefault, ClearGraphs: changes.ClearGraphs,
		Delete: changes.Deletes(), Add: changes.Adds(),
		MaxBytes: min(e.opts.UpdateMemory, maxChangeBytes),
	}, nil
}

// documents returns what LOAD asks; nil where it is off.
func (e *Engine) documents(network *network) *documents {
	if network == nil {
		return nil
	}
	return &documents{
		network: network, spill: spill{dir: e.opts.SpillDir}, limit: e.opts.UpdateMemory, fetched: map[string]*document{},
		newBlank: func() string { return fmt.Sprintf("l%016x%016x", rand.Uint64(), rand.Uint64()) },
	}
}

func (e *Engine) closeDocuments(d *documents) {
	if err := d.close(); err != nil {
		e.opts.Logger.Error("close the documents of an update", "err", err)
	}
}

// loads returns the documents that a request loads.
func loads(u *ast.Update) []string {
	var iris []string
	for _, op := range u.Operations {
		if load, ok := op.(*ast.Load); ok {
			iris = append(iris, load.Source)
		}
	}
	return iris
}
