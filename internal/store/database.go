// The database of a store: its users, its rows of local state, and its commits.

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Database is the Pebble database of a store, with its disk. It is safe for concurrent use. Rows
// must be written by [Database.Commit] only, because it counts changes and reports a failed log.
type Database struct {
	*pebble.DB
	FS       vfs.FS
	Logger   *slog.Logger
	ReadOnly bool
	// OnLoad, if set, is called when a bulk load is published. It must be set before the first
	// load.
	OnLoad func()

	dir     string
	health  health
	uses    uses
	disk    disk
	changes *changeCounts // nil if nothing is counted
	tables  sstable.WriterOptions
	files   atomic.Int64 // backups begun and tables of records written, for their names
}

// Begin counts a user of the database, because Close must wait for its [Database.End]. It returns
// [ErrClosed] if the store is closing.
func (d *Database) Begin() error { return d.uses.begin() }

// End reverts a Begin.
func (d *Database) End() { d.uses.end() }

// Closing reports whether the store is closing. Long work must end then.
func (d *Database) Closing() bool { return d.uses.closing.Load() }

// Err returns the error after which nothing may be written, or nil.
func (d *Database) Err() error { return d.health.err() }

// Room returns [ErrDiskFull] if the disk has no room for this number of bytes.
func (d *Database) Room(bytes int64) error { return d.disk.room(bytes) }

// Path returns the path of a name in the data directory.
func (d *Database) Path(elements ...string) string {
	return d.FS.PathJoin(append([]string{d.dir}, elements...)...)
}

// RecordPath returns the path of a new table for the record of a load.
func (d *Database) RecordPath() string { return d.Path(tmpName, d.fileName("record")+".sst") }

// fileName returns an unused name in tmp/.
func (d *Database) fileName(kind string) string { return fmt.Sprintf("%s-%d", kind, d.files.Add(1)) }

// Value returns a copy of the value under a Pebble key, or nil if the row is missing.
func (d *Database) Value(key []byte) ([]byte, error) {
	value, closer, err := d.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value = append([]byte{}, value...)
	return value, closer.Close()
}

// Number returns the uvarint in a row of local state, or 0 if the row is missing.
func (d *Database) Number(row []byte) (uint64, error) {
	value, err := d.Value(row)
	if err != nil || value == nil {
		return 0, err
	}
	n, size := binary.Uvarint(value)
	if size != len(value) {
		return 0, LocalError(value)
	}
	return n, nil
}

// EachLocal calls do with the rows of local state whose names begin with prefix, in the order of
// their keys. The slices are valid until do returns.
func (d *Database) EachLocal(prefix string, do func(key, value []byte) error) (err error) {
	lower, upper := LocalBounds(prefix)
	it, err := d.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := do(it.Key(), value); err != nil {
			return err
		}
	}
	return it.Error()
}

// SetLocal writes a row of local state durably.
func (d *Database) SetLocal(row, value []byte) error {
	if d.ReadOnly {
		return ErrReadOnly
	}
	if err := d.Begin(); err != nil {
		return err
	}
	defer d.End()
	batch := d.NewBatch()
	defer batch.Close()
	if err := batch.Set(row, value, nil); err != nil {
		return err
	}
	return d.Commit(batch, true)
}

// Commit commits a batch. If durable is false, a crash may undo it, and an empty batch does
// nothing. After an error that ends writes, the batch may be done or not.
func (d *Database) Commit(batch *pebble.Batch, durable bool) error {
	options := pebble.Sync
	if !durable {
		options = pebble.NoSync
		if batch.Empty() {
			return nil
		}
	}
	if err := d.health.err(); err != nil {
		return err
	}
	count, err := d.changes.note(batch)
	if err != nil {
		return err
	}
	if err := d.Apply(batch, options); err != nil {
		return err
	}
	count()
	// If the log fails, Pebble reports success (see guardedFS), so the failure must be checked
	// here.
	return d.health.err()
}

// NewTable returns a writer of a table at path, to be ingested later.
func (d *Database) NewTable(path string) (*sstable.Writer, error) {
	f, err := d.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return sstable.NewWriter(objstorageprovider.NewFileWritable(f), d.tables), nil
}
