// Raft's log, stable values and snapshots in a Pebble database.

package agreement

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/synced"
)

// Tables of the database, by the first byte of the key. Integers are big-endian,
// so that entries and snapshots are in their order.
//
//	0x01 | index u64                          an entry of the log, see encodeEntry
//	0x02 | name                               a value of the stable store
//	0x03 | index u64 | term u64 | number u64  a finished snapshot: its raft.SnapshotMeta as JSON
//	0x04 | index u64 | term u64 | number u64 | chunk u32   at most chunkBytes of its contents
const (
	tableLog byte = iota + 1
	tableStable
	tableSnapshot
	tableChunk
)

const (
	cacheBytes    = 1 << 20
	memTableBytes = 4 << 20
)

// store is Raft's data on disk: log, stable values and snapshots, in one Pebble database. Every
// write is synced before it returns.
//
// Raft panics if it cannot read its log or write its term. So if the store fails, it ends the
// calling goroutine of Raft instead, reports it once by onFatal, and returns the error from then
// on. This node takes no part any more, and the process can end in its own way.
type store struct {
	db  *pebble.DB
	log *slog.Logger

	onFatal func(error)
	once    sync.Once
	failure atomic.Pointer[error]
	disk    func() error // the error after which the disk takes no writes, or nil
	opened  atomic.Bool  // before, Open returns the error

	mu          sync.RWMutex
	first, last uint64 // indexes of the log; 0 where it is empty
}

func openStore(fs vfs.FS, dir string, log *slog.Logger, onFatal func(error)) (*store, error) {
	s := &store{log: log, onFatal: onFatal}
	// If a log has lost its end unnoticed, this node could vote twice.
	if err := synced.Check(fs, dir); err != nil {
		return nil, fmt.Errorf("agreement: open %s: %w", dir, err)
	}
	cache := pebble.NewCache(cacheBytes)
	defer cache.Unref()
	// Pebble would end the process at some errors of its log.
	fs, s.disk = database.GuardFS(fs, log, func(err error) { _ = s.fail(err) })
	db, err := pebble.Open(dir, &pebble.Options{
		FS:                         fs,
		Cache:                      cache,
		MemTableSize:               memTableBytes,
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
		MaxOpenFiles:               64,
		FormatMajorVersion:         pebble.FormatValueSeparation, // not the newest: see package store
		Logger:                     pebbleLogger{s},
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) { log.Error("the agreement's log cannot be maintained", "error", err) },
			// The default ends the process. Here the reader gets the error.
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				log.Error("the agreement's log is corrupt", "path", info.Path, "error", info.Details)
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("agreement: open %s: %w", dir, err)
	}
	s.db = db
	if err := s.disk(); err != nil {
		return nil, errors.Join(fmt.Errorf("agreement: open %s: %w", dir, err), db.Close())
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("agreement: read %s: %w", dir, err), db.Close())
	}
	return s, nil
}

// load finds the log's ends, and completes changes after a crash.
func (s *store) load() error {
	if err := s.dropUnfinished(); err != nil {
		return err
	}
	var err error
	if s.first, s.last, err = s.ends(); err != nil {
		return err
	}
	snapshots, err := s.List()
	if err != nil || len(snapshots) == 0 {
		return err
	}
	if newest := snapshots[0].Index; s.last != 0 && s.last < newest {
		// A snapshot came from the leader, and the process ended before the log was cleared. The
		// log must be cleared, because it may hold entries which were never agreed on.
		return s.DeleteRange(s.first, s.last)
	}
	return nil
}

func (s *store) ends() (first, last uint64, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{tableLog}, UpperBound: []byte{tableLog + 1}})
	if err != nil {
		return 0, 0, err
	}
	if it.First() {
		first = logIndex(it.Key())
		it.Last()
		last = logIndex(it.Key())
	}
	return first, last, errors.Join(it.Error(), it.Close())
}

// commit applies a batch, synced, and closes it.
func (s *store) commit(b *pebble.Batch) error {
	defer b.Close()
	if err := s.err(); err != nil {
		return err
	}
	err := b.Commit(pebble.Sync)
	if failed := s.err(); failed != nil {
		// If a write fails for good, Commit returns nil.
		return failed
	}
	if err != nil {
		return s.fail(err)
	}
	return nil
}

// get calls f with the value of a key, and reports whether there is one. The value is valid until
// f returns.
func (s *store) get(key []byte, f func(value []byte) error) (bool, error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer closer.Close()
	return true, f(v)
}

func (s *store) err() error {
	if p := s.failure.Load(); p != nil {
		return *p
	}
	if err := s.disk(); err != nil {
		return s.fail(err)
	}
	return nil
}

// fail records the final failure of the store and returns the reason.
func (s *store) fail(err error) error {
	err = fmt.Errorf("agreement: the log on disk has failed: %w", err)
	s.once.Do(func() {
		s.failure.Store(&err)
		s.log.Error("this node takes no part in agreements any more", "error", err)
		if s.onFatal != nil && s.opened.Load() {
			go s.onFatal(err)
		}
	})
	return *s.failure.Load()
}

// failHard is fail, if Raft would panic otherwise. It does not return.
func (s *store) failHard(err error) {
	_ = s.fail(err) // kept in the store
	runtime.Goexit()
}

// guard calls f in a goroutine of its own, because failHard may end it.
func (s *store) guard(f func() error) error {
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = f()
	}()
	<-done
	if failed := s.err(); failed != nil {
		return failed
	}
	return err
}

func (s *store) close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("agreement: close: %w", err)
	}
	return nil
}

// pebbleLogger passes on Pebble's log. Its Fatalf returns, although Pebble's own ends the
// process.
type pebbleLogger struct{ s *store }

func (l pebbleLogger) Infof(format string, args ...any) {
	l.s.log.Debug(fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.s.log.Error(fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	_ = l.s.fail(fmt.Errorf(format, args...)) // kept in the store
}
