package workload

// This file holds how a data set is cut: a source is a sequence of units, a
// span is a run of statements of a source, and a span is a Generator.

import (
	"context"
	"fmt"
	"io"
)

// A source is a data set as a sequence of units, numbered from 0. Both methods
// are pure functions of the source and the unit, and safe for concurrent use.
//
// Invariant: emit(e, u) ends exactly size(u) lines on e, or fewer where e is
// done before that.
type source interface {
	size(unit int64) int64
	emit(e *emitter, unit int64)
}

// A span is count statements of a source, from the one numbered skip in the
// unit first on.
type span struct {
	src         source
	media       string
	first, skip int64
	count       int64
}

// Generate implements Generator.
func (s span) Generate(ctx context.Context, w io.Writer) (Counts, error) {
	e := newEmitter(ctx, w, s.skip, s.count)
	for unit := s.first; !e.done(); unit++ {
		s.src.emit(e, unit)
	}
	e.flush()
	return e.written, e.err
}

// MediaType implements Generator.
func (s span) MediaType() string { return s.media }

// Parts implements Generator. It walks over the sizes of the units once.
func (s span) Parts(n int) ([]Generator, error) {
	if n < 1 {
		return nil, fmt.Errorf("%w: %d parts; at least 1 is needed", errOptions, n)
	}
	parts := make([]Generator, n)
	// Invariant: the statement numbered skip of unit is the next part's first.
	unit, skip := s.first, s.skip
	for i := range parts {
		count := s.count / int64(n)
		if int64(i) < s.count%int64(n) {
			count++
		}
		parts[i] = span{s.src, s.media, unit, skip, count}
		if i == n-1 {
			break
		}
		skip += count
		for size := s.src.size(unit); skip >= size && skip > 0; size = s.src.size(unit) {
			skip -= size
			unit++
		}
	}
	return parts, nil
}

// wholeUnits returns how many units at the start of src fit into a number of
// statements.
func wholeUnits(src source, statements int64) int64 {
	unit := int64(0)
	for ; ; unit++ {
		statements -= src.size(unit)
		if statements < 0 {
			return unit
		}
	}
}
