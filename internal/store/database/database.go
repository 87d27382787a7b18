// The database of a store: its users, its rows of local state, and its commits.

package database

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	pebbleerrors "github.com/cockroachdb/errors"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/store/synced"
)

// Database is the Pebble database of a store, with its disk. It is safe for concurrent use. Rows
// must be written by [Database.Commit] only, because it reports a failed log.
type Database struct {
	*pebble.DB
	FS       vfs.FS
	Logger   *slog.Logger
	ReadOnly bool
	Counts   Counts

	options     Options
	health      health
	users       users
	disk        disk
	compactions *compactions
	tables      sstable.WriterOptions
	files       atomic.Int64 // backups begun and tables of records written, for their names
	flushed     atomic.Int64 // the number of removed rows at the last flush of Reclaim
	reclaiming  atomic.Bool  // Reclaim compacts
	rewritten   atomic.Int64 // bytes of tables that compactions in progress read
	held        atomic.Int64 // when a compaction last had no room, in Unix nanoseconds; 0 if the last one had some
}

// Options are the parameters of [New]. All must be set, except for OnFatal.
type Options struct {
	Dir           string // the data directory
	FS            vfs.FS
	Logger        *slog.Logger
	ReadOnly      bool
	CacheBytes    int64
	MemTableBytes int64       // the maximum; less if the disk is small
	MinFreeBytes  int64       // kept free on the disk; 0 is a share of the disk, a negative value is none
	OnFatal       func(error) // called once, in its own goroutine, when nothing may be written any more
	OnFlush       func()      // called when rows were written to tables; it must not wait
	OnIngest      func()      // called when tables were ingested; it must not wait
}

// Counts are the events since the database was opened.
type Counts struct {
	Corruptions atomic.Int64 // reads that met a damaged table or row
	Stalls      atomic.Int64 // times that writes waited for flushes or compactions
	Reclaims    atomic.Int64 // ranges compacted by Reclaim
	Reclaimed   atomic.Int64 // bytes of tables that these freed
}

// New returns a database that [Database.Open] opens.
func New(o Options) *Database {
	d := &Database{FS: o.FS, Logger: o.Logger, ReadOnly: o.ReadOnly, options: o, compactions: newCompactions()}
	d.health.init(&o)
	d.health.roomToCompact = d.roomToCompact
	d.users.init()
	d.disk.init(o.FS, o.Dir, o.MinFreeBytes)
	return d
}

// Open opens the database, or makes it if isNew is set. The data directory must exist, and be
// locked. Compactions must wait for [Database.Ready]. After an error, Close must be called.
func (d *Database) Open(isNew bool) error {
	d.options.MemTableBytes = min(d.options.MemTableBytes, d.disk.memTableBytes())
	options := d.pebbleOptions()
	options.ErrorIfNotPristine, options.ErrorIfNotExists = isNew, !isNew
	// Check the manifest and the logs before Pebble reads them, because Pebble takes some damage for
	// their end.
	path := d.Path(directory.StoreName)
	if err := synced.Check(d.FS, path); err != nil {
		return err
	}
	var err error
	d.DB, err = pebble.Open(path, options)
	if errors.Is(err, pebble.ErrDBNotPristine) {
		return fmt.Errorf("%w: it holds a database and no VERSION file", fault.ErrVersion)
	}
	if failure := d.Err(); failure != nil { // in a log or flush, which Pebble does not return
		return failure
	}
	if err != nil {
		return d.nameLog(err)
	}
	d.tables = d.tableOptions()
	return nil
}

// nameLog adds the path of the damaged log to an error of opening. Pebble has the path only in the
// details of its error.
func (d *Database) nameLog(err error) error {
	var log int
	if _, at, ok := strings.Cut(pebbleerrors.FlattenDetails(err), "replaying wal "); ok {
		if n, _ := fmt.Sscanf(at, "%d", &log); n == 1 {
			return fmt.Errorf("%s: %w", d.Path(directory.StoreName, fmt.Sprintf("%06d.log", log)), err)
		}
	}
	return err
}

// Ready lets compactions begin, because the store has read its state. It returns an error if the
// database has failed meanwhile.
func (d *Database) Ready() error {
	d.health.opening.Store(false)
	d.disk.follow(d.pending)
	d.compactions.allow()
	return d.Err()
}

// Stop rejects further users and waits until none is left. It returns the number left when ctx
// ends.
func (d *Database) Stop(ctx context.Context) (open int) {
	close(d.health.closing)
	return d.users.close(ctx)
}

// Close closes the database. All users must have ended.
func (d *Database) Close() (err error) {
	d.disk.follow(nil)
	if d.DB != nil {
		err = d.DB.Close()
	}
	d.compactions.Unregister()
	return err
}

// FlushLast writes memory to tables if the disk works. The log has the rows, too, but damage to a
// log rejects the whole store, and damage to a table only some reads.
func (d *Database) FlushLast() {
	if d.ReadOnly || d.Err() != nil || d.health.retrying.Load() {
		return
	}
	if err := d.Flush(); err != nil {
		d.Logger.Error("the last flush failed; the next start reads the log", "error", err)
	}
}

