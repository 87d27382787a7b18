// Iterating over rows of a snapshot.

package node

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// Rows iterates over the versions of a range, in the order of their keys and in
// both directions; annotations and tombstones are passed over. It starts before
// the first row. One goroutine at a time may use it; close it.
//
// After a move that returns false there is no row, and Err reports whether that is
// the end of the range or a failure. First, Last and the seeks start anew.
type Rows struct {
	ctx   context.Context
	store *Store
	it    *pebble.Iterator
	table byte
	key   []byte // of a seek, table byte first
	value []byte
	moves uint
	begun bool
	// annotated: annotations are rows, too.
	annotated bool
	err       error
}

// Rows returns an iterator over the versions of the snapshot in r. It looks at
// ctx from time to time.
func (sn *Snapshot) Rows(ctx context.Context, r triple.Range) (*Rows, error) {
	if err := sn.begin(ctx); err != nil {
		return nil, err
	}
	return sn.rowsOf(ctx, tableStorage, r)
}

// Replicas is [Snapshot.Rows] for the extra replicas, whose keys are those of SPO.
func (sn *Snapshot) Replicas(ctx context.Context, r triple.Range) (*Rows, error) {
	if err := sn.begin(ctx); err != nil {
		return nil, err
	}
	return sn.rowsOf(ctx, tableReplica, r)
}

// rowsOf returns the rows of a table. The snapshot is in use.
func (sn *Snapshot) rowsOf(ctx context.Context, table byte, r triple.Range) (*Rows, error) {
	lower, upper := tableBounds(table, r)
	it, err := sn.pebble.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		sn.store.uses.end()
		return nil, wrap("iterate", err)
	}
	return &Rows{ctx: ctx, store: sn.store, it: it, table: table}, nil
}

// First moves to the first row.
func (r *Rows) First() bool { return r.start() && r.forward(r.it.First()) }

// Last moves to the last row.
func (r *Rows) Last() bool { return r.start() && r.backward(r.it.Last()) }

// SeekGE moves to the first row whose key is key or greater.
func (r *Rows) SeekGE(key []byte) bool { return r.start() && r.forward(r.it.SeekGE(r.seek(key))) }

// SeekLT moves to the last row whose key is less than key.
func (r *Rows) SeekLT(key []byte) bool { return r.start() && r.backward(r.it.SeekLT(r.seek(key))) }

// Next moves to the next row; before any other move it is First.
func (r *Rows) Next() bool {
	if !r.begun {
		return r.First()
	}
	return r.err == nil && r.forward(r.it.Next())
}

// Prev moves to the row before; before any other move it is Last.
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

// start begins a move that does not depend on the ones before.
func (r *Rows) start() bool {
	r.begun = true
	return !r.interrupted()
}

// interrupted reports whether the iteration must end, and then sets err.
func (r *Rows) interrupted() bool {
	if r.err = r.ctx.Err(); r.err == nil && r.store.uses.closing.Load() {
		r.err = wrap("iterate", ErrClosed)
	}
	return r.err != nil
}

// checkMoves is how many rows lie between two looks at the context.
const checkMoves = 1 << 10

// forward moves on to a row that is a live version.
func (r *Rows) forward(valid bool) bool {
	for ; valid; valid = r.it.Next() {
		if r.moves++; r.moves%checkMoves == 0 && r.interrupted() {
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

// backward moves back to a row that is a live version.
func (r *Rows) backward(valid bool) bool {
	for ; valid; valid = r.it.Prev() {
		if r.moves++; r.moves%checkMoves == 0 && r.interrupted() {
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

// load reads the value of the row that the iterator is at and reports whether it
// is a live version.
func (r *Rows) load() bool {
	value, err := r.it.ValueAndErr()
	if err != nil {
		r.err = wrap("iterate", err)
		return false
	}
	r.value = value
	return (r.annotated || !triple.IsAnnotation(value)) && !triple.IsTombstone(value)
}

func (r *Rows) ended() bool {
	r.value = nil
	if err := r.it.Error(); err != nil {
		r.err = wrap("iterate", err)
	}
	return false
}

// Key returns the key of the row; valid until the next move.
func (r *Rows) Key() []byte { return r.it.Key()[1:] }

// Value returns the value of the row; valid until the next move.
func (r *Rows) Value() []byte { return r.value }

// Err returns why there is no row, nil at the end of the range.
func (r *Rows) Err() error { return r.err }

// Close ends the iteration.
func (r *Rows) Close() error {
	if r.it == nil {
		return nil
	}
	err := r.it.Close()
	r.it = nil
	r.store.uses.end()
	if r.err != nil {
		return nil // Err has told it
	}
	return wrap("end iteration", err)
}
