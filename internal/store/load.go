// Bulk loads into a store.

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// Names of rows of local state, before the ID of a load.
const (
	loadBegin = "load/begin/"
	loadDone  = "load/done/"
)

// Sink returns the store in the form for bulk loads.
func (s *Store) Sink() rdfload.Sink { return sink{s} }

// sink implements [rdfload.Sink].
type sink struct{ *Store }

// MaxLoadID is the maximum length of a load's ID, in bytes.
const MaxLoadID = 255

// Dir implements [rdfload.Sink].
func (s sink) Dir() string { return s.db.Path(directory.LoadsName) }

// Room implements [rdfload.Sink].
func (s sink) Room(bytes int64) error {
	if err := s.db.Err(); err != nil {
		return err
	}
	return s.db.Room(bytes)
}

// Begin implements [rdfload.Sink].
func (s sink) Begin(ctx context.Context, id string) (rdfload.Start, error) {
	start, err := s.begin(ctx, id)
	if err != nil {
		return rdfload.Start{}, fault.Wrap(fmt.Sprintf("begin load %q", id), err)
	}
	return start, nil
}

func (s sink) begin(ctx context.Context, id string) (start rdfload.Start, err error) {
	// 1. Only a writable store without a cluster may load by itself.
	if s.options.ReadOnly {
		return start, ErrReadOnly
	}
	if err := s.member.checkAlone(); err != nil {
		return start, err
	}
	if id == "" || len(id) > MaxLoadID || strings.ContainsRune(id, 0) {
		return start, fmt.Errorf("%w: the id of a load is 1 to %d bytes", ErrInvalid, MaxLoadID)
	}
	// 2. If the load was published before, nothing else is needed. An interrupted load keeps its
	// stamp.
	if start.Published, err = s.record(id); err != nil || start.Published != nil {
		return start, err
	}
	if start.Stamp, err = s.loadStamp(id); err != nil {
		return start, err
	}
	// 3. Keep a snapshot if the store has rows, because the load must count new rows only.
	sn, err := s.Snapshot()
	if err != nil {
		return start, err
	}
	rows, err := sn.Rows(ctx, triple.Range{})
	if err != nil {
		return start, errors.Join(err, sn.Close())
	}
	some := rows.First()
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || !some {
		return start, errors.Join(err, sn.Close())
	}
	start.Existing = existing{sn}
	return start, nil
}

// record returns the record of a published load, or nil.
func (s sink) record(id string) (*rdfload.Record, error) {
	value, err := s.db.Value(keyspace.LocalKey(loadDone + id))
	if err != nil || value == nil {
		return nil, err
	}
	return parseRecord(value)
}

func parseRecord(value []byte) (*rdfload.Record, error) {
	record := new(rdfload.Record)
	if err := json.Unmarshal(value, record); err != nil {
		return nil, fmt.Errorf("%w: record of a load: %w", ErrCorrupt, err)
	}
	return record, nil
}

// loadStamp returns the stamp of a load. A load keeps the stamp of its first start.
func (s sink) loadStamp(id string) (triple.Stamp, error) {
	s.committer.mu.Lock()
	defer s.committer.mu.Unlock()
	row := keyspace.LocalKey(loadBegin + id)
	value, err := s.db.Value(row)
	if err != nil {
		return triple.Stamp{}, err
	}
	// 1. If the load has started before, its stamp is on disk.
	if value != nil {
		return keyspace.ParseStamp(value)
	}
	// 2. Take a stamp durably. If that fails, the sequence must not move.
	batch := s.db.NewBatch()
	defer batch.Close()
	before := s.committer.sequence
	stamp, err := s.committer.sequence.take(batch)
	if err == nil {
		err = batch.Set(row, keyspace.AppendStamp(nil, stamp), nil)
	}
	if err == nil {
		err = s.db.Commit(batch, true)
	}
	if err != nil {
		s.committer.sequence = before
	}
	return stamp, err
}

// existing implements [rdfload.Snapshot].
type existing struct{ snapshot *Snapshot }

// Keys implements [rdfload.Snapshot].
func (e existing) Keys() (rdfload.Keys, error) {
	rows, err := e.snapshot.Rows(context.Background(), triple.Range{})
	if err != nil {
		return nil, err
	}
	rows.annotated = true
	return rows, nil
}

// Close implements [rdfload.Snapshot].
func (e existing) Close() error { return e.snapshot.Close() }

// table implements [rdfload.Table].
type table struct {
	w   *sstable.Writer
	key []byte
}

// CreateTable implements [rdfload.Sink].
func (s sink) CreateTable(path string) (rdfload.Table, error) {
	if s.options.ReadOnly {
		return nil, fmt.Errorf("create table %s: %w", path, ErrReadOnly)
	}
	w, err := s.db.NewTable(path, false)
	if err != nil {
		return nil, fault.Wrap("create table "+path, err)
	}
	return &table{w: w}, nil
}

