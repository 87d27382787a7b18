// The torture's disks, with faults.

package cluster

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/testing/memdisk"
)

// shakyFS is a host's disk as its process sees it: something happens at one of
// the syncs to come.
type shakyFS struct {
	vfs.FS
	left   atomic.Int64 // syncs until then; 0 is never
	do     func()       // what happens, before the sync
	broken atomic.Bool  // every sync fails
	taken  atomic.Int64 // in quarters of the watermark: 0 is enough room, 4 none is left
	takes  atomic.Int64 // virtual time of a sync, in ns; a read takes a tenth. For replays only
	errors atomic.Int64 // reads that fail from now on
	erred  atomic.Bool  // one has: the process may end, and is started again
	lies   atomic.Bool  // syncs do nothing, and say that all is well
}

// read fails or takes its time.
func (f *shakyFS) read() error {
	if d := f.takes.Load(); d > 0 {
		time.Sleep(time.Duration(d / 10))
	}
	for {
		left := f.errors.Load()
		if left == 0 {
			return nil
		}
		if f.errors.CompareAndSwap(left, left-1) {
			f.erred.Store(true)
			return errDisk
		}
	}
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
	if d := f.takes.Load(); d > 0 {
		time.Sleep(time.Duration(d))
	}
	if f.lies.Load() {
		return nil
	}
	return do()
}

func (f *shakyFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.wrap(f.FS.Open(name, opts...))
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

func (f *shakyFile) Read(b []byte) (int, error) {
	if err := f.fs.read(); err != nil {
		return 0, err
	}
	return f.File.Read(b)
}

func (f *shakyFile) ReadAt(b []byte, offset int64) (int, error) {
	if err := f.fs.read(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, offset)
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

// filesOf returns the paths of all files of a data directory, in order.
func filesOf(disk *memdisk.FS, dir string) (all []string, err error) {
	names, err := disk.List(dir)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		path := disk.PathJoin(dir, name)
		info, err := disk.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			if info.Size() > 0 {
				all = append(all, path)
			}
			continue
		}
		below, err := filesOf(disk, path)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

// flipAnywhere flips a bit of a file, anywhere in it.
func flipAnywhere(disk *memdisk.FS, path string, random *rand.Rand) error {
	f, err := disk.Open(path)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	data[random.IntN(len(data))] ^= 1 << random.IntN(8)
	if f, err = disk.Create(path, vfs.WriteCategoryUnspecified); err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// kindOfFile names a file for the choice of one: its directory and ending, so that
// the few files of a kind are flipped as often as the many of another.
func kindOfFile(path string) string {
	dir, name := path[:strings.LastIndexByte(path, '/')+1], path[strings.LastIndexByte(path, '/')+1:]
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		return dir + name[dot:]
	}
	return dir + strings.TrimRight(name, "0123456789")
}
