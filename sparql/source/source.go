// The contract of a source and its rows.

package source

import (
	"context"

	"github.com/trefoildb/trefoil/triple"
)

// Source is a consistent state of a store, as queries read it: rows of the
// ordered space. Package node implements it; over a cluster its methods are
// messages to the owners of ranges, so they take and give much at a time.
// Methods may be called from several goroutines.
type Source interface {
	// Scan iterates over the version rows of a range, in the order of keys or,
	// with reverse, against it.
	Scan(ctx context.Context, r triple.Range, reverse bool) (Rows, error)

	// Lookup calls each for every version row of every range, in the order of the ranges, i is
	// the range's index. The ranges must ascend and must not overlap. Key and value are valid
	// during the call. An error of each ends the look-up.
	Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error

	// Count returns how many version rows a range has. It reads them all, but
	// decodes none.
	Count(ctx context.Context, r triple.Range) (int64, error)

	// Estimate returns about how many version rows a range has, without reading it; exact is
	// true if the number is right.
	Estimate(ctx context.Context, r triple.Range) (rows int64, exact bool, err error)
}

// Rows iterates over version rows. It starts before the first one. If a move returns false, Err
// returns an error, or nil at the end.
type Rows interface {
	Next() bool
	// SeekGE moves to the first row with a key of at least key (at most, in reverse). It may be
	// before the current one.
	SeekGE(key []byte) bool
	// Row returns the key and the value of the current row. They are valid until the next move.
	Row() (key, value []byte)
	Err() error
	Close() error
}
