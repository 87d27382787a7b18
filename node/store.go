package node

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

	"github.com/trefoildb/trefoil/node/manifest"
	"github.com/trefoildb/trefoil/trie"
)

// Store is a store of triples under one directory; make one by [Open]. Its
// methods may be called at the same time.
type Store struct {
	dir     string
	options Options
	id      uuid
	lock    interface{ Close() error }
	db      *pebble.DB

	health      health
	compactions *compactions
	metrics     metrics
	disk        disk
	queue       queue
	updates     updates
	feed        feed
	changes     *changeCounts // nil where nothing is counted
	journal     journal
	uses        uses
	beating     chan struct{}          // holds a token while a beat is written
	saw         atomic.Pointer[[]byte] // the value of rowSeen that beats write
	running     sync.WaitGroup         // the committer, and the maintenance of segments

	// commitMu is held by whoever writes rows: the committer, and a load that
	// publishes. It guards what follows.
	commitMu  sync.Mutex
	sequence  sequence
	counted   counters
	annotated bool                              // there are, or were, rows of annotations
	loads     atomic.Pointer[map[uint64]uint64] // see SetLoads

	unsettled  unsettled
	tokens     tokens
	floors     atomic.Pointer[Floors] // see SetFloors
	tombstones tombstones
	identity   atomic.Pointer[Identity]
	mark       atomic.Uint64 // see Mark

	layoutMu     sync.Mutex // held by whoever replaces the layout
	layout       atomic.Pointer[layout]
	managed      atomic.Bool // the cluster splits segments, not this store
	byTables     bool        // segments are measured by the bytes of tables, not by rows
	upkeep       upkeep
	flushed      atomic.Int64 // how many rows had been removed at the last flush of Tidy
	merged       atomic.Int64 // and when it last found nothing to merge
	copies       atomic.Int64 // backups begun and tables of records written, for their names
	density      density
	closeTimeout time.Duration
	closeOnce    sync.Once
	closeErr     error
}

// defaultCloseTimeout bounds how long Close waits for readers, and for a write that the
// disk holds up.
const defaultCloseTimeout = 30 * time.Second

// Open opens the data directory dir, and makes it where it is absent or empty.
// Until Close no other process can open it.
func Open(dir string, opts Options) (*Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
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
	s := &Store{
		dir:          dir,
		options:      opts,
		compactions:  newCompactions(),
		closeTimeout: defaultCloseTimeout,
	}
	s.health.init(opts)
	s.upkeep.wake = make(chan struct{}, 1)
	s.byTables = opts.MaxSegmentBytes >= smallSegment
	s.queue.init(opts.QueueBytes)
	s.uses.init()
	s.beating = make(chan struct{}, 1)
	s.updates.init()
	s.unsettled.init()
	s.disk.init(opts.FS, dir, opts.MinFreeBytes)
	if err := s.open(); err != nil {
		if !opts.ReadOnly && IsDiskFull(err) {
			err = newNoRoomError(opts.FS, dir, err)
		}
		return nil, wrap("open store "+dir, err)
	}
	if !opts.ReadOnly {
		s.running.Go(s.runCommitter)
		s.running.Go(s.runMaintenance)
	}
	return s, nil
}

// open does what can fail in Open, and undoes it where it does.
func (s *Store) open() (err error) {
	fs := s.options.FS
	if !s.options.ReadOnly {
		if err := makeDirectory(fs, s.dir); err != nil {
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
			if s.db != nil {
				err = errors.Join(err, s.db.Close())
			}
			s.compactions.Unregister()
			err = errors.Join(err, s.lock.Close())
		}
	}()
	if err := s.checkAside(); err != nil {
		return err
	}
	if err := s.openDatabase(); err != nil {
		return err
	}
	if !s.options.ReadOnly {
		for _, name := range []string{loadsName, tmpName} {
			if name == tmpName {
				if err := fs.RemoveAll(s.path(name)); err != nil {
					return err
				}
			}
			if err := fs.MkdirAll(s.path(name), 0o755); err != nil {
				return err
			}
		}
	}
	if err := s.readState(); err != nil {
		return err
	}
	s.health.opening.Store(false)
	s.compactions.allow()
	return s.health.err() // of the background
}

