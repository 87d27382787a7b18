// Errors of queries and updates in the form for clients.

package problem

import (
	"errors"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/expr/regex"
	"github.com/trefoildb/trefoil/sparql/update"
)

// sparqlKinds maps errors to kinds. The order matters, because an error may match several.
var sparqlKinds = []struct {
	err  error
	kind Kind
}{
	{store.ErrUnknown, KindUnknownOutcome}, // the disk did not answer in time, so the update may be done
	{engine.ErrTimeout, KindQueryTimeout},
	{engine.ErrStopped, KindStopped},
	{engine.ErrBusy, KindBusy},
	{engine.ErrUpdateMemory, KindTooLarge},
	{engine.ErrMemory, KindBusy}, // before the next, which it is too
	{sparql.ErrMemory, KindQueryLimit},
	{sparql.ErrTooDeep, KindQueryLimit},
	{expr.ErrLimit, KindQueryLimit},
	{regex.ErrUnsupported, KindQueryLimit},
	{engine.ErrAnnotationsSize, KindQueryLimit},
	{engine.ErrAnnotationsPattern, KindBadRequest},
	{exec.ErrLinks, KindBadRequest},
	{exec.ErrScores, KindConflict},
	{exec.ErrNoLinks, KindBadRequest},
	{links.ErrNoJob, KindConflict},
	{links.ErrInvalid, KindBadRequest},
	{links.ErrLoading, KindLoading},
	{links.ErrMemory, KindLinkMemory},
	{exec.ErrNoText, KindBadRequest},
	{exec.ErrText, KindBadRequest},
	{exec.ErrChanged, KindBadRequest},
	{textindex.ErrQuery, KindBadRequest},
	{textsearch.ErrNotIndexed, KindNotIndexed},
	{textsearch.ErrBuilding, KindLoading},
	{textsearch.ErrTooSlow, KindQueryLimit},
	{textsearch.ErrTooLarge, KindTextMemory},
	{expr.ErrCompile, KindBadRequest},
	{update.ErrDataset, KindBadRequest},
	{update.ErrGraphExists, KindConflict},
	{update.ErrNoGraph, KindConflict},
	{engine.ErrHost, KindForbidden},
	{engine.ErrNetwork, KindRemote},
	{update.ErrLoad, KindRemote},
	{sparql.ErrService, KindForbidden},
	{syntax.ErrInexpressible, KindNotAcceptable},
	{syntax.ErrTripleTerm, KindNotAcceptable},
}

// asSPARQLError returns an error of package sparql or engine in the form for clients; nil if err is
// neither.
func asSPARQLError(err error) *Error {
	for _, known := range sparqlKinds {
		if errors.Is(err, known.err) {
			e := &Error{Kind: known.kind, Message: err.Error(), Cause: err}
			if e.Kind == KindBusy || e.Kind == KindLoading {
				e.RetryAfter = 1
			}
			return e
		}
	}
	return nil
}
