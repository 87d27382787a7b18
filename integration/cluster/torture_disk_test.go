package cluster

import (
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// shakyFS is a host's disk as its process sees it: something happens at one of
// the syncs to come.
type shakyFS struct {
	vfs.FS
	left   atomic.Int64 // syncs until then; 0 is never
	do     func()       // what happens, before the sync
	broken atomic.Bool  // every sync fails
	taken  atomic.Int64 // in quarters of the watermark: 0 is enough room, 4 none is left
}

// watermark is of the free space of a torture's disks.
const watermark = 4 << 20

// GetDiskUsage implements [vfs.FS].
func (f *shakyFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	free := uint64(1 << 40)
	if taken := f.taken.Load(); taken > 0 {
		free = uint64(watermark/4*(4-taken) + watermark/8)
	}
	return vfs.DiskUsage{AvailBytes: free, TotalBytes: 1 << 41, UsedBytes: 1<<41 - free}, nil
}

var errDisk = errors.New("the disk of the test has failed")

func (f *shakyFS) sync(do func() error) error {
	if f.left.Load() > 0 && f.left.Add(-1) == 0 {
		f.do()
	}
	if f.broken.Load() {
		return errDisk
	}
	return do()
}

func (f *shakyFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.wrap(f.FS.Create(name, c))
}

func (f *shakyFS) ReuseForWrite(before, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.wrap(f.FS.ReuseForWrite(before, name, c))
}

func (f *shakyFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.wrap(f.FS.OpenReadWrite(name, c, opts...))
}

func (f *shakyFS) OpenDir(name string) (vfs.File, error) { return f.wrap(f.FS.OpenDir(name)) }

func (f *shakyFS) Unwrap() vfs.FS { return f.FS }

func (f *shakyFS) wrap(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &shakyFile{file, f}, nil
}

type shakyFile struct {
	vfs.File
	fs *shakyFS
}

func (f *shakyFile) Sync() error     { return f.fs.sync(f.File.Sync) }
func (f *shakyFile) SyncData() error { return f.fs.sync(f.File.SyncData) }

func (f *shakyFile) SyncTo(length int64) (full bool, err error) {
	err = f.fs.sync(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}
