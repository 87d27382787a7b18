package workload

// This file holds what all kinds of data sets have in common as seen from
// outside: the Generator interface and the choice of one by name.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A Generator is a data set, or a part of one, that has not been written yet.
// It holds no state: it can be written any number of times, and several of its
// parts at once.
type Generator interface {
	// Generate writes all statements, one a line, and returns how many were
	// handed to w, also where it fails. It stops with the context's error
	// when ctx ends.
	Generate(ctx context.Context, w io.Writer) (Counts, error)

	// Parts splits the data set into n parts, n >= 1, of equal numbers of
	// statements give or take one. Written one after the other they give the
	// whole, byte for byte.
	Parts(n int) ([]Generator, error)

	// MediaType names the syntax that Generate writes: one of
	// MediaTypeNTriples and MediaTypeNQuads.
	MediaType() string
}

// The syntaxes that generators write.
const (
	MediaTypeNTriples = "application/n-triples"
	MediaTypeNQuads   = "application/n-quads"
)

// Counts says how much was written.
type Counts struct {
	Statements int64
	Bytes      int64
}

// DefaultTriples is the size of a data set whose options name none.
const DefaultTriples = 1_000_000

// errOptions marks an error in the options of a generator.
var errOptions = errors.New("workload: bad options")

// Kinds returns the names that New knows.
func Kinds() []string {
	return []string{"lubm", "texts", "photos", "library"}
}

// New returns the data set of a kind with exactly the given number of triples,
// at least 1.
func New(kind string, seed uint64, triples int64) (Generator, error) {
	if triples < 1 {
		return nil, fmt.Errorf("%w: %d triples; at least 1 is needed", errOptions, triples)
	}
	switch kind {
	case "lubm":
		return LUBM{Seed: seed, Triples: triples}, nil
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

// checkTriples is Validate for the kinds whose only size is a number of
// triples.
func checkTriples(triples int64) error {
	if triples < 0 {
		return fmt.Errorf("%w: Triples is %d; it cannot be negative", errOptions, triples)
	}
	return nil
}

// orDefault returns triples, or the default where it is 0.
func orDefault(triples int64) int64 {
	if triples == 0 {
		return DefaultTriples
	}
	return triples
}
