// The store: opening and closing a data directory.

package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pebbleerrors "github.com/cockroachdb/errors"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/manifest"
	"github.com/trefoildb/trefoil/trie"
)

// Store is a store of triples in one directory, made by [Open]. Its methods are safe for
// concurrent use.
type Store struct {
	dir     string
	options Options
	id      uuid
	lock    interface{ Close() error }
	db      *Database

	health      *health // shared with db, like uses and disk
	compactions *compactions
	metrics     metrics
	disk        *disk
	queue       queue
	updates     updates
	feed        feed
	uses        *uses
	running     sync.WaitGroup // the committer, and the maintenance of segments

	// commitMu is held when rows are written: by the committer, and by a load that publishes. It
	// guards sequence and counted.
	commitMu sync.Mutex
	sequence sequence
	counted  Counters

	tokens   tokens
	identity atomic.Pointer[Identity]

	layoutMu     sync.Mutex // held when the layout is replaced
	layout       atomic.Pointer[layout]
	managed      atomic.Bool // set if the cluster splits segments, not this store
	byTables     bool        // set if segments are measured by bytes of tables, not by rows
	upkeep       upkeep
	flushed      atomic.Int64 // the number of removed rows at the last flush of Tidy
	merged       atomic.Int64 // the same number when Tidy last found nothing to merge
	density      density
	closeTimeout time.Duration
	closeOnce    sync.Once
	closeErr     error
}

// defaultCloseTimeout limits Close: its wait for readers, and for a write if the disk blocks it.
const defaultCloseTimeout = 30 * time.Second

// Open opens the data directory dir. If dir is missing or empty, Open makes a new store in it. No
// other process can open it until Close.
func Open(dir string, opts Options) (*Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	// 1. Resolve the path, if it is on the real disk.
	opts = opts.withDefaults()
	if opts.FS == vfs.Default {
		var err error
		if dir, err = filepath.Abs(dir); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
	}
	// 2. Prepare everything that Pebble calls back, because it may call during its opening.
	db := &Database{dir: dir, FS: opts.FS, Logger: opts.Logger, ReadOnly: opts.ReadOnly}
	s := &Store{
		dir:          dir,
		db:           db,
		health:       &db.health,
		uses:         &db.uses,
		disk:         &db.disk,
		options:      opts,
		compactions:  newCompactions(),
		closeTimeout: defaultCloseTimeout,
	}
	s.health.init(opts)
	s.upkeep.wake = make(chan struct{}, 1)
	s.byTables = opts.MaxSegmentBytes >= smallSegment
	s.queue.init(opts.QueueBytes)
	s.uses.init()
	s.updates.init()
	s.disk.init(opts.FS, dir, opts.MinFreeBytes)
	// 3. Open the database. If the disk is full, the error must say how to get room.
	if err := s.open(); err != nil {
		if !opts.ReadOnly && IsDiskFull(err) {
			err = newNoRoomError(opts.FS, dir, err)
		}
		return nil, Wrap("open store "+dir, err)
	}
	// 4. Start the goroutines last, because they write.
	if !opts.ReadOnly {
		s.running.Go(s.runCommitter)
		s.running.Go(s.runMaintenance)
	}
	return s, nil
}

// open does the steps of Open that may fail. If one fails, it undoes the others.
func (s *Store) open() (err error) {
	fs := s.options.FS
	// 1. Lock the directory first: no other process may open it.
	if !s.options.ReadOnly {
		if err := MakeDirectory(fs, s.dir); err != nil {
			return err
		}
	} else if _, err := fs.Stat(s.dir); err != nil {
		return err
	}
	if s.lock, err = lockDirectory(fs, s.dir); err != nil {
		return err
	}
	s.options.MemTableBytes = min(s.options.MemTableBytes, s.disk.memTableBytes())
	defer func() {
		if err != nil {
			if s.db.DB != nil {
				err = errors.Join(err, s.db.Close())
			}
			s.compactions.Unregister()
			err = errors.Join(err, s.lock.Close())
		}
	}()
	// 2. Open the database, unless the directory was set aside.
	if err := s.checkAside(); err != nil {
		return err
	}
	if err := s.openDatabase(); err != nil {
		return err
	}
	// 3. Remove leftovers of unfinished work. The folder of loads must stay, because a load may go
	// on.
	if !s.options.ReadOnly {
		for _, name := range []string{loadsName, tmpName} {
			if name == tmpName {
				if err := fs.RemoveAll(s.db.Path(name)); err != nil {
					return err
				}
			}
			if err := fs.MkdirAll(s.db.Path(name), 0o755); err != nil {
				return err
			}
		}
	}
	// 4. Read the local state. Compactions must wait until it is read.
	if err := s.readState(); err != nil {
		return err
	}
	s.health.opening.Store(false)
	s.compactions.allow()
	return s.health.err() // a failure in the background
}

