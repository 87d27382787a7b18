package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/node/manifest"
)

// guardedFS is the file system that Pebble works on.
//
// Pebble answers an error of its log by a panic that, in places, nobody can
// recover from; it repeats a failed flush at once and for ever, and holds up
// writes meanwhile. So:
//
//   - an error of the log or the manifest, and one of any sync, is a failure for
//     good (see [health]); Pebble is told that all went well, while whoever waits
//     for the write is told of the failure;
//   - after a failure nothing on the disk changes any more: it stays as a crash
//     at that moment would have left it, and nothing that it needs is removed on
//     the strength of what was not written. Flushes go to memory, so that a write
//     that they hold up comes to its end;
//   - new files are held up a little while flushes fail.
//
// A marker, an empty file whose name says which manifest counts, is made after
// the manifest and before the old marker goes; Pebble syncs the directory only
// after both. A file system that does not keep the order of changes to a
// directory through a crash could leave a marker without its manifest, or none,
// so the directory is synced before each of the steps.
//
// Below it is the file system of package manifest, whose errors are those of a
// manifest's sync.
type guardedFS struct {
	vfs.FS
	health *health
	shadow *shadow
}

// shadow holds the tables that were flushed after a failure.
type shadow struct {
	fs    *vfs.MemFS
	names sync.Map // the paths of its files, flat in fs
}

func newGuardedFS(fs vfs.FS, h *health) guardedFS {
	return guardedFS{manifest.Guard(fs), h, &shadow{fs: vfs.NewMem()}}
}

// retryPause is how long a new file waits while flushes or compactions fail.
const retryPause = 100 * time.Millisecond

// flushCategory is what Pebble calls the files of a flush.
const flushCategory = "pebble-memtable-flush"

// isLog tells of a log or manifest: a file that records what has been done.
func isLog(name string) bool {
	return strings.HasSuffix(name, ".log") || strings.HasPrefix(filepath.Base(name), "MANIFEST-")
}

// Create implements [vfs.FS]. Pebble calls it without holding locks.
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
	if err := g.settleMarker(name); err != nil {
		return nil, err
	}
	f, err := g.FS.Create(name, category)
	return g.guard(f, name, err)
}

// settleMarker syncs the directory of a marker that is to be made or removed.
func (g guardedFS) settleMarker(name string) error {
	if !strings.HasPrefix(filepath.Base(name), "marker.") {
		return nil
	}
	return syncDirectory(g.FS, g.PathDir(name))
}

// pause waits, until the store closes or fails.
func (g guardedFS) pause() {
	pause := time.NewTimer(retryPause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-g.health.closing:
	}
}

// Open implements [vfs.FS].
func (g guardedFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if _, ok := g.shadow.names.Load(name); ok {
		return g.shadow.fs.Open(filepath.Base(name), opts...)
	}
	return g.FS.Open(name, opts...)
}

// ReuseForWrite implements [vfs.FS]; Pebble reuses its logs.
func (g guardedFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return g.openLog(newname, func() (vfs.File, error) { return g.FS.ReuseForWrite(oldname, newname, category) })
}

// openLog opens a log, or after a failure one that goes nowhere.
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

// logAhead is how much of a write-ahead log is allocated before it is written, so that
// a sync seldom has to write metadata, and the small writes by which a member of a
// cluster keeps its lease go on for hours on a disk that is full.
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
	if err := g.settleMarker(name); err != nil {
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

	// Of a log: what was written, and up to where it is allocated. A log has one writer.
	written, allocated int64
}

// allocate allocates a log ahead of a write of so many bytes. The disk may refuse: then
// the write finds out if there is room.
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

// sync ends a sync of any kind, that has failed where err says so.
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

// Preallocate implements [vfs.File]. Pebble would allocate as much for each log as a
// memtable of the full size may need.
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
