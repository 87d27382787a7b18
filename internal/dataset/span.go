// Parts of data sets: a source is a sequence of units, and a span is a run of its statements.

package dataset

import (
	"context"
	"fmt"
	"io"
)

// source is a data set as a sequence of units, numbered from 0. Both methods must be pure functions
// of the source and the unit, and safe for concurrent use.
//
// Invariant: emit(e, u) ends exactly size(u) lines on e, or fewer if e is done before that.
type source interface {
	size(unit int64) int64
	emit(e *emitter, unit int64)
}

// span is a run of count statements of a source. It starts at statement skip of unit first.
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

// Parts implements Generator. It computes the sizes of all units once.
func (s span) Parts(n int) ([]Generator, error) {
	if n < 1 {
		return nil, fmt.Errorf("%w: %d parts; at least 1 is needed", errOptions, n)
	}
	parts := make([]Generator, n)
	// Invariant: statement skip of unit is the next part's first.
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

// wholeUnits returns the number of units at the start of src that fit into a number of statements.
func wholeUnits(src source, statements int64) int64 {
	unit := int64(0)
	for ; ; unit++ {
		statements -= src.size(unit)
		if statements < 0 {
			return unit
		}
	}
}