// openDatabase opens the database. If it is missing, it makes one and then the VERSION file. So
// the file proves that the database is complete.
func (s *Store) openDatabase() error {
	fs := s.options.FS
	options := s.pebbleOptions()
	// 1. The VERSION file decides: if it is missing, the directory must be new and hold no
	// database.
	var err error
	var hasChecksum bool
	s.id, hasChecksum, err = readVersion(fs, s.dir)
	isNew := errors.Is(err, os.ErrNotExist)
	switch {
	case isNew && s.options.ReadOnly:
		return fmt.Errorf("%w: it has no VERSION file", ErrVersion)
	case isNew:
		if err := checkUnversioned(fs, s.dir); err != nil {
			return err
		}
		options.ErrorIfNotPristine = true
	case err != nil:
		return err
	default:
		options.ErrorIfNotExists = true
	}
	// 2. Check the manifest before Pebble reads it, because Pebble takes some damage for its end.
	if err := manifest.Check(fs, s.db.Path(storeName)); err != nil {
		return err
	}
	s.db.DB, err = pebble.Open(s.db.Path(storeName), options)
	if errors.Is(err, pebble.ErrDBNotPristine) {
		return fmt.Errorf("%w: it holds a database and no VERSION file", ErrVersion)
	}
	if failure := s.health.err(); failure != nil { // in a log or flush, which Pebble does not return
		return failure
	}
	if err != nil {
		return s.nameLog(err)
	}
	// 3. Write the VERSION file last, because it says that the database exists.
	s.db.tables = s.tableOptions()
	if !isNew && !hasChecksum && !s.options.ReadOnly { // an earlier version made it
		if err := writeVersion(fs, s.dir, s.id); err != nil {
			return err
		}
	}
	if isNew {
		s.id = newUUID()
		if err := writeVersion(fs, s.dir, s.id); err != nil {
			return err
		}
		s.options.Logger.Info("made a data directory", "dir", s.dir, "uuid", s.id.String())
	}
	return nil
}

// nameLog adds the path of the damaged log to an error of opening. Pebble has the path only in the
// details of its error.
func (s *Store) nameLog(err error) error {
	var log int
	if _, at, ok := strings.Cut(pebbleerrors.FlattenDetails(err), "replaying wal "); ok {
		if n, _ := fmt.Sscanf(at, "%d", &log); n == 1 {
			return fmt.Errorf("%s: %w", s.db.Path(storeName, fmt.Sprintf("%06d.log", log)), err)
		}
	}
	return err
}

// readState reads the local state.
func (s *Store) readState() error {
	// 1. Counters, sequence, identity and tokens: each has rows of local state.
	value, err := s.db.Value(RowCounters)
	if err == nil && value != nil {
		s.counted, err = parseCounters(value)
	}
	if err != nil {
		return err
	}
	if err := s.sequence.read(s); err != nil {
		return err
	}
	if err := s.readIdentity(); err != nil {
		return err
	}
	if err := s.readTokens(); err != nil {
		return err
	}
	if s.options.CountChanges {
		s.db.changes = new(changeCounts)
	}
	// 2. The feed may write an entry, because other predicates may be set now.
	if err := s.feed.init(s); err != nil {
		return err
	}
	return s.readLayout()
}

// Dir returns the data directory.
func (s *Store) Dir() string { return s.dir }

// Database returns the database of the store, for package replica.
func (s *Store) Database() *Database { return s.db }

// MachineID returns the machine ID of the data directory.
func (s *Store) MachineID() trie.MachineID { return trie.MachineIDOf(s.id) }

// Failed returns a channel that is closed when the store has failed for good; see Options.OnFatal.
func (s *Store) Failed() <-chan struct{} { return s.health.failed }

// Err returns the error after which the store rejects all writes, or nil.
func (s *Store) Err() error { return s.health.err() }

// Close closes the store. Writes in progress complete, waiting writes are rejected, and running
// reads get [ErrClosed]. Close waits until all snapshots are closed. If one stays open for half a
// minute, Close returns an error and leaves the database open and locked.
func (s *Store) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Store) close() error {
	s.queue.close()
	close(s.health.closing)
	ctx, cancel := context.WithTimeout(context.Background(), s.closeTimeout)
	defer cancel()
	if open := s.uses.close(ctx); open > 0 {
		return fmt.Errorf("close store: %d snapshots or iterators are still open", open)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.running.Wait()
		s.flushLast()
	}()
	if !s.waitStopped(stopped) {
		return fmt.Errorf("close store: a write does not end: %w", errors.Join(ErrUnknown, s.health.err()))
	}
	return Wrap("close store", errors.Join(s.db.Close(), s.lock.Close()))
}

// flushLast writes memory to tables if the disk works. The log has the rows, too. But a flipped
// bit at the log's end looks like a write cut off by a crash; in a table it is detected.
func (s *Store) flushLast() {
	if s.options.ReadOnly || s.health.err() != nil || s.health.retrying.Load() {
		return
	}
	if err := s.db.Flush(); err != nil {
		s.options.Logger.Error("the last flush failed; the next start reads the log", "error", err)
	}
}

// waitStopped waits for the goroutines of the store. If a write or flush waits for disk space, a
// failure releases it.
func (s *Store) waitStopped(stopped <-chan struct{}) bool {
	for _, wait := range []time.Duration{s.closeTimeout / 3, 2 * s.closeTimeout / 3} {
		timer := time.NewTimer(wait)
		select {
		case <-stopped:
			timer.Stop()
			return true
		case <-timer.C:
			s.health.fail(errors.New("the store was closed while the disk held up a write"))
		}
	}
	return false
}

// MakeDirectory makes dir and its missing parents, so that they exist after a crash.
func MakeDirectory(fs vfs.FS, dir string) error {
	var above []string
	for at := dir; ; {
		if _, err := fs.Stat(at); err == nil {
			break
		}
		parent := fs.PathDir(at)
		if parent == at {
			break
		}
		above = append(above, parent)
		at = parent
	}
	if len(above) == 0 {
		return nil
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, parent := range above {
		if err := SyncDirectory(fs, parent); err != nil {
			return err
		}
	}
	return nil
}
