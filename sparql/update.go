// Updates: prepared once, run any number of times.

package sparql

import (
	"context"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/sparql/update"
)

// Errors of update requests; test with [errors.Is]. If WHERE fails, its errors are those of
// queries.
var (
	// ErrUpdateMemory: the changes take more than [Options].UpdateMemory.
	ErrUpdateMemory = update.ErrMemory
	// ErrUpdateDataset: DefaultGraphs or NamedGraphs, and WITH or USING.
	ErrUpdateDataset = update.ErrDataset
	// ErrGraphExists: CREATE of an existing graph.
	ErrGraphExists = update.ErrGraphExists
	// ErrNoGraph: ADD, MOVE or COPY from a missing graph.
	ErrNoGraph = update.ErrNoGraph
	// ErrLoad: LOAD is off, or failed.
	ErrLoad = update.ErrLoad
)

// PreparedUpdate is an update request parsed and translated. It may be
// run any number of times, and from several goroutines.
type PreparedUpdate struct{ request *update.Request }

// PrepareUpdate parses and translates an update request. An error of the text is
// a *[triple.SyntaxError].
func PrepareUpdate(text string, opts Options) (*PreparedUpdate, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	u, err := parser.ParseUpdate(text, opts.Parser)
	if err != nil {
		return nil, err
	}
	return PrepareUpdateTree(u, opts)
}

// PrepareUpdateTree translates a syntax tree. The tree must not change as long as the request
// is used.
func PrepareUpdateTree(u *ast.Update, opts Options) (*PreparedUpdate, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	r, err := update.New(u, update.Options{Query: opts.Options, Memory: opts.UpdateMemory, Keep: opts.Keep})
	if err != nil {
		return nil, err
	}
	return &PreparedUpdate{r}, nil
}

// Run carries out the request over a source and returns its net effect, for the caller to apply
// as a whole or not at all; Run itself changes nothing. The source must stay valid until Run
// returns.
func (p *PreparedUpdate) Run(ctx context.Context, src Source) (*update.Changes, error) {
	return p.request.Run(ctx, src)
}
