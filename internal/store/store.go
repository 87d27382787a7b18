// The store: opening and closing a data directory.

package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/store/columncache"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/segments"
	"github.com/trefoildb/trefoil/trie"
)

// Store is a store of triples in one directory, made by [Open]. Its methods are safe for
// concurrent use.
type Store struct {
	dir     string
	options Options
	id      directory.UUID
	lock    interface{ Close() error }
	db      *database.Database

	metrics metrics
	updates updates
	feed    *changefeed.Feed
	columns *columncache.Cache // nil if they are off
	running sync.WaitGroup     // the committer, and the maintenance of segments

	committer    *Committer
	member       membership
	segments     *segments.Segments
	maps         SegmentMaps
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
	s := &Store{dir: dir, options: opts, closeTimeout: defaultCloseTimeout, segments: segments.New(opts.MaxSegmentBytes)}
	s.db = database.New(database.Options{
		Dir: dir, FS: opts.FS, Logger: opts.Logger, ReadOnly: opts.ReadOnly, OnFatal: opts.OnFatal,
		CacheBytes: opts.CacheBytes, MemTableBytes: opts.MemTableBytes, MinFreeBytes: opts.MinFreeBytes,
		OnFlush: s.segments.Flushed, OnIngest: s.segments.Measure,
	})
	s.committer = &Committer{
		db: s.db, timeout: opts.WriteTimeout, member: &s.member, segments: s.segments, density: &s.density, metrics: &s.metrics, tokens: tokens{db: s.db},
	}
	s.committer.queue.init(opts.QueueBytes)
	s.updates.init()
	// 3. Open the database. If the disk is full, the error must say how to get room.
	if err := s.open(); err != nil {
		if !opts.ReadOnly && fault.IsDiskFull(err) {
			err = database.NewNoRoomError(opts.FS, dir, err)
		}
		return nil, fault.Wrap("open store "+dir, err)
	}
	// 4. Start the goroutines last, because they write.
	if !opts.ReadOnly {
		s.running.Go(s.committer.run)
		s.running.Go(s.segments.Run)
	}
	s.openColumns()
	return s, nil
}

// open does the steps of Open that may fail. If one fails, it undoes the others.
func (s *Store) open() (err error) {
	fs := s.options.FS
	// 1. Lock the directory first: no other process may open it.
	if !s.options.ReadOnly {
		if err := directory.Make(fs, s.dir); err != nil {
			return err
		}
	} else if _, err := fs.Stat(s.dir); err != nil {
		return err
	}
	if s.lock, err = directory.Lock(fs, s.dir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.db.Close(), s.lock.Close())
		}
	}()
	// 2. Open the database, unless the directory was set aside.
	if err := directory.CompleteAside(fs, s.dir, s.options.ReadOnly); err != nil {
		return err
	}
	if err := s.openDatabase(); err != nil {
		return err
	}
	// 3. Remove leftovers of unfinished work. The folder of loads must stay, because a load may go
	// on.
	if !s.options.ReadOnly {
		for _, name := range []string{directory.LoadsName, directory.TmpName} {
			if name == directory.TmpName {
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
	return s.db.Ready()
}

// openDatabase opens the database. If it is missing, it makes one and then the VERSION file. So
// the file proves that the database is complete.
func (s *Store) openDatabase() error {
	fs := s.options.FS
	// 1. The VERSION file decides: if it is missing, the directory must be new and hold no
	// database.
	var err error
	s.id, err = directory.ReadVersion(fs, s.dir)
	isNew := errors.Is(err, os.ErrNotExist)
	switch {
	case isNew && s.options.ReadOnly:
		return fmt.Errorf("%w: it has no VERSION file", ErrVersion)
	case isNew:
		if err := directory.CheckNew(fs, s.dir); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if err := s.db.Open(isNew); err != nil {
		return err
	}
	// 2. Write the VERSION file last, because it says that the database exists.
	if isNew {
		s.id = directory.NewUUID()
		if err := directory.WriteVersion(fs, s.dir, s.id); err != nil {
			return err
		}
		s.options.Logger.Info("made a data directory", "dir", s.dir, "uuid", s.id.String())
	}
	return nil
}

// readState reads the local state.
func (s *Store) readState() (err error) {
	// 1. Each part has rows of local state.
	if err := s.committer.read(); err != nil {
		return err
	}
	if err := s.member.read(s.db, s.options.Member); err != nil {
		return err
	}
	// 2. The feed ends at the last stamp that was taken. If the directory was restored, the
	// original may have gone on, so positions in its feed must differ from the ones here.
	restored, err := directory.IsRestored(s.options.FS, s.dir)
	if err != nil {
		return err
	}
	if s.feed, err = changefeed.Open(s.db, changefeed.Options{
		Retention: s.options.FeedRetention, Watched: s.options.Watched,
		UUID: s.id, NewSource: restored, Commits: &s.committer.mu, Last: s.committer.sequence.last(),
	}); err != nil {
		return err
	}
	if restored && !s.options.ReadOnly {
		if err := directory.UnmarkRestored(s.options.FS, s.dir); err != nil {
			return err
		}
	}
	s.committer.feed = s.feed
	_, isMember := s.Identity()
	if isMember {
		s.feed.Retire()
	}
	return s.segments.Open(s.db, s.MachineID(), isMember)
}

// Dir returns the data directory.
func (s *Store) Dir() string { return s.dir }

// Database returns the database of the store, for package replica.
func (s *Store) Database() *database.Database { return s.db }

// Committer returns the committer of the store, for package replica.
func (s *Store) Committer() *Committer { return s.committer }

// Feed returns the feed of the store's changes. If the store becomes a part of a cluster, its feed
// ends with [ErrMember].
func (s *Store) Feed() feed.Source { return s.feed }

// ChangeFeed returns the log behind Feed.
func (s *Store) ChangeFeed() *changefeed.Feed { return s.feed }

// Segments returns the segments of the store.
func (s *Store) Segments() *segments.Segments { return s.segments }

// MachineID returns the machine ID of the data directory.
func (s *Store) MachineID() trie.MachineID { return trie.MachineIDOf(s.id) }

// Failed returns a channel that is closed when the store has failed for good; see Options.OnFatal.
func (s *Store) Failed() <-chan struct{} { return s.db.Failed() }

// Err returns the error after which the store rejects all writes, or nil.
func (s *Store) Err() error { return s.db.Err() }

// Close closes the store. Writes in progress complete, waiting writes are rejected, and running
// reads get [ErrClosed]. Close waits until all snapshots are closed. If one stays open for half a
// minute, Close returns an error and leaves the database open and locked.
func (s *Store) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Store) close() error {
	s.committer.queue.close()
	if !s.closeColumns() {
		return fmt.Errorf("close store: the disk holds up the file of the columns: %w", errors.Join(ErrUnknown, s.db.Err()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.closeTimeout)
	defer cancel()
	if open := s.db.Stop(ctx); open > 0 {
		return fmt.Errorf("close store: %d snapshots or iterators are still open", open)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.running.Wait()
		s.db.FlushLast()
	}()
	if !s.waitStopped(stopped) {
		return fmt.Errorf("close store: a write does not end: %w", errors.Join(ErrUnknown, s.db.Err()))
	}
	return fault.Wrap("close store", errors.Join(s.db.Close(), s.lock.Close()))
}

// closeColumns ends the columns. It returns false if the disk still holds up their file after a while.
func (s *Store) closeColumns() bool {
	if s.columns == nil {
		return true
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.columns.Close()
	}()
	return s.waitStopped(closed)
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
			s.db.Fail(errors.New("the store was closed while the disk held up a write"))
		}
	}
	return false
}
