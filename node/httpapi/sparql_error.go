// The errors of queries and updates, as clients get them.

package httpapi

import (
	"errors"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/engine"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/update"
)

// sparqlKinds are the kinds of errors, the more telling first.
var sparqlKinds = []struct {
	err  error
	kind Kind
}{
	{node.ErrUnknown, KindUnknownOutcome}, // an update that waited for the disk in vain may be done
	{engine.ErrTimeout, KindQueryTimeout},
	{engine.ErrBusy, KindBusy},
	{engine.ErrUpdateMemory, KindTooLarge},
	{engine.ErrMemory, KindBusy}, // before the next, which it is too
	{sparql.ErrMemory, KindQueryLimit},
	{sparql.ErrTooDeep, KindQueryLimit},
	{expr.ErrLimit, KindQueryLimit},
	{expr.ErrUnsupportedRegex, KindQueryLimit},
	{expr.ErrCompile, KindBadRequest},
	{update.ErrDataset, KindBadRequest},
	{update.ErrGraphExists, KindConflict},
	{update.ErrNoGraph, KindConflict},
	{engine.ErrHost, KindForbidden},
	{engine.ErrNetwork, KindRemote},
	{update.ErrLoad, KindRemote},
	{sparql.ErrService, KindForbidden},
	{syntax.ErrInexpressible, KindNotAcceptable},
}

// asSPARQLError returns an error of package sparql or engine as clients get it;
// nil where err is none.
func asSPARQLError(err error) *Error {
	for _, known := range sparqlKinds {
		if errors.Is(err, known.err) {
			e := &Error{Kind: known.kind, Message: err.Error(), cause: err}
			if e.Kind == KindBusy {
				e.retryAfter = 1
			}
			return e
		}
	}
	return nil
}