// openDatabase opens the database, or makes it and then the VERSION file, the
// presence of which says that the database is there.
func (s *Store) openDatabase() error {
	fs := s.options.FS
	options := s.pebbleOptions()
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
	if err := manifest.Check(fs, s.path(storeName)); err != nil {
		return err
	}
	s.db, err = pebble.Open(s.path(storeName), options)
	if errors.Is(err, pebble.ErrDBNotPristine) {
		return fmt.Errorf("%w: it holds a database and no VERSION file", ErrVersion)
	}
	if failure := s.health.err(); failure != nil { // of a log or flush, which Pebble does not return
		return failure
	}
	if err != nil {
		return s.nameLog(err)
	}
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

// nameLog adds to an error of opening the database the path of the log that is
// at fault, which Pebble has among the details of the error.
func (s *Store) nameLog(err error) error {
	var log int
	if _, at, ok := strings.Cut(pebbleerrors.FlattenDetails(err), "replaying wal "); ok {
		if n, _ := fmt.Sscanf(at, "%d", &log); n == 1 {
			return fmt.Errorf("%s: %w", s.path(storeName, fmt.Sprintf("%06d.log", log)), err)
		}
	}
	return err
}

// readState reads the local state.
func (s *Store) readState() error {
	value, err := s.get(rowCounters)
	if err == nil && value != nil {
		s.counted, err = parseCounters(value)
	}
	if err != nil {
		return err
	}
	if err := s.sequence.read(s); err != nil {
		return err
	}
	if err := s.readMembership(); err != nil {
		return err
	}
	if s.options.CountChanges {
		s.changes = new(changeCounts)
	}
	s.journal.init(s.options.Journal, s.options.JournalBytes)
	if err := s.feed.init(s); err != nil {
		return err
	}
	return s.readLayout()
}

// get returns a copy of the value of a row of local state, nil where there is none.
func (s *Store) get(row []byte) ([]byte, error) {
	value, closer, err := s.db.Get(row)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value = append([]byte{}, value...)
	return value, closer.Close()
}

// apply commits a batch durably. After an error that ends writes, the batch may
// or may not be done.
func (s *Store) apply(batch *pebble.Batch) error {
	if err := s.health.err(); err != nil {
		return err
	}
	count, err := s.changes.note(batch)
	if err != nil {
		return err
	}
	if err := s.db.Apply(batch, pebble.Sync); err != nil {
		return err
	}
	count()
	// Where its log fails Pebble is not told (see guardedFS).
	return s.health.err()
}

// path returns the path of a name in the data directory.
func (s *Store) path(elements ...string) string {
	return s.options.FS.PathJoin(append([]string{s.dir}, elements...)...)
}

// Dir returns the data directory.
func (s *Store) Dir() string { return s.dir }

// MachineID returns the ID of the machine that the data directory makes this one.
func (s *Store) MachineID() trie.MachineID { return trie.MachineIDOf(s.id) }

// Failed is closed when the store has failed for good; see Options.OnFatal.
func (s *Store) Failed() <-chan struct{} { return s.health.failed }

// Err returns the error after which the store takes no more writes; nil while
// all is well.
func (s *Store) Err() error { return s.health.err() }

// Close ends the store: writes that have begun are done, those that wait are
// refused, and reads that go on get [ErrClosed]. It waits for snapshots to be
// closed; where one stays open, it returns an error after half a minute, and
// leaves the database open and locked.
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
	return wrap("close store", errors.Join(s.db.Close(), s.lock.Close()))
}

// flushLast writes what is in memory to tables, where the disk is well: it is in
// the log too. The log has checksums, but what a flipped bit does to its end
// cannot be told from a write that a crash cut off; in tables it can.
func (s *Store) flushLast() {
	if s.options.ReadOnly || s.health.err() != nil || s.health.retrying.Load() {
		return
	}
	if err := s.db.Flush(); err != nil {
		s.options.Logger.Error("the last flush failed; the next start reads the log", "error", err)
	}
}

// waitStopped waits for the goroutines of the store. A write or flush that waits
// for room on the disk is let go by a failure.
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

// makeDirectory makes dir and the directories above it, so that they are there
// after a crash.
func makeDirectory(fs vfs.FS, dir string) error {
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
		if err := syncDirectory(fs, parent); err != nil {
			return err
		}
	}
	return nil
}
