// LOAD.

package update

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// load returns LOAD (section 3.1.4). Triples in named graphs of a document go into these; INTO
// is for documents without named graphs.
func load(op *ast.Load) func(*run) error {
	return func(r *run) error {
		before := r.delta.mark()
		err := r.load(op)
		if err == nil || !op.Silent || errors.Is(err, ErrMemory) {
			return err
		}
		if canceled := r.ctx.Err(); canceled != nil {
			return canceled
		}
		r.delta.restore(before)
		return nil
	}
}

// checkRows is the number of rows between two checks of the context.
const checkRows = 1024

func (r *run) load(op *ast.Load) error {
	documents := r.opts.Query.Documents
	if documents == nil {
		return fmt.Errorf("%w: <%s>: LOAD is off here; send the triples with INSERT DATA or as an upload", ErrLoad, op.Source)
	}
	var into triple.Term
	if op.Into != "" {
		into = triple.NewIRI(op.Into)
	}
	// Triples come from the network, one at a time. An error in the middle must end the
	// request, so nothing of the document is kept.
	n := 0
	for t, err := range documents.Load(r.ctx, op.Source) {
		if n++; n%checkRows == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		// A document with named graphs cannot go into one graph.
		if err == nil && !into.IsZero() && !t.Graph.IsZero() {
			err = fmt.Errorf("it has triples in the named graph %s, and INTO GRAPH takes documents of one graph", t.Graph)
		}
		if err == nil {
			if !into.IsZero() {
				t.Graph = into
			}
			err = t.Check()
		}
		if err != nil {
			return fmt.Errorf("%w: <%s>: %w", ErrLoad, op.Source, err)
		}
		q := quadOf(t)
		if err := r.delta.add(&q); err != nil {
			return err
		}
	}
	return r.ctx.Err()
}