// Set implements [rdfload.Table].
func (t *table) Set(key, value []byte) error {
	t.key = append(append(t.key[:0], keyspace.Storage), key...)
	return t.w.Set(t.key, value)
}

// Bytes implements [rdfload.Table].
func (t *table) Bytes() uint64 { return t.w.Raw().EstimatedSize() }

// Close implements [rdfload.Table].
func (t *table) Close() error { return t.w.Close() }

// Publish implements [rdfload.Sink]. All tables enter in one ingest, with one table of the load's
// record and the counters. If other writers wrote rows since the load began, these lie below the
// rows of the load.
func (s sink) Publish(ctx context.Context, record rdfload.Record, tables []string) error {
	if err := s.publish(ctx, record, tables); err != nil {
		return fault.Wrap(fmt.Sprintf("publish load %q", record.ID), err)
	}
	s.segments.Measure()
	if s.columns != nil {
		s.columns.Build() // so that queries need not wait for their first reader
	}
	return nil
}

func (s sink) publish(ctx context.Context, record rdfload.Record, tables []string) error {
	// 1. Lock out commits, because the counters change with the ingest. What takes long is counted before.
	if s.options.ReadOnly {
		return ErrReadOnly
	}
	if err := s.db.Begin(); err != nil {
		return err
	}
	defer s.db.End()
	// If the load is published already, a repetition must do nothing: its tables belong to the store.
	if done, err := s.record(record.ID); err != nil || done != nil {
		return err
	}
	links, err := s.committer.newLinks(tables)
	if err != nil {
		return err
	}
	s.committer.mu.Lock()
	defer s.committer.mu.Unlock()
	if err := errors.Join(s.member.checkAlone(), s.db.Err()); err != nil {
		return err
	}
	// 2. Another session may have published it meanwhile.
	if done, err := s.record(record.ID); err != nil || done != nil {
		return err
	}
	// 3. The load takes a position in the feed. If it fails, the sequence must not move.
	began, err := s.db.Value(keyspace.LocalKey(loadBegin + record.ID))
	if err != nil {
		return err
	}
	before, published := s.committer.sequence, false
	defer func() {
		if !published {
			s.committer.sequence = before
		}
	}()
	at, sequenceRow := s.committer.sequence.takeRow()
	rows := at
	if began != nil {
		if rows, err = keyspace.ParseStamp(began); err != nil {
			return err
		}
	}
	entry, change, done := s.feed.Load(at, rows, feed.LoadInfo{ID: record.ID, New: record.New, Predicates: record.Predicates})
	// 4. Write the record and the feed's row as one more table, because both must appear with the
	// rows.
	after := s.committer.counted
	after.Triples += record.New
	after.Annotations += record.NewAnnotations
	after.Links += links
	localRows := map[string][]byte{
		string(entry): change, string(rowSequence): sequenceRow,
	}
	if rows.Less(before.last()) { // others have written since the load began
		localRows[string(keyspace.RowInexact)] = []byte{1}
	}
	path, err := s.writeRecord(record, after, localRows)
	if err != nil {
		return err
	}
	if err := (&Commit{s.committer}).Ingest(ctx, append(tables[:len(tables):len(tables)], path), after); err != nil {
		return err
	}
	published = true
	done()
	return nil
}

// writeRecord writes the table that marks a load as done, and returns its path. rows are more rows
// for it, by key. A row without a value is left out.
func (s sink) writeRecord(record rdfload.Record, after keyspace.Counters, rows map[string][]byte) (string, error) {
	value, err := json.Marshal(record)
	if err != nil {
		return "", err
	}
	path := s.db.RecordPath()
	w, err := s.db.NewTable(path, true) // small, and the load is on the disk
	if err != nil {
		return "", err
	}
	begin := string(keyspace.LocalKey(loadBegin + record.ID))
	rows[string(keyspace.RowCounters)] = after.Append(nil)
	rows[string(keyspace.LocalKey(loadDone+record.ID))] = value
	rows[begin] = []byte{}                               // deleted
	for _, key := range slices.Sorted(maps.Keys(rows)) { // they must ascend in a table
		switch {
		case key == begin:
			err = errors.Join(err, w.Delete([]byte(key)))
		case rows[key] != nil:
			err = errors.Join(err, w.Set([]byte(key), rows[key]))
		}
	}
	return path, errors.Join(err, w.Close())
}

// Loads returns the records of all published loads, by ID.
func (s *Store) Loads(ctx context.Context) ([]rdfload.Record, error) {
	if err := s.db.Begin(); err != nil {
		return nil, err
	}
	defer s.db.End()
	lower, upper := keyspace.LocalBounds(loadDone)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, fault.Wrap("list loads", err)
	}
	var records []rdfload.Record
	for valid := it.First(); valid && err == nil; valid = it.Next() {
		var record *rdfload.Record
		if record, err = parseRecord(it.Value()); err == nil {
			records = append(records, *record)
			err = ctx.Err()
		}
	}
	return records, fault.Wrap("list loads", errors.Join(err, it.Close()))
}
