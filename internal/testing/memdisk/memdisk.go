// Package memdisk is a file system in memory that loses power while it is written.
package memdisk

import (
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is a crashable [vfs.MemFS] whose CrashClone may be called beside all writes. That of MemFS
// waits for ever if it is called amid ReuseForWrite, which takes the same lock for reading twice.
type FS struct {
	*vfs.MemFS
	reuse sync.Mutex // held by ReuseForWrite and CrashClone
}

// New returns an empty file system.
func New() *FS { return &FS{MemFS: vfs.NewCrashableMem()} }

// ReuseForWrite implements [vfs.FS].
func (f *FS) ReuseForWrite(oldName, newName string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f.reuse.Lock()
	defer f.reuse.Unlock()
	return f.MemFS.ReuseForWrite(oldName, newName, category)
}

// CrashClone returns what a loss of power leaves.
func (f *FS) CrashClone(cfg vfs.CrashCloneCfg) *FS {
	f.reuse.Lock()
	defer f.reuse.Unlock()
	return &FS{MemFS: f.MemFS.CrashClone(cfg)}
}
