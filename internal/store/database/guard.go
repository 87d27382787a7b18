// The file system below Pebble: it turns errors of logs and syncs into a failure.

package database

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/store/synced"
)

// guardedFS is the file system that Pebble works on.
//
// Pebble panics after an error of its log, and some of these panics cannot be recovered. It
// repeats a failed flush at once and forever, and blocks writes meanwhile. Therefore:
//
//   - An error of the log, the manifest or any sync is a failure for good (see [health]).
//     Pebble gets success, because it would panic; the callers of the write get the failure.
//   - After a failure nothing on the disk changes any more: it must stay in the state that a
//     crash would have left. No file may be removed because of a write that failed. Flushes
//     go to memory, because writes may wait for them and must end.
//   - If flushes fail, each new file waits a little. If they fail for long, that is a failure, too.
//
// A marker is an empty file whose name selects the current manifest. Pebble makes it after the
// manifest, then removes the old marker, and syncs the directory only after both. If the file
// system reorders changes of a directory, a crash could leave a marker without its manifest, or no
// marker. Therefore the directory is synced before each step.
//
// guardedFS stands on the file system of package synced. An error from there counts as an error of
// the sync of a manifest or a log.
type guardedFS struct {
	vfs.FS
	health *health
	shadow *shadow
}

// shadow holds the tables of flushes after a failure.
type shadow struct {
	fs    *vfs.MemFS
	names sync.Map // the paths of its files, flat in fs
}

func newGuardedFS(fs vfs.FS, h *health) guardedFS {
	return guardedFS{synced.Guard(fs), h, &shadow{fs: vfs.NewMem()}}
}

// GuardFS returns a file system for a Pebble database that is no [Database]: after an error of its log,
// its manifest or a sync, nothing on the disk changes any more. Pebble gets success. So after each
// write, and after Pebble's Open, failed must be called: it returns the error, or nil. onFailure is called
// once with it, in its own goroutine.
func GuardFS(fs vfs.FS, log *slog.Logger, onFailure func(error)) (_ vfs.FS, failed func() error) {
	h := new(health)
	h.init(&Options{Logger: log, OnFatal: onFailure})
	h.opening.Store(false)
	return newGuardedFS(fs, h), h.err
}

// retryPause is the time that a new file waits when flushes or compactions fail.
const retryPause = 100 * time.Millisecond

// Pebble's categories for the files of a flush and of a compaction.
const (
	flushCategory      = "pebble-memtable-flush"
	compactionCategory = "pebble-compaction"
)

// isLog reports whether a file is a log or a manifest: both record finished work.
func isLog(name string) bool {
	return strings.HasSuffix(name, ".log") || strings.HasPrefix(filepath.Base(name), "MANIFEST-")
}

// Create implements [vfs.FS]. Pebble calls it without locks, so it may wait.
func (g guardedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if isLog(name) {
		return g.openLog(name, func() (vfs.File, error) { return g.FS.Create(name, category) })
	}
	if g.health.err() == nil && g.health.retrying.Load() {
		g.pause()
	}
	if err := g.health.err(); err != nil {
		if category == flushCategory {
			g.shadow.names.Store(name, nil)
			return g.shadow.fs.Create(filepath.Base(name), category)
		}
		g.pause()
		return nil, err
	}
	if category == compactionCategory && g.health.roomToCompact != nil {
		if err := g.health.roomToCompact(); err != nil {
			return nil, err
		}
	}
	if err := g.syncMarker(name); err != nil {
		return nil, err
	}
	f, err := g.FS.Create(name, category)
	return g.guard(f, name, err)
}

// syncMarker syncs the directory if name is a marker, before it is made or removed.
func (g guardedFS) syncMarker(name string) error {
	if !strings.HasPrefix(filepath.Base(name), "marker.") {
		return nil
	}
	return directory.Sync(g.FS, g.PathDir(name))
}

// pause waits for retryPause, or until the store closes or fails.
func (g guardedFS) pause() { retry.SleepUntil(context.Background(), retryPause, g.health.closing) }

// Open implements [vfs.FS].
func (g guardedFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if _, ok := g.shadow.names.Load(name); ok {
		return g.shadow.fs.Open(filepath.Base(name), opts...)
	}
	return g.FS.Open(name, opts...)
}

// ReuseForWrite implements [vfs.FS]. Pebble calls it only for logs.
func (g guardedFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return g.openLog(newname, func() (vfs.File, error) { return g.FS.ReuseForWrite(oldname, newname, category) })
}

// openLog opens a log. After a failure it returns a file without effect on the disk.
func (g guardedFS) openLog(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if g.health.err() == nil {
		f, err := open()
		if err == nil {
			return &guardedFile{File: f, name: name, health: g.health, log: true}, nil
		}
		g.health.fail(fmt.Errorf("open log %s: %w", name, err))
	}
	f, err := g.shadow.fs.Create("nowhere", vfs.WriteCategoryUnspecified)
	return &guardedFile{File: f, name: name, health: g.health, log: true}, err
}