// Begin counts a user of the database, because Close must wait for its [Database.End]. It returns
// [fault.ErrClosed] if the store is closing.
func (d *Database) Begin() error { return d.users.begin() }

// End reverts a Begin.
func (d *Database) End() { d.users.end() }

// Closing reports whether the store is closing. Long work must end then.
func (d *Database) Closing() bool { return d.users.closing.Load() }

// Stopping returns a channel that is closed when the store begins to close.
func (d *Database) Stopping() <-chan struct{} { return d.health.closing }

// Err returns the error after which nothing may be written, or nil.
func (d *Database) Err() error { return d.health.err() }

// Failed returns a channel that is closed when nothing may be written any more.
func (d *Database) Failed() <-chan struct{} { return d.health.failed }

// Fail records an error after which nothing may be written.
func (d *Database) Fail(err error) { d.health.fail(err) }

// Full reports whether the last flush or compaction found the disk full.
func (d *Database) Full() bool { return d.health.full.Load() }

// Room returns [fault.ErrDiskFull] if a file of bytes would take free space below the watermark.
// What accepted writes are going to take counts as taken: rows in memory, granted claims, and the
// output of compactions in progress.
// A compaction that waits for room, or would if it began, refuses all.
func (d *Database) Room(bytes int64) error {
	if err := d.waits(); err != nil {
		return err
	}
	return d.disk.room(bytes, 4)
}

// waits returns [fault.ErrDiskFull] while a compaction waits for room, or if level 0 is deep and its compaction would
// wait. More rows would only make it larger, until it takes the watermark's room because writes stop for it.
func (d *Database) waits() error {
	at := d.held.Load()
	held := at != 0 && time.Since(time.Unix(0, at)) <= heldFor
	if !held && d.disk.backlogRoom() == nil {
		return nil
	}
	return fmt.Errorf("%w: a compaction of tables under %s has no room beside what is kept free", fault.ErrDiskFull, d.options.Dir)
}

// heldFor is how long a compaction counts as waiting, unless it is tried again, which takes failedPause.
const heldFor = 3 * failedPause

// commitCopies is how often the bytes of a commit are written: to the log, and to a table by a
// flush.
const commitCopies = 2

// Claim grants a commit of bytes, until [Database.Release]. It returns [fault.ErrDiskFull] if the
// commit would take free space below the watermark.
//
// reserved is for writes without adds, because they can free space, and for writes that other
// machines count on. They may use half of the watermark. The other half must stay for the flushes
// and compactions that free space.
func (d *Database) Claim(bytes int64, reserved bool) error {
	if err := d.waits(); err != nil && !reserved {
		return err
	}
	return d.disk.claim(commitCopies*bytes, quarters(reserved))
}

func quarters(reserved bool) int64 {
	if reserved {
		return 2
	}
	return 4
}

// Release ends a claim of bytes.
func (d *Database) Release(bytes int64) { d.disk.release(commitCopies * bytes) }

// pending returns the bytes that accepted writes are still going to take on the disk: by flushes of
// the rows in the logs, and by compactions in progress. A compaction writes at most what it reads.
// It also returns the backlog of compactions.
func (d *Database) pending() (owed, waiting int64) {
	m, rewritten := compacting(d.Metrics, d.rewritten.Load)
	return int64(m.WAL.Size) + max(0, rewritten-m.Compact.InProgressBytes), backlog(m)
}

// compacting returns metrics, and the rewritten bytes of the compactions in these. If a compaction ended between the
// two, its output would hide what another one is going to write.
func compacting(metrics func() *pebble.Metrics, rewritten func() int64) (*pebble.Metrics, int64) {
	for {
		before, m := rewritten(), metrics()
		if rewritten() == before {
			return m, before
		}
	}
}

// backlog returns the bytes that compactions of level 0 read if it is deep: its tables, and those of the first level
// below. It returns 0 if the level is not deep.
func backlog(m *pebble.Metrics) int64 {
	if m.Levels[0].Sublevels < deepSublevels {
		return 0
	}
	for _, level := range m.Levels[1:] {
		if level.TablesSize > 0 {
			return m.Levels[0].TablesSize + level.TablesSize
		}
	}
	return m.Levels[0].TablesSize
}

// errCompactionHeld means that a compaction waits for room on the disk. Nothing has failed then.
var errCompactionHeld = errors.New("a compaction waits")

// roomToCompact returns errCompactionHeld if the compactions in progress would take free space
// below the watermark. They may use it if they free the space of deleted rows, or if writes would
// soon wait for them.
func (d *Database) roomToCompact() error {
	if d.reclaiming.Load() || d.Metrics().Levels[0].Sublevels >= urgentSublevels {
		return nil
	}
	// Measure anew, because this compaction may have begun after the last time. It needs no slack, so
	// that it keeps its room beside commits.
	d.disk.expire()
	if err := d.disk.room(-slack, 4); errors.Is(err, fault.ErrDiskFull) {
		d.held.Store(time.Now().UnixNano())
		return fmt.Errorf("%w: %v", errCompactionHeld, err)
	}
	d.held.Store(0)
	return nil // if the size of the disk is unknown, the write finds out
}

