// A file system of a limited size.

package memdisk

import (
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Sized is a file system in memory that reports the free space of a disk. It never refuses a write, but remembers the
// least free space.
type Sized struct {
	*vfs.MemFS
	Size  atomic.Int64
	least atomic.Int64
	names sync.Mutex // held when files get other names, and when all are visited
}

// NewSized returns an empty file system with room for size bytes.
func NewSized(size int64) *Sized {
	d := &Sized{MemFS: vfs.NewMem()}
	d.Size.Store(size)
	d.least.Store(size)
	return d
}

// MinFree returns the minimum of the free space after each write.
func (d *Sized) MinFree() int64 { return d.least.Load() }

// Free returns the free space.
func (d *Sized) Free() int64 {
	d.names.Lock()
	defer d.names.Unlock()
	return d.Size.Load() - d.used("")
}

// used returns the size of the files below dir, in whole blocks.
func (d *Sized) used(dir string) (bytes int64) {
	names, _ := d.List(dir)
	for _, name := range names {
		path := d.PathJoin(dir, name)
		info, err := d.Stat(path)
		switch {
		case err != nil: // removed meanwhile
		case info.IsDir():
			bytes += d.used(path)
		default:
			const block = 4 << 10
			bytes += (info.Size() + block - 1) / block * block
		}
	}
	return bytes
}

// GetDiskUsage implements [vfs.FS].
func (d *Sized) GetDiskUsage(string) (vfs.DiskUsage, error) {
	free, size := d.Free(), d.Size.Load()
	return vfs.DiskUsage{AvailBytes: uint64(max(free, 0)), TotalBytes: uint64(size), UsedBytes: uint64(size - free)}, nil
}

// Create implements [vfs.FS].
func (d *Sized) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.MemFS.Create(name, category)
	return d.wrap(f, err)
}

// OpenReadWrite implements [vfs.FS].
func (d *Sized) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.MemFS.OpenReadWrite(name, category, opts...)
	return d.wrap(f, err)
}

// ReuseForWrite implements [vfs.FS].
func (d *Sized) ReuseForWrite(oldName, newName string, category vfs.DiskWriteCategory) (vfs.File, error) {
	d.names.Lock()
	defer d.names.Unlock()
	f, err := d.MemFS.ReuseForWrite(oldName, newName, category)
	return d.wrap(f, err)
}

// Rename implements [vfs.FS].
func (d *Sized) Rename(oldName, newName string) error {
	d.names.Lock()
	defer d.names.Unlock()
	return d.MemFS.Rename(oldName, newName)
}

func (d *Sized) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return sizedFile{f, d}, nil
}

type sizedFile struct {
	vfs.File
	disk *Sized
}

// Write implements [vfs.File].
func (f sizedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	for free := f.disk.Free(); ; {
		if least := f.disk.least.Load(); least <= free || f.disk.least.CompareAndSwap(least, free) {
			return n, err
		}
	}
}