// logAhead is the space of a write-ahead log to allocate ahead of its writes. Then a sync seldom
// writes metadata. If the disk is full, the small writes that keep a member's lease also continue
// for hours.
const logAhead = 1 << 20

func (g guardedFS) guard(f vfs.File, name string, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &guardedFile{File: f, name: name, health: g.health}, nil
}

// OpenReadWrite implements [vfs.FS].
func (g guardedFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := g.health.err(); err != nil {
		return nil, err
	}
	f, err := g.FS.OpenReadWrite(name, category, opts...)
	return g.guard(f, name, err)
}

// OpenDir implements [vfs.FS].
func (g guardedFS) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	return g.guard(f, name, err)
}

// Link implements [vfs.FS].
func (g guardedFS) Link(oldname, newname string) error {
	if err := g.health.err(); err != nil {
		return err
	}
	return g.FS.Link(oldname, newname)
}

// Remove implements [vfs.FS].
func (g guardedFS) Remove(name string) error {
	if err := g.health.err(); err != nil {
		return err
	}
	if err := g.syncMarker(name); err != nil {
		return err
	}
	return g.FS.Remove(name)
}

// RemoveAll implements [vfs.FS].
func (g guardedFS) RemoveAll(name string) error {
	if err := g.health.err(); err != nil {
		return err
	}
	return g.FS.RemoveAll(name)
}

// Rename implements [vfs.FS].
func (g guardedFS) Rename(oldname, newname string) error {
	if err := g.health.err(); err != nil {
		return err
	}
	return g.FS.Rename(oldname, newname)
}

// MkdirAll implements [vfs.FS].
func (g guardedFS) MkdirAll(dir string, perm os.FileMode) error {
	if err := g.health.err(); err != nil {
		return err
	}
	return g.FS.MkdirAll(dir, perm)
}

// Unwrap implements [vfs.FS].
func (g guardedFS) Unwrap() vfs.FS { return g.FS }

// guardedFile is a file that Pebble writes, or a directory that it syncs.
type guardedFile struct {
	vfs.File
	name   string
	health *health
	log    bool

	// Of a log: its written and its allocated bytes. A log has one writer.
	written, allocated int64
}

// allocate allocates space of a log before a write of some bytes. If the disk refuses, the write
// itself finds out if there is room.
func (f *guardedFile) allocate(bytes int64) {
	f.written += bytes
	if f.written+logAhead/2 <= f.allocated || !strings.HasSuffix(f.name, ".log") || f.File.Fd() == vfs.InvalidFd {
		return
	}
	until := f.written + logAhead
	_ = f.File.Preallocate(f.allocated, until-f.allocated)
	f.allocated = until
}

// Write implements [vfs.File].
func (f *guardedFile) Write(b []byte) (int, error) {
	err := f.health.err()
	if err == nil {
		if f.log {
			f.allocate(int64(len(b)))
		}
		var n int
		n, err = f.File.Write(b)
		if err == nil {
			return n, nil
		}
		if f.log {
			f.health.fail(fmt.Errorf("write %s: %w", f.name, err))
		}
	}
	if f.log {
		return len(b), nil
	}
	return 0, err
}

// sync ends a sync of any kind. If it failed, the store fails for good.
func (f *guardedFile) sync(err error) error {
	if err != nil {
		f.health.fail(fmt.Errorf("sync %s: %w", f.name, err))
	}
	return nil
}

// Sync implements [vfs.File].
func (f *guardedFile) Sync() error {
	if f.health.err() != nil {
		return nil
	}
	return f.sync(f.File.Sync())
}

// SyncData implements [vfs.File].
func (f *guardedFile) SyncData() error {
	if f.health.err() != nil {
		return nil
	}
	return f.sync(f.File.SyncData())
}

// SyncTo implements [vfs.File].
func (f *guardedFile) SyncTo(length int64) (fullSync bool, err error) {
	if f.health.err() != nil {
		return true, nil
	}
	fullSync, err = f.File.SyncTo(length)
	return fullSync, f.sync(err)
}

// Preallocate implements [vfs.File]. It ignores logs, because Pebble would allocate a full
// memtable's size for each.
func (f *guardedFile) Preallocate(offset, length int64) error {
	if f.log || f.health.err() != nil {
		return nil
	}
	return f.File.Preallocate(offset, length)
}

// Close implements [vfs.File].
func (f *guardedFile) Close() error {
	err := f.File.Close()
	if err != nil && f.log {
		f.health.fail(fmt.Errorf("close %s: %w", f.name, err))
		return nil
	}
	return err
}
