// Reading the stored rows of a table.

package store

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// RawRow is a stored row. Its slices are valid until the next step.
type RawRow struct{ Key, Value []byte }

// Raw returns the stored rows of a table in r: rows of triples, tombstones and annotations, in the
// order of their keys. An error ends it.
func (sn *Snapshot) Raw(ctx context.Context, table byte, r triple.Range) iter.Seq2[RawRow, error] {
	return func(yield func(RawRow, error) bool) {
		more := true
		err := sn.EachRaw(ctx, table, r, func(row RawRow) ([]byte, error) {
			if more = yield(row, nil); !more {
				return nil, errStopped
			}
			return nil, nil
		})
		if err != nil && more {
			yield(RawRow{}, err)
		}
	}
}

// errStopped ends [Snapshot.EachRaw] and is not returned.
var errStopped = errors.New("stopped")

// EachRaw calls visit for the stored rows of a table in r, in the order of their keys. If visit
// returns a key, all rows before it are skipped. An error of visit ends the read and is returned
// unchanged.
func (sn *Snapshot) EachRaw(ctx context.Context, table byte, r triple.Range, visit func(RawRow) (seek []byte, err error)) error {
	// 1. Check the table and register the read, because Close must wait for it.
	if table != keyspace.Storage && table != keyspace.Replica {
		return fmt.Errorf("read rows: %w: there is no table %d", ErrInvalid, table)
	}
	if err := sn.Begin(ctx); err != nil {
		return fault.Wrap("read rows", err)
	}
	defer sn.End()
	lower, upper := keyspace.TableBounds(table, r)
	it, err := sn.pebble.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return fault.Wrap("read rows", err)
	}
	defer it.Close()
	// 2. Visit the rows. Notice the end of ctx or the store every database.CheckMoves rows.
	moves, key := 0, []byte(nil)
	for valid := it.First(); valid; {
		value, err := it.ValueAndErr()
		if moves++; err == nil && moves%database.CheckMoves == 0 {
			if err = ctx.Err(); err == nil && sn.store.db.Closing() {
				err = ErrClosed
			}
		}
		if err != nil {
			return fault.Wrap("read rows", err)
		}
		seek, err := visit(RawRow{it.Key()[1:], value})
		switch {
		case err != nil:
			return err
		case seek != nil:
			key = append(append(key[:0], table), seek...)
			valid = it.SeekGE(key)
		default:
			valid = it.Next()
		}
	}
	return fault.Wrap("read rows", it.Error())
}
