// Rows that a backfill brings or reads.

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// Fill writes rows that a walk sends. Of a row the greatest stamp stays, and of
// the annotations those that were noted after the last delete of their triple. Rows
// that are not settled enter the list of what is not, unless this machine knows
// better. Nothing is durable before [Store.SyncFills] returns. Nothing of rows is
// kept.
func (s *Store) Fill(ctx context.Context, rows []FillRow) error {
	r, err := s.newFill(rows)
	if err == nil {
		err = s.doStamped(ctx, r)
	}
	return wrap("fill", err)
}

func (s *Store) newFill(rows []FillRow) (*request, error) {
	r := newStamped()
	r.rows = make([]stampedRow, 0, len(rows))
	batches := map[Origin][]Operation{}
	var space arena
	for i := range rows {
		row := &rows[i]
		stamped, err := s.stamped(row, &space)
		if err != nil {
			return nil, fmt.Errorf("%w: row %d, %q: %v", ErrInvalid, i, clip(row.Key), err)
		}
		r.rows = append(r.rows, stamped)
		r.adds = r.adds || !triple.IsTombstone(row.Value)
		if row.Unsettled != (Origin{}) {
			batches[row.Unsettled] = append(batches[row.Unsettled], *row.Operation)
		}
	}
	for origin, operations := range batches {
		encoded := appendOperations(nil, operations)
		own, err := parseOperations(encoded, len(operations))
		if err != nil {
			return nil, fmt.Errorf("%w: %v", ErrInvalid, err)
		}
		r.entries = append(r.entries, UnsettledBatch{origin, merged(nil, own)})
		r.size += int64(len(encoded))
	}
	r.seal()
	return r, nil
}

// stamped returns a copy of the row as it is to be written.
func (s *Store) stamped(row *FillRow, space *arena) (out stampedRow, err error) {
	if row.Table != TableStorage && row.Table != TableReplica {
		return out, fmt.Errorf("there is no table %d", row.Table)
	}
	version := row.Key
	if triple.IsAnnotation(row.Value) {
		var ok bool
		if version, _, ok = triple.CutAnnotation(row.Key); !ok {
			return out, fmt.Errorf("an annotation's value under a version's key")
		}
		a, err := s.annotationOf(row.Value)
		if err != nil {
			return out, err
		}
		out.on = a.On
	}
	order, _, err := triple.SplitKey(version)
	if err != nil {
		return out, err
	}
	if row.Table == TableReplica && order != triple.SPO {
		return out, fmt.Errorf("a replica in order %s", order)
	}
	if row.Unsettled != (Origin{}) {
		if o := row.Operation; row.Unsettled.Sequencer == 0 || row.Unsettled.Batch == 0 || o == nil {
			return out, fmt.Errorf("unsettled without an origin or an operation")
		} else if order, _, err := triple.SplitKey(o.Key); err != nil || order != triple.SPO {
			return out, fmt.Errorf("the operation of an unsettled row has no key of spo")
		}
	}
	if out.stamp, err = s.stampOf(row.Value); err != nil {
		return out, err
	}
	out.key = space.take(func(dst []byte) []byte { return append(append(dst, row.Table), row.Key...) })
	out.value = space.take(func(dst []byte) []byte { return append(dst, row.Value...) })
	return out, nil
}

// CheckFill returns an error if [Store.Fill] of any machine would refuse the row. The
// error says why the row is damaged.
func (s *Store) CheckFill(row *FillRow) error {
	var space arena
	_, err := s.stamped(row, &space)
	return err
}

// SyncFills makes all fills that have been answered durable, and counts them as
// one more in the mark, which it returns.
func (s *Store) SyncFills(ctx context.Context) (mark uint64, err error) {
	r := newStamped()
	r.durable, r.counts, r.size = true, true, itemBytes
	if err := s.doStamped(ctx, r); err != nil {
		return 0, wrap("sync fills", err)
	}
	return r.mark, nil
}

// Mark returns how many times fills were made durable here. A disk that shows
// less than it once did has lost rows.
func (s *Store) Mark() uint64 { return s.mark.Load() }

// States returns what the storage table holds of triples, whose keys in SPO
// ascend, as it is now.
func (s *Store) States(ctx context.Context, spoKeys [][]byte) ([]RowState, error) {
	if err := s.uses.begin(); err != nil {
		return nil, wrap("look up triples", err)
	}
	defer s.uses.end()
	states, err := s.states(ctx, spoKeys)
	return states, wrap("look up triples", err)
}

func (s *Store) states(ctx context.Context, spoKeys [][]byte) ([]RowState, error) {
	lower, upper := storageBounds(triple.OrderRange(triple.SPO))
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	states := make([]RowState, len(spoKeys))
	look := stampedCommit{store: s, it: it}
	var key []byte
	for i := range spoKeys {
		if i > 0 && bytes.Compare(spoKeys[i-1], spoKeys[i]) > 0 {
			return nil, fmt.Errorf("%w: key %d is less than the one before", ErrInvalid, i)
		}
		if i%checkMoves == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		key = append(append(key[:0], tableStorage), spoKeys[i]...)
		value, err := look.lookUp(key)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		states[i].Exists, states[i].Live = true, !triple.IsTombstone(value)
		if states[i].Stamp, err = s.stampOf(value); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// Raw returns the rows of a table in r as they are stored: versions, tombstones
// and annotations, in the order of their keys. An error ends it.
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

// EachRaw calls visit for the rows of a table in r as they are stored, in the order of
// their keys. Before the key that visit returns all rows are passed over; nil is none. An
// error of visit ends it and is returned as it is.
func (sn *Snapshot) EachRaw(ctx context.Context, table byte, r triple.Range, visit func(RawRow) (seek []byte, err error)) error {
	if table != TableStorage && table != TableReplica {
		return fmt.Errorf("read rows: %w: there is no table %d", ErrInvalid, table)
	}
	if err := sn.begin(ctx); err != nil {
		return wrap("read rows", err)
	}
	defer sn.store.uses.end()
	lower, upper := tableBounds(table, r)
	it, err := sn.pebble.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return wrap("read rows", err)
	}
	defer it.Close()
	moves, key := 0, []byte(nil)
	for valid := it.First(); valid; {
		value, err := it.ValueAndErr()
		if moves++; err == nil && moves%checkMoves == 0 {
			if err = ctx.Err(); err == nil && sn.store.uses.closing.Load() {
				err = ErrClosed
			}
		}
		if err != nil {
			return wrap("read rows", err)
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
	return wrap("read rows", it.Error())
}
