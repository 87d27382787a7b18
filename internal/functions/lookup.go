// The rows that an argument was read with last.

package functions

import (
	"context"
	"iter"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// maxLookupBytes bounds the rows of a lookup, because a node has up to 256 functions of 16 arguments.
const maxLookupBytes = 256 << 10

// lookup keeps the rows of the last pattern of one argument. It is valid for one reader. Patterns such
// as that of a counter name the same triples for all changes, and a read costs more than the call.
type lookup struct {
	pattern triple.Pattern
	rows    []argumentRow // nil if the last read failed, ended early, or found too much
}

// argumentRow is a row outside of the system graph.
type argumentRow struct {
	key []byte // in SPO
	triple.Triple
}

// read yields the rows of a pattern. It reads the store if the last pattern was another one.
func (l *lookup) read(ctx context.Context, r store.Matcher, p triple.Pattern) iter.Seq2[argumentRow, error] {
	return func(yield func(argumentRow, error) bool) {
		// 1. Take them from the last read.
		if l.rows != nil && l.pattern == p {
			for _, row := range l.rows {
				if !yield(row, nil) {
					return
				}
			}
			return
		}
		// 2. Read them, and keep them if they are few.
		l.rows = nil
		rows, size := []argumentRow{}, 0
		for row, err := range r.Match(ctx, p, store.ReadOptions{}) {
			if err != nil {
				yield(argumentRow{}, err)
				return
			}
			t, err := row.Triple()
			if err != nil {
				yield(argumentRow{}, err)
				return
			}
			if systemgraph.Contains(t) {
				continue
			}
			key, _ := triple.AppendKey(nil, triple.SPO, t)
			if size += len(row.Key) + len(row.Value); size <= maxLookupBytes {
				rows = append(rows, argumentRow{key, t})
			}
			if !yield(argumentRow{key, t}, nil) {
				return
			}
		}
		if size <= maxLookupBytes {
			l.pattern, l.rows = p, rows
		}
	}
}
