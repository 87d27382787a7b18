package exec

import (
	"context"
	"io"
	"iter"

	"github.com/trefoildb/trefoil/triple"
)

// Spill makes the temporary files of operators that hold more than their memory.
type Spill interface {
	Create() (SpillFile, error)
}

// SpillFile is a temporary file: it is appended to, then read. Close removes it.
type SpillFile interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// Services asks other SPARQL endpoints, for SERVICE. What it refuses, because
// the operator did not allow the host, is an error.
type Services interface {
	// Select sends a SELECT or ASK query to an endpoint by the SPARQL 1.1 Protocol.
	// The body is a result in the format that contentType names; the caller
	// closes it.
	Select(ctx context.Context, endpoint, query string) (contentType string, body io.ReadCloser, err error)
}

// Documents reads RDF documents of the network, for LOAD.
type Documents interface {
	// Load yields the triples of a document, blank nodes apart from all others. An
	// error ends them.
	Load(ctx context.Context, iri string) iter.Seq2[triple.Triple, error]
}