// RoomForClients reports whether at least three quarters of the watermark are free. The rest is
// for operations in flight.
func (d *Database) RoomForClients() bool {
	return !d.Full() && d.waits() == nil && d.disk.room(0, 3) == nil
}

// Spare returns how many bytes above the watermark are free and not taken, as in [Database.Room]. If
// this is unknown, or nothing is kept free, it returns the maximum.
func (d *Database) Spare() int64 { return d.disk.spare() }

// Free returns the free bytes of the disk, or -1 if they are unknown.
func (d *Database) Free() int64 {
	usage, err := d.disk.free()
	if err != nil {
		return -1
	}
	return int64(usage.AvailBytes)
}

// CountDamage counts a row that cannot be decoded, like a corrupt table: the store is damaged from
// then on.
func (d *Database) CountDamage() { d.Counts.Corruptions.Add(1) }

// Path returns the path of a name in the data directory.
func (d *Database) Path(elements ...string) string {
	return d.FS.PathJoin(append([]string{d.options.Dir}, elements...)...)
}

// RecordPath returns the path of a new table for the record of a load.
func (d *Database) RecordPath() string { return d.Path(directory.TmpName, d.FileName("record")+".sst") }

// FileName returns an unused name for a file in tmp/.
func (d *Database) FileName(kind string) string { return fmt.Sprintf("%s-%d", kind, d.files.Add(1)) }

// Value returns a copy of the value under a Pebble key, or nil if the row is missing.
func (d *Database) Value(key []byte) ([]byte, error) { return Value(d, key) }

// Value returns a copy of the value under a Pebble key of a database or a snapshot, or nil if the
// row is missing.
func Value(from pebble.Reader, key []byte) ([]byte, error) {
	value, closer, err := from.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value = append([]byte{}, value...)
	return value, closer.Close()
}

// TableRows returns an iterator over the rows of a table that is not ingested yet. The caller must close it.
func (d *Database) TableRows(path string, o *pebble.IterOptions) (*pebble.Iterator, error) {
	f, err := d.FS.Open(path)
	if err != nil {
		return nil, err
	}
	options := d.pebbleOptions()
	options.EnsureDefaults()
	return pebble.NewExternalIter(options, o, [][]sstable.ReadableFile{{f}})
}

// Counters returns the last committed counters.
func (d *Database) Counters() (keyspace.Counters, error) {
	value, err := d.Value(keyspace.RowCounters)
	if err != nil || value == nil {
		return keyspace.Counters{}, err
	}
	return keyspace.ParseCounters(value)
}

// CheckMoves is the number of rows that a long read may visit between two checks of its context.
const CheckMoves = 1 << 10

// Number returns the uvarint in a row of local state, or 0 if the row is missing.
func (d *Database) Number(row []byte) (uint64, error) {
	value, err := d.Value(row)
	if err != nil || value == nil {
		return 0, err
	}
	n, size := binary.Uvarint(value)
	if size != len(value) {
		return 0, keyspace.LocalError(value)
	}
	return n, nil
}

// EachLocal calls do with the rows of local state whose names begin with prefix, in the order of
// their keys. The slices are valid until do returns.
func (d *Database) EachLocal(prefix string, do func(key, value []byte) error) (err error) {
	lower, upper := keyspace.LocalBounds(prefix)
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
		return fault.ErrReadOnly
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
	if err := d.Apply(batch, options); err != nil {
		return err
	}
	// If the log fails, Pebble reports success (see guardedFS), so the failure must be checked
	// here.
	return d.health.err()
}

// Ingest makes tables part of the database, all at once and durably.
func (d *Database) Ingest(ctx context.Context, tables []string) error {
	if err := d.DB.Ingest(ctx, tables); err != nil {
		return errors.Join(err, d.Err())
	}
	return d.Err()
}

// NewTable returns a writer of a table at path, to be ingested later. It returns [fault.ErrDiskFull]
// for rows that would take free space below the watermark; reserved is as in [Database.Claim].
func (d *Database) NewTable(path string, reserved bool) (*sstable.Writer, error) {
	f, err := d.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return sstable.NewWriter(objstorageprovider.NewFileWritable(claimedFile{f, &d.disk, quarters(reserved)}), d.tables), nil
}

// claimedFile is a file that claims the room of its writes.
type claimedFile struct {
	vfs.File
	disk     *disk
	quarters int64
}

// Write implements [vfs.File].
func (f claimedFile) Write(p []byte) (int, error) {
	if err := f.disk.claim(int64(len(p)), f.quarters); err != nil {
		return 0, err
	}
	defer f.disk.release(int64(len(p)))
	return f.File.Write(p)
}
