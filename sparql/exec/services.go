// The network as operators use it: SERVICE and LOAD.

package exec

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/trefoildb/trefoil/triple"
)

// Services sends requests to other SPARQL endpoints, for SERVICE. It returns an error if the
// operator did not allow the host.
type Services interface {
	// Select sends a SELECT or ASK query to an endpoint by the SPARQL 1.1 Protocol. The body is
	// a result in the format of contentType; the caller must close it.
	Select(ctx context.Context, endpoint, query string) (contentType string, body io.ReadCloser, err error)
}

// Documents reads RDF documents of the network, for LOAD.
type Documents interface {
	// Load yields the triples of a document, blank nodes apart from all others. An
	// error ends them.
	Load(ctx context.Context, iri string) iter.Seq2[triple.Triple, error]
}

// ErrService ends a query with SERVICE, unless it is SILENT, because SERVICE is off.
var ErrService = errors.New("SERVICE is off")
