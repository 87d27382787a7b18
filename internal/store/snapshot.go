// Snapshots: read views of a store.

package store

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// Snapshot is the store at one moment. Later writes, loads and splits are not visible in it. It
// must be closed, because it keeps files of that moment on disk.
type Snapshot struct {
	store  *Store
	pebble *pebble.EventuallyFileOnlySnapshot
	at     feed.Position // of the change feed; zero if it must be read from the rows
	closed atomic.Bool
}

// Snapshot returns the current state of the store. It has all acknowledged operations.
func (s *Store) Snapshot() (*Snapshot, error) {
	if err := s.db.Begin(); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	// A plain snapshot of Pebble would lose excised keys, and a segment's keys are excised when it
	// moves. It would also make compactions keep all visible rows.
	all := []pebble.KeyRange{{Start: []byte{keyspace.Storage}, End: []byte{keyspace.Local + 1}}}
	// While no commit runs, the end of the feed is that of the rows. Otherwise nobody waits for it.
	var at feed.Position
	if s.columns != nil && s.committer.mu.TryLock() {
		defer s.committer.mu.Unlock()
		at, _ = s.feed.Position(context.Background()) // which cannot fail
	}
	return &Snapshot{store: s, pebble: s.db.NewEventuallyFileOnlySnapshot(all), at: at}, nil
}

// Position implements [Reader]: the rows are of one moment.
func (sn *Snapshot) Position() (feed.Position, bool, error) {
	at, err := sn.position()
	return at, true, err
}

// position returns the position of the change feed that the rows belong to.
func (sn *Snapshot) position() (feed.Position, error) {
	if sn.at.Source != 0 {
		return sn.at, nil
	}
	return sn.store.feed.PositionIn(sn.pebble)
}

// Close releases the snapshot. Its iterators may outlive it.
func (sn *Snapshot) Close() error {
	if !sn.closed.CompareAndSwap(false, true) {
		return nil
	}
	defer sn.store.db.End()
	return fault.Wrap("close snapshot", sn.pebble.Close())
}

// Value returns a copy of the value of a Pebble key, or nil if the row is missing.
func (sn *Snapshot) Value(key []byte) ([]byte, error) {
	if sn.closed.Load() {
		return nil, ErrClosed
	}
	return database.Value(sn.pebble, key)
}

// Has reports whether the snapshot holds t, in its graph.
func (sn *Snapshot) Has(ctx context.Context, t triple.Triple) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	key, _ := triple.AppendKey([]byte{keyspace.Storage}, triple.SPO, t)
	value, err := sn.Value(key)
	if err != nil {
		return false, fault.Wrap("look up triple", err)
	}
	return value != nil && !triple.IsTombstone(value), nil
}

// Annotation returns the annotation of an application on t. It is nil if there is none or the
// triple is missing. The caller owns the result.
func (sn *Snapshot) Annotation(ctx context.Context, t triple.Triple, applicationID string) (*Annotation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key, _ := triple.AppendKey([]byte{keyspace.Storage}, triple.SPO, t)
	value, err := sn.Value(triple.AppendAnnotationKey(nil, key, applicationID))
	if err != nil {
		return nil, fault.Wrap("look up annotation", err)
	}
	if value == nil {
		return nil, nil
	}
	a, err := triple.DecodeAnnotation(value)
	if err != nil || a.Removed {
		return nil, fault.Wrap("look up annotation", err)
	}
	return &Annotation{ApplicationID: applicationID, Data: a.Data, Version: a.Stamp}, nil
}

// Annotation is one application's annotation of a triple.
type Annotation = triple.ApplicationData

// Annotations returns all annotations of t, by application ID.
func (sn *Snapshot) Annotations(ctx context.Context, t triple.Triple) iter.Seq2[Annotation, error] {
	return func(yield func(Annotation, error) bool) {
		if err := sn.Begin(ctx); err != nil {
			yield(Annotation{}, err)
			return
		}
		defer sn.store.db.End()
		key, _ := triple.AppendKey([]byte{keyspace.Storage}, triple.SPO, t)
		for row, err := range annotations(sn.pebble, key) {
			var a triple.Annotation
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				a, err = triple.DecodeAnnotation(row.value)
			}
			if err != nil {
				yield(Annotation{}, fault.Wrap("read annotations", err))
				return
			}
			if !a.Removed && !yield(Annotation{ApplicationID: string(row.id), Data: append([]byte{}, a.Data...), Version: a.Stamp}, nil) {
				return
			}
		}
	}
}

// Begin begins a read of the snapshot. The caller must call End if it returns nil.
func (sn *Snapshot) Begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if sn.closed.Load() {
		return fmt.Errorf("read a snapshot: %w", ErrClosed)
	}
	return sn.store.db.Begin()
}

// End ends a read.
func (sn *Snapshot) End() { sn.store.db.End() }

// NewIter returns an iterator over Pebble keys from lower up to upper. The caller must close it.
func (sn *Snapshot) NewIter(lower, upper []byte) (*pebble.Iterator, error) {
	return sn.pebble.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
}

// reader is a source of rows: the database, or a snapshot of it.
type reader interface {
	NewIter(*pebble.IterOptions) (*pebble.Iterator, error)
}

// annotationRow is a stored annotation, valid until the next step.
type annotationRow struct{ id, value []byte }

// annotations returns the annotations beside the row with a Pebble key.
func annotations(from reader, key []byte) iter.Seq2[annotationRow, error] {
	return func(yield func(annotationRow, error) bool) {
		lower, upper := triple.AnnotationBounds(key)
		it, err := from.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			yield(annotationRow{}, err)
			return
		}
		defer it.Close()
		for valid := it.First(); valid; valid = it.Next() {
			value, err := it.ValueAndErr()
			if !yield(annotationRow{it.Key()[len(lower):], value}, err) || err != nil {
				return
			}
		}
		if err := it.Error(); err != nil {
			yield(annotationRow{}, err)
		}
	}
}
