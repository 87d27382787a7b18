package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// Sink returns the store as a bulk load sees it.
func (s *Store) Sink() rdfload.Sink { return sink{s} }

// sink implements [rdfload.Sink].
type sink struct{ *Store }

// maxLoadID is the greatest length of a load's id.
const maxLoadID = 255

// Dir implements [rdfload.Sink].
func (s sink) Dir() string { return s.path(loadsName) }

// Room implements [rdfload.Sink].
func (s sink) Room(bytes int64) error {
	if err := s.health.err(); err != nil {
		return err
	}
	return s.disk.room(bytes)
}

// Begin implements [rdfload.Sink].
func (s sink) Begin(ctx context.Context, id string) (rdfload.Start, error) {
	start, err := s.begin(ctx, id)
	if err != nil {
		return rdfload.Start{}, wrap(fmt.Sprintf("begin load %q", id), err)
	}
	return start, nil
}

func (s sink) begin(ctx context.Context, id string) (start rdfload.Start, err error) {
	if s.options.ReadOnly {
		return start, ErrReadOnly
	}
	if err := s.alone(); err != nil {
		return start, err
	}
	if id == "" || len(id) > maxLoadID || strings.ContainsRune(id, 0) {
		return start, fmt.Errorf("%w: the id of a load is 1 to %d bytes", ErrInvalid, maxLoadID)
	}
	if start.Published, err = s.record(id); err != nil || start.Published != nil {
		return start, err
	}
	if start.Stamp, err = s.loadStamp(id); err != nil {
		return start, err
	}
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

// record returns the record of a load that is in the store, nil where it is not.
func (s *Store) record(id string) (*rdfload.Record, error) {
	value, err := s.get(localKey(loadDone + id))
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

// loadStamp returns the stamp of a load, which it has from its first beginning.
func (s *Store) loadStamp(id string) (triple.Stamp, error) {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	row := localKey(loadBegin + id)
	value, err := s.get(row)
	if err != nil {
		return triple.Stamp{}, err
	}
	if value != nil {
		return parseStamp(value)
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	before := s.sequence
	stamp, err := s.sequence.take(batch)
	if err == nil {
		err = batch.Set(row, appendStamp(nil, stamp), nil)
	}
	if err == nil {
		err = s.apply(batch)
	}
	if err != nil {
		s.sequence = before
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
	w, err := s.tableWriter(path)
	if err != nil {
		return nil, wrap("create table "+path, err)
	}
	return &table{w: w}, nil
}

func (s *Store) tableWriter(path string) (*sstable.Writer, error) {
	f, err := s.options.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.tableOptions()), nil
}

// Set implements [rdfload.Table].
func (t *table) Set(key, value []byte) error {
	t.key = append(append(t.key[:0], tableStorage), key...)
	return t.w.Set(t.key, value)
}

// Bytes implements [rdfload.Table].
func (t *table) Bytes() uint64 { return t.w.Raw().EstimatedSize() }

// Close implements [rdfload.Table].
func (t *table) Close() error { return t.w.Close() }

// Publish implements [rdfload.Sink]. All tables, and one with the load's record
// and the counters, enter by one Ingest. Rows that others have written since the
// load began lie under those of the load.
func (s sink) Publish(ctx context.Context, record rdfload.Record, tables []string) error {
	if err := s.publish(ctx, record, tables); err != nil {
		return wrap(fmt.Sprintf("publish load %q", record.ID), err)
	}
	s.wrote(0)
	s.kick()
	return nil
}

func (s sink) publish(ctx context.Context, record rdfload.Record, tables []string) error {
	if s.options.ReadOnly {
		return ErrReadOnly
	}
	if err := s.uses.begin(); err != nil {
		return err
	}
	defer s.uses.end()
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if err := errors.Join(s.alone(), s.health.err()); err != nil {
		return err
	}
	if done, err := s.record(record.ID); err != nil || done != nil {
		return err
	}
	after := s.counted
	after.triples += record.New
	after.annotations += record.NewAnnotations
	entry, noted := s.feed.any()
	path, err := s.writeRecord(record, after, entry)
	if err != nil {
		return err
	}
	if err := s.db.Ingest(ctx, append(tables[:len(tables):len(tables)], path)); err != nil {
		return errors.Join(err, s.health.err())
	}
	s.changes.any()
	s.journal.any()
	if err := s.health.err(); err != nil {
		return err
	}
	noted()
	s.counted = after
	s.metrics.loaded.Add(record.New)
	return nil
}

// writeRecord writes the table that makes a load done, and returns its path. Entry
// is the key of the load's entry in the feed, nil where there is none.
func (s *Store) writeRecord(record rdfload.Record, after counters, entry []byte) (string, error) {
	value, err := json.Marshal(record)
	if err != nil {
		return "", err
	}
	path := s.path(tmpName, fmt.Sprintf("record-%d.sst", s.copies.Add(1)))
	w, err := s.tableWriter(path)
	if err != nil {
		return "", err
	}
	// In the order of the keys.
	err = w.Set(rowCounters, after.append(nil))
	if entry != nil {
		err = errors.Join(err, w.Set(entry, []byte{byte(ChangeAny)}))
	}
	err = errors.Join(err,
		w.Delete(localKey(loadBegin+record.ID)),
		w.Set(localKey(loadDone+record.ID), value),
		w.Close())
	return path, err
}

// Loads returns the records of all loads that are in the store, by id.
func (s *Store) Loads(ctx context.Context) ([]rdfload.Record, error) {
	if err := s.uses.begin(); err != nil {
		return nil, err
	}
	defer s.uses.end()
	lower, upper := localBounds(loadDone)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, wrap("list loads", err)
	}
	var records []rdfload.Record
	for valid := it.First(); valid && err == nil; valid = it.Next() {
		var record *rdfload.Record
		if record, err = parseRecord(it.Value()); err == nil {
			records = append(records, *record)
			err = ctx.Err()
		}
	}
	return records, wrap("list loads", errors.Join(err, it.Close()))
}
