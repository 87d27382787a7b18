// Sources: data sets as sequences of units.

package dataset

import (
	"context"
	"fmt"
	"io"
)

// source is a data set as a sequence of units, numbered from 0. emit must be a pure function of the
// source and the unit.
type source interface {
	emit(e *emitter, unit int64)
}

// write writes the first statements of a source; 0 is the default size.
func write(ctx context.Context, w io.Writer, src source, triples int64) (Counts, error) {
	if triples < 0 {
		return Counts{}, fmt.Errorf("%w: Triples is %d; it cannot be negative", errOptions, triples)
	}
	e := newEmitter(ctx, w, orDefault(triples))
	for unit := int64(0); !e.done(); unit++ {
		src.emit(e, unit)
	}
	e.flush()
	return e.written, e.err
}
