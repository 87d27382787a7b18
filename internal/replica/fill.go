// Rows that a backfill writes or reads.

package replica

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// Fill writes rows of a backfill. The greatest stamp of each row stays. An annotation stays if it
// is newer than the last delete of its triple. A row in flight enters the in-flight list, unless
// this machine has newer news of it. Nothing must be taken as durable before [Store.SyncFills]
// returns. Fill keeps nothing of rows.
func (s *Store) Fill(ctx context.Context, rows []FillRow) error {
	r, err := s.newFill(rows)
	if err == nil {
		err = s.Committer().Do(ctx, r)
	}
	return fault.Wrap("fill", err)
}

func (s *Store) newFill(rows []FillRow) (*stamped, error) {
	r := &stamped{store: s}
	r.rows = make([]stampedRow, 0, len(rows))
	batches := map[Origin][]Operation{}
	var space arena
	// 1. Check and copy each row, because the caller keeps its own.
	for i := range rows {
		row := &rows[i]
		stamped, err := s.stamped(row, &space)
		if err != nil {
			return nil, fmt.Errorf("%w: row %d, %q: %v", store.ErrInvalid, i, keyspace.Clip(row.Key), err)
		}
		r.rows = append(r.rows, stamped)
		r.adds = r.adds || !triple.IsTombstone(row.Value)
		if row.InFlight != (Origin{}) {
			batches[row.InFlight] = append(batches[row.InFlight], *row.Operation)
		}
	}
	// 2. Group the operations in flight by batch, because the list holds batches.
	for origin, operations := range batches {
		encoded := appendOperations(nil, operations)
		own, err := parseOperations(encoded, len(operations))
		if err != nil {
			return nil, fmt.Errorf("%w: %v", store.ErrInvalid, err)
		}
		r.entries = append(r.entries, InFlightBatch{origin, merged(nil, own)})
		r.size += int64(len(encoded))
	}
	r.seal()
	return r, nil
}

// stamped returns a copy of the row in the form to be written.
func (s *Store) stamped(row *FillRow, space *arena) (out stampedRow, err error) {
	// 1. Check the table and the key. Only SPO may have extra copies.
	if row.Table != keyspace.Storage && row.Table != keyspace.Replica {
		return out, fmt.Errorf("there is no table %d", row.Table)
	}
	version := row.Key
	if triple.IsAnnotation(row.Value) {
		var ok bool
		if version, _, ok = triple.CutAnnotation(row.Key); !ok {
			return out, fmt.Errorf("an annotation's value under a version's key")
		}
		a, err := s.loadEpochs.annotationOf(row.Value)
		if err != nil {
			return out, err
		}
		out.on = a.On
	}
	order, _, err := triple.SplitKey(version)
	if err != nil {
		return out, err
	}
	if row.Table == keyspace.Replica && order != triple.SPO {
		return out, fmt.Errorf("a replica in order %s", order)
	}
	// 2. A row in flight must have its operation, because another sequencer may drive it again.
	if row.InFlight != (Origin{}) {
		if o := row.Operation; row.InFlight.Sequencer == 0 || row.InFlight.Batch == 0 || o == nil {
			return out, fmt.Errorf("unsettled without an origin or an operation")
		} else if order, _, err := triple.SplitKey(o.Key); err != nil || order != triple.SPO {
			return out, fmt.Errorf("the operation of an unsettled row has no key of spo")
		}
	}
	if out.stamp, err = s.loadEpochs.stampOf(row.Value); err != nil {
		return out, err
	}
	// 3. Copy key and value, because the caller owns row.
	out.key = space.take(func(dst []byte) []byte { return append(append(dst, row.Table), row.Key...) })
	out.value = space.take(func(dst []byte) []byte { return append(dst, row.Value...) })
	return out, nil
}

// CheckFill returns an error if [Store.Fill] of any machine would reject the row. The error names
// the damage.
func (s *Store) CheckFill(row *FillRow) error {
	var space arena
	_, err := s.stamped(row, &space)
	return err
}

// SyncFills makes all answered fills durable. It adds one to the mark and returns it.
func (s *Store) SyncFills(ctx context.Context) (mark uint64, err error) {
	r := &stamped{store: s}
	r.durable, r.counts, r.size = true, true, rowBytes
	if err := s.Committer().Do(ctx, r); err != nil {
		return 0, fault.Wrap("sync fills", err)
	}
	return r.mark, nil
}

// Mark returns how often fills were made durable on this machine. If a disk has a smaller mark
// than before, it has lost rows.
func (s *Store) Mark() uint64 { return s.mark.Load() }

// States returns the current rows of triples in the storage table. The keys are of SPO and must
// ascend.
func (s *Store) States(ctx context.Context, spoKeys [][]byte) ([]RowState, error) {
	if err := s.db.Begin(); err != nil {
		return nil, fault.Wrap("look up triples", err)
	}
	defer s.db.End()
	states, err := s.states(ctx, spoKeys)
	return states, fault.Wrap("look up triples", err)
}

// AnnotationVersion returns the stamp of the annotation of an application beside a row of SPO in the
// storage table. live is false if it is removed. The stamp is zero if no row is known.
func (s *Store) AnnotationVersion(spoKey []byte, applicationID string) (stamp triple.Stamp, live bool, err error) {
	if err := s.db.Begin(); err != nil {
		return triple.Stamp{}, false, fault.Wrap("look up annotation", err)
	}
	defer s.db.End()
	value, err := s.db.Value(triple.AppendAnnotationKey([]byte{keyspace.Storage}, spoKey, applicationID))
	if err != nil || value == nil {
		return triple.Stamp{}, false, fault.Wrap("look up annotation", err)
	}
	a, err := s.loadEpochs.annotationOf(value)
	return a.Stamp, !a.Removed, fault.Wrap("look up annotation", err)
}

func (s *Store) states(ctx context.Context, spoKeys [][]byte) ([]RowState, error) {
	lower, upper := keyspace.StorageBounds(triple.OrderRange(triple.SPO))
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	states := make([]RowState, len(spoKeys))
	// Look up all keys with one iterator, because they ascend.
	look := stampedCommit{store: s, it: it}
	var key []byte
	for i := range spoKeys {
		// A key out of order would be missed, because the iterator only moves forward.
		if i > 0 && bytes.Compare(spoKeys[i-1], spoKeys[i]) > 0 {
			return nil, fmt.Errorf("%w: key %d is less than the one before", store.ErrInvalid, i)
		}
		if i%database.CheckMoves == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		key = append(append(key[:0], keyspace.Storage), spoKeys[i]...)
		value, err := look.lookUp(key)
		if err != nil {
			return nil, err
		}
		// If the row is missing, its state stays zero.
		if value == nil {
			continue
		}
		states[i].Exists, states[i].Live = true, !triple.IsTombstone(value)
		if states[i].Stamp, err = s.loadEpochs.stampOf(value); err != nil {
			return nil, err
		}
	}
	return states, nil
}
