// Snapshots: read views of a store, and their rows for queries.

package store

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/sparql"
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

// Source returns the snapshot as a source of package sparql. It is valid until the snapshot is
// closed.
func (sn *Snapshot) Source() sparql.Source { return sparqlSource{sn} }

type sparqlSource struct{ snapshot *Snapshot }

// Scan iterates over the rows of a range.
func (s sparqlSource) Scan(ctx context.Context, r triple.Range, reverse bool) (sparql.Rows, error) {
	rows, err := s.snapshot.Rows(ctx, r)
	if err != nil {
		return nil, err
	}
	if reverse {
		return backward{rows}, nil
	}
	return rows, nil
}

// backward reads rows from the last to the first.
type backward struct{ *Rows }

func (b backward) Next() bool { return b.Prev() }

// SeekGE moves to the last row with a key of at most key.
func (b backward) SeekGE(key []byte) bool { return b.SeekLT(append(bytes.Clone(key), 0)) }

// nearRows is the maximum number of steps towards the next range before a seek. A seek takes as
// long as 10 to 25 steps. If earlier steps missed the range, fewer are tried.
const nearRows = 16

// nearTry is the number of ranges after which all steps are tried again.
const nearTry = 16

// Lookup calls each for the rows of ascending ranges, with one iterator.
func (s sparqlSource) Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	for len(ranges) > 0 && ranges[len(ranges)-1].Empty() { // its end may be before the end of others
		ranges = ranges[:len(ranges)-1]
	}
	if len(ranges) == 0 {
		return ctx.Err()
	}
	rows, err := s.snapshot.Rows(ctx, triple.Range{Lo: ranges[0].Lo, Hi: ranges[len(ranges)-1].Hi})
	if err != nil {
		return err
	}
	defer rows.Close()
	// 1. Step towards the next range, and seek if it is too far. near adapts to the ranges.
	valid := rows.First()
	near := nearRows
	for i, r := range ranges {
		steps, most := 0, near
		if i%nearTry == 0 {
			most = nearRows
		}
		for valid && steps < most && bytes.Compare(rows.Key(), r.Lo) < 0 {
			valid = rows.Next()
			steps++
		}
		switch {
		case !valid:
		case bytes.Compare(rows.Key(), r.Lo) < 0:
			valid = rows.SeekGE(r.Lo)
			near = max(near-2, 0)
		case steps > 0:
			near = min(near+2, nearRows)
		}
		// 2. Visit the rows of the range.
		for ; valid && (r.Hi == nil || bytes.Compare(rows.Key(), r.Hi) < 0); valid = rows.Next() {
			if err := each(i, rows.Key(), rows.Value()); err != nil {
				return err
			}
		}
		if !valid {
			break
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return ctx.Err()
}

// Count returns how many rows a range has. It decodes none.
func (s sparqlSource) Count(ctx context.Context, r triple.Range) (int64, error) {
	n, _, _, err := s.snapshot.count(ctx, r, nil, 0)
	return n, err
}

// Estimate returns about how many rows a range has.
func (s sparqlSource) Estimate(ctx context.Context, r triple.Range) (rows int64, exact bool, err error) {
	_, seen, all, err := s.snapshot.count(ctx, r, nil, exactPlanRows)
	if err != nil || all {
		return seen, all, err
	}
	if rows, _, err = s.snapshot.estimate(keyspace.Storage, r); err != nil || rows > seen {
		return rows, false, err
	}
	// Tables have no rows of the range, because its rows are still in memory.
	_, seen, all, err = s.snapshot.count(ctx, r, nil, exactRows)
	if !all {
		seen++
	}
	return seen, all, err
}

// exactPlanRows is the number of rows up to which an estimate for a plan counts exactly. It is
// small because a plan requests dozens.
const exactPlanRows = 100
