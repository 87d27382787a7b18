// The Generator interface, and the choice of a generator by name.

package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Generator is a data set before it is written. It has no state: it may be written several times, and
// concurrently.
type Generator interface {
	// Generate writes all statements, one a line. It returns the counts of the data written to w,
	// even if it fails. When ctx is done, it stops with the context's error.
	Generate(ctx context.Context, w io.Writer) (Counts, error)

	// MediaType returns the syntax of Generate: MediaTypeNTriples or MediaTypeNQuads.
	MediaType() string
}

// The syntaxes of generators.
const (
	MediaTypeNTriples = "application/n-triples"
	MediaTypeNQuads   = "application/n-quads"
)

// Counts is the size of written data.
type Counts struct {
	Statements int64
	Bytes      int64
}

// defaultTriples is the size of a data set if its options have none.
const defaultTriples = 1_000_000

// errOptions marks an error in the options of a generator.
var errOptions = errors.New("dataset: bad options")

// Kinds returns the valid kinds of New.
func Kinds() []string {
	return []string{"lubm", "bsbm", "texts", "photos", "library"}
}

// New returns the data set of a kind with exactly the given number of triples. It must be at least
// 1.
func New(kind string, seed uint64, triples int64) (Generator, error) {
	if triples < 1 {
		return nil, fmt.Errorf("%w: %d triples; at least 1 is needed", errOptions, triples)
	}
	switch kind {
	case "lubm":
		return LUBM{Seed: seed, Triples: triples}, nil
	case "bsbm":
		return BSBM{Seed: seed, Triples: triples}, nil
	case "texts":
		return Texts{Seed: seed, Triples: triples}, nil
	case "photos":
		return Photos{Seed: seed, Triples: triples}, nil
	case "library":
		return Library{Seed: seed, Triples: triples}, nil
	}
	return nil, fmt.Errorf("%w: no kind of data set is called %q; the kinds are %s",
		errOptions, kind, strings.Join(Kinds(), ", "))
}

// orDefault returns triples, or the default if it is 0.
func orDefault(triples int64) int64 {
	if triples == 0 {
		return defaultTriples
	}
	return triples
}
