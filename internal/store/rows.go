// Iterating over rows of a snapshot: triples, annotations, and rows as they are stored.

package store

import (
	"bytes"
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

// Rows iterates over the rows of a range, in the order of their keys and in both directions. It
// skips annotations and tombstones. It starts before the first row. It is not safe for concurrent
// use, and must be closed.
//
// If a move returns false, there is no row. Err then returns an error, or nil at the end of the
// range. First, Last and the seeks start anew.
type Rows struct {
	ctx   context.Context
	store *Store
	it    *pebble.Iterator
	table byte
	key   []byte // of a seek, table byte first
	value []byte
	moves uint
	begun bool
	// annotated is set if annotations are rows, too.
	annotated bool
	replace   func(key, value []byte) ([]byte, error) // see Replace
	err       error
}

// Rows returns an iterator over the rows of the snapshot in r. It checks ctx from time to time.
func (sn *Snapshot) Rows(ctx context.Context, r triple.Range) (*Rows, error) {
	if err := sn.Begin(ctx); err != nil {
		return nil, err
	}
	return sn.rowsOf(ctx, keyspace.Storage, r)
}

// Replicas is [Snapshot.Rows] for the extra copies. Their keys are of SPO.
func (sn *Snapshot) Replicas(ctx context.Context, r triple.Range) (*Rows, error) {
	if err := sn.Begin(ctx); err != nil {
		return nil, err
	}
	return sn.rowsOf(ctx, keyspace.Replica, r)
}

// rowsOf returns the rows of a table. The caller must have begun a read.
func (sn *Snapshot) rowsOf(ctx context.Context, table byte, r triple.Range) (*Rows, error) {
	lower, upper := keyspace.TableBounds(table, r)
	it, err := sn.pebble.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		sn.store.db.End()
		return nil, fault.Wrap("iterate", err)
	}
	return &Rows{ctx: ctx, store: sn.store, it: it, table: table}, nil
}

// First moves to the first row.
func (r *Rows) First() bool { return r.start() && r.forward(r.it.First()) }

// Last moves to the last row.
func (r *Rows) Last() bool { return r.start() && r.backward(r.it.Last()) }

// SeekGE moves to the first row with a key of at least key.
func (r *Rows) SeekGE(key []byte) bool { return r.start() && r.forward(r.it.SeekGE(r.seek(key))) }

// SeekLT moves to the last row with a key less than key.
func (r *Rows) SeekLT(key []byte) bool { return r.start() && r.backward(r.it.SeekLT(r.seek(key))) }

// Replace makes f replace the value of each stored row, live or a tombstone; nil is no row. An error
// ends the iteration. It must be called before the first move.
func (r *Rows) Replace(f func(key, value []byte) ([]byte, error)) { r.replace = f }

// Next moves to the next row. If no move came before, it is First.
func (r *Rows) Next() bool {
	if !r.begun {
		return r.First()
	}
	return r.err == nil && r.forward(r.it.Next())
}

// Prev moves to the row before. If no move came before, it is Last.
func (r *Rows) Prev() bool {
	if !r.begun {
		return r.Last()
	}
	return r.err == nil && r.backward(r.it.Prev())
}

func (r *Rows) seek(key []byte) []byte {
	r.key = append(append(r.key[:0], r.table), key...)
	return r.key
}

// start begins a move that is independent of earlier ones.
func (r *Rows) start() bool {
	r.begun = true
	return !r.interrupted()
}

// interrupted reports whether the iteration must end. If so, it sets err.
func (r *Rows) interrupted() bool {
	if r.err = r.ctx.Err(); r.err == nil && r.store.db.Closing() {
		r.err = fault.Wrap("iterate", ErrClosed)
	}
	return r.err != nil
}

// forward moves forward to the next live row.
func (r *Rows) forward(valid bool) bool {
	for ; valid; valid = r.it.Next() {
		if r.moves++; r.moves%database.CheckMoves == 0 && r.interrupted() {
			return false
		}
		if r.load() {
			return true
		}
		if r.err != nil {
			return false
		}
	}
	return r.ended()
}

// backward moves backward to the next live row.
func (r *Rows) backward(valid bool) bool {
	for ; valid; valid = r.it.Prev() {
		if r.moves++; r.moves%database.CheckMoves == 0 && r.interrupted() {
			return false
		}
		if r.load() {
			return true
		}
		if r.err != nil {
			return false
		}
	}
	return r.ended()
}

// load reads the value of the current row and reports whether it is a live row.
func (r *Rows) load() bool {
	value, err := r.it.ValueAndErr()
	if err != nil {
		r.err = fault.Wrap("iterate", err)
		return false
	}
	r.value = value
	if r.replace != nil && !triple.IsAnnotation(value) {
		if r.value, r.err = r.replace(r.it.Key()[1:], value); r.value == nil {
			return false
		}
	}
	return (r.annotated || !triple.IsAnnotation(r.value)) && !triple.IsTombstone(r.value)
}

func (r *Rows) ended() bool {
	r.value = nil
	if err := r.it.Error(); err != nil {
		r.err = fault.Wrap("iterate", err)
	}
	return false
}

// Key returns the key of the row; valid until the next move.
func (r *Rows) Key() []byte { return r.it.Key()[1:] }

// Value returns the value of the row; valid until the next move.
func (r *Rows) Value() []byte { return r.value }

// Row returns the key and the value of the row, like Key and Value.
func (r *Rows) Row() (key, value []byte) { return r.it.Key()[1:], r.value }

// Err returns the error that ended the iteration, or nil at the end of the range.
func (r *Rows) Err() error { return r.err }

// Close ends the iteration.
func (r *Rows) Close() error {
	if r.it == nil {
		return nil
	}
	err := r.it.Close()
	r.it = nil
	r.store.db.End()
	if r.err != nil {
		return nil // Err has returned it
	}
	return fault.Wrap("end iteration", err)
}

// annotatedReader looks up the annotations of one row after the other.
type annotatedReader struct{ it *pebble.Iterator }

// newAnnotatedReader returns a reader for the rows of a snapshot. It must be closed.
func (sn *Snapshot) newAnnotatedReader() (*annotatedReader, error) {
	it, err := sn.pebble.NewIter(&pebble.IterOptions{LowerBound: []byte{keyspace.Storage}, UpperBound: []byte{keyspace.Storage + 1}})
	if err != nil {
		return nil, fault.Wrap("iterate", err)
	}
	return &annotatedReader{it}, nil
}

// of returns the annotations beside the row with a key. The caller owns them.
func (r *annotatedReader) of(ctx context.Context, key []byte) (all []Annotation, err error) {
	lower, upper := triple.AnnotationBounds(append([]byte{keyspace.Storage}, key...))
	for valid := r.it.SeekGE(lower); valid && bytes.Compare(r.it.Key(), upper) < 0; valid = r.it.Next() {
		value, err := r.it.ValueAndErr()
		if err != nil {
			return nil, fault.Wrap("read annotations", err)
		}
		a, err := triple.DecodeAnnotation(value)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fault.Wrap("read annotations", err)
		}
		if !a.Removed {
			all = append(all, Annotation{ApplicationID: string(r.it.Key()[len(lower):]), Data: append([]byte{}, a.Data...), Version: a.Stamp})
		}
	}
	return all, fault.Wrap("read annotations", r.it.Error())
}

func (r *annotatedReader) close() error { return r.it.Close() }

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
