package node

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// Snapshot is the store as it was at one moment: writes, loads and splits that
// come later do not show in it. It keeps files of that moment on the disk; close
// it.
type Snapshot struct {
	store  *Store
	pebble *pebble.EventuallyFileOnlySnapshot
	closed atomic.Bool
}

// Snapshot returns the store as it is now. All that has been acknowledged is in it.
func (s *Store) Snapshot() (*Snapshot, error) {
	if err := s.uses.begin(); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	// A plain snapshot of Pebble's would lose keys that are excised under it, as a
	// segment's are when it moves; and it makes compactions keep what it can see.
	all := []pebble.KeyRange{{Start: []byte{tableStorage}, End: []byte{tableLocal + 1}}}
	return &Snapshot{store: s, pebble: s.db.NewEventuallyFileOnlySnapshot(all)}, nil
}

// Close releases the snapshot; iterators that were made of it may outlive it.
func (sn *Snapshot) Close() error {
	if !sn.closed.CompareAndSwap(false, true) {
		return nil
	}
	defer sn.store.uses.end()
	return wrap("close snapshot", sn.pebble.Close())
}

// get returns a copy of the value of a Pebble key; nil where there is none.
func (sn *Snapshot) get(key []byte) ([]byte, error) {
	if sn.closed.Load() {
		return nil, ErrClosed
	}
	value, closer, err := sn.pebble.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value = append([]byte{}, value...)
	return value, closer.Close()
}

// Has reports whether the snapshot holds t, in its graph.
func (sn *Snapshot) Has(ctx context.Context, t triple.Triple) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	key, _ := triple.AppendKey([]byte{tableStorage}, triple.SPO, t)
	value, err := sn.get(key)
	if err != nil {
		return false, wrap("look up triple", err)
	}
	return value != nil && !triple.IsTombstone(value), nil
}

// Annotation returns what an application noted on t; nil where it noted nothing
// or the triple is not there. The caller owns the result.
func (sn *Snapshot) Annotation(ctx context.Context, t triple.Triple, applicationID string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key, _ := triple.AppendKey([]byte{tableStorage}, triple.SPO, t)
	value, err := sn.get(triple.AppendAnnotationKey(nil, key, applicationID))
	if err != nil {
		return nil, wrap("look up annotation", err)
	}
	if value == nil {
		return nil, nil
	}
	a, err := triple.DecodeAnnotation(value)
	if err != nil || a.Removed {
		return nil, wrap("look up annotation", err)
	}
	return a.Data, nil
}

// Annotation is what one application noted on a triple.
type Annotation = triple.ApplicationData

// Annotations returns what applications noted on t, by application id.
func (sn *Snapshot) Annotations(ctx context.Context, t triple.Triple) iter.Seq2[Annotation, error] {
	return func(yield func(Annotation, error) bool) {
		if err := sn.begin(ctx); err != nil {
			yield(Annotation{}, err)
			return
		}
		defer sn.store.uses.end()
		key, _ := triple.AppendKey([]byte{tableStorage}, triple.SPO, t)
		for row, err := range annotations(sn.pebble, key) {
			var a triple.Annotation
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				a, err = triple.DecodeAnnotation(row.value)
			}
			if err != nil {
				yield(Annotation{}, wrap("read annotations", err))
				return
			}
			if !a.Removed && !yield(Annotation{ApplicationID: string(row.id), Data: append([]byte{}, a.Data...)}, nil) {
				return
			}
		}
	}
}

// begin begins a read of the snapshot; uses.end ends it.
func (sn *Snapshot) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if sn.closed.Load() {
		return fmt.Errorf("read a snapshot: %w", ErrClosed)
	}
	return sn.store.uses.begin()
}

// reader is what rows are read from: the database, or a snapshot of it.
type reader interface {
	NewIter(*pebble.IterOptions) (*pebble.Iterator, error)
}

// annotationRow is an annotation as it is stored; valid until the next step.
type annotationRow struct{ id, value []byte }

// annotations returns the annotations beside the version with a Pebble key.
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
