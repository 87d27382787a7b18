// The file system that records the synced length of manifests and logs.

package synced

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	prefix    = "MANIFEST-"
	suffix    = ".synced"
	logSuffix = ".log"
)

// logCategory is Pebble's category for the logs that it writes. It copies logs with another one.
const logCategory = "pebble-wal"

// isManifest reports whether name is the name of a manifest.
func isManifest(name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(base, prefix) && !strings.HasSuffix(base, suffix)
}

// isLog reports whether name is the name of a write-ahead log.
func isLog(name string) bool { return strings.HasSuffix(name, logSuffix) }

// Guard returns fs with records of synced lengths, for Pebble. A sync of a manifest ends when its
// length is also written and synced. A sync of a log ends when its length is written. If that
// fails, the sync fails.
func Guard(fs vfs.FS) vfs.FS { return guardFS{fs} }

type guardFS struct{ vfs.FS }

// Unwrap implements [vfs.FS].
func (g guardFS) Unwrap() vfs.FS { return g.FS }

// Create implements [vfs.FS].
func (g guardFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	create := func() (vfs.File, error) { return g.FS.Create(name, category) }
	if !isManifest(name) && !isLog(name) {
		return create()
	}
	return g.begin(name, category, create)
}

// ReuseForWrite implements [vfs.FS]. Pebble calls it only for logs.
func (g guardFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := g.removeBeside(oldname); err != nil {
		return nil, err
	}
	return g.begin(newname, category, func() (vfs.File, error) { return g.FS.ReuseForWrite(oldname, newname, category) })
}

// begin opens a new manifest or log, and the file beside it.
func (g guardFS) begin(name string, category vfs.DiskWriteCategory, open func() (vfs.File, error)) (vfs.File, error) {
	// 1. A crash may have left a promise for an earlier file of this name. The promise must not
	// count for the new one.
	if err := g.forget(name); err != nil {
		return nil, err
	}
	// 2. Open the file, then create the one beside it. The writer syncs the directory before it
	// depends on either.
	f, err := open()
	if err != nil || isLog(name) && category != logCategory {
		return f, err
	}
	beside, err := g.FS.Create(name+suffix, category)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	base := filepath.Base(name)
	if isLog(name) {
		return newLogFile(f, beside, base), nil
	}
	return &file{File: f, synced: beside, base: base}, nil
}

// forget removes the file beside a manifest or log, durably.
func (g guardFS) forget(name string) error {
	if _, err := g.FS.Stat(name + suffix); oserror.IsNotExist(err) {
		return nil
	}
	if err := g.FS.Remove(name + suffix); err != nil {
		return err
	}
	dir, err := g.FS.OpenDir(g.FS.PathDir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// removeBeside removes the file beside a manifest or log, if there is one.
func (g guardFS) removeBeside(name string) error {
	if err := g.FS.Remove(name + suffix); err != nil && !oserror.IsNotExist(err) {
		return err
	}
	return nil
}

// Remove implements [vfs.FS].
func (g guardFS) Remove(name string) error {
	if isManifest(name) || isLog(name) {
		if err := g.removeBeside(name); err != nil {
			return err
		}
	}
	return g.FS.Remove(name)
}

// file is a manifest being written.
type file struct {
	vfs.File
	synced   vfs.File // the file beside it
	base     string   // its name, without the directory
	written  int64    // its length
	promised int64    // the length in the last entry
}

// Write implements [vfs.File].
func (f *file) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.written += int64(n)
	return n, err
}

// Sync implements [vfs.File].
func (f *file) Sync() error { return f.promise(f.File.Sync()) }

// SyncData implements [vfs.File].
func (f *file) SyncData() error { return f.promise(f.File.SyncData()) }

// promise ends a sync of the manifest. If err is nil, it records the new length.
func (f *file) promise(err error) error {
	if err != nil || f.written == f.promised {
		return err
	}
	if _, err := f.synced.Write(appendEntry(nil, f.base, f.written)); err != nil {
		return err
	}
	if err := f.synced.SyncData(); err != nil {
		return err
	}
	f.promised = f.written
	return nil
}

// Close implements [vfs.File].
func (f *file) Close() error { return errors.Join(f.File.Close(), f.synced.Close()) }
