// A write-ahead log being written, with its ring of synced lengths.

package synced

import (
	"errors"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// ringEntries is the number of entries in the file beside a log. Each is that of one sync.
	ringEntries = 4096
	// syncAfter is the longest time from an entry to its own sync.
	syncAfter = time.Second
)

// logFile is a log being written. Pebble writes and syncs it in one goroutine; a timer syncs the
// file beside it.
type logFile struct {
	vfs.File
	base     string
	written  int64 // its length
	promised int64 // the length in the last entry
	next     int   // the place of the next entry in the ring

	beside  vfs.File
	syncing sync.Mutex // held by a sync of the file beside, and by Close; taken before mu

	mu      sync.Mutex  // guards the rest
	timer   *time.Timer // runs syncBeside; nil before the first entry
	waiting bool        // the timer runs: an entry may be unsynced
	failure error       // of a sync by the timer
}

func newLogFile(f, beside vfs.File, base string) *logFile {
	return &logFile{File: f, beside: beside, base: base}
}

// Write implements [vfs.File].
func (f *logFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.written += int64(n)
	return n, err
}

// Sync implements [vfs.File].
func (f *logFile) Sync() error { return f.promise(f.File.Sync()) }

// SyncData implements [vfs.File].
func (f *logFile) SyncData() error { return f.promise(f.File.SyncData()) }

// promise ends a sync of the log. If err is nil, it records the new length.
func (f *logFile) promise(err error) error {
	if err != nil || f.written == f.promised {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failure != nil {
		return f.failure
	}
	if _, err := f.beside.WriteAt(appendEntry(nil, f.base, f.written), int64(f.next)*entryBytes); err != nil {
		return err
	}
	f.promised, f.next = f.written, (f.next+1)%ringEntries
	if !f.waiting {
		f.waiting = true
		if f.timer == nil {
			f.timer = time.AfterFunc(syncAfter, f.syncBeside)
		} else {
			f.timer.Reset(syncAfter)
		}
	}
	return nil
}

// syncBeside syncs the entries. If it fails, the next sync of the log returns the error.
func (f *logFile) syncBeside() {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	if !f.takeUnsynced() {
		return // Close was first
	}
	// Commits must not wait for this sync, so mu is free.
	if err := f.beside.SyncData(); err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.failure = err
	}
}

// takeUnsynced reports whether an entry may be unsynced. The caller must sync it.
func (f *logFile) takeUnsynced() (unsynced bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	unsynced, f.waiting = f.waiting, false
	return unsynced
}

// Close implements [vfs.File].
func (f *logFile) Close() error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	err := f.failure // no timer writes it any more
	if f.takeUnsynced() {
		f.timer.Stop()
		err = f.beside.SyncData()
	}
	return errors.Join(err, f.File.Close(), f.beside.Close())
}
