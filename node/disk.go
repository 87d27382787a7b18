package node

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk watches the free space of the disk that a store is on.
type disk struct {
	fs      vfs.FS
	dir     string
	minFree int64 // as in Options

	mu      sync.Mutex
	checked time.Time
	usage   vfs.DiskUsage
	err     error
}

// usageAge is how long a look at the free space is good for: at full speed some
// 100 MB are written in it, and the watermark has room for that.
const usageAge = 100 * time.Millisecond

func (d *disk) init(fs vfs.FS, dir string, minFree int64) {
	d.fs, d.dir, d.minFree = fs, dir, minFree
}

// room returns an error that is [ErrDiskFull] where writing so many bytes would
// take free space below the watermark.
func (d *disk) room(bytes int64) error { return d.roomAbove(bytes, 1) }

// roomToDelete is room for a write that adds nothing: half of the watermark is
// for such writes, so that a disk that is full can be made free. The other half
// is for the flushes and compactions by which it becomes free.
func (d *disk) roomToDelete(bytes int64) error { return d.roomAbove(bytes, 2) }

// roomAbove is room with a part of the watermark.
func (d *disk) roomAbove(bytes, part int64) error {
	if d.minFree < 0 {
		return nil
	}
	usage, err := d.look()
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("free space of %s: %w", d.dir, err)
	}
	watermark := d.minFree
	if watermark == 0 {
		watermark = min(max(int64(usage.TotalBytes/50), 64<<20), 2<<30)
	}
	watermark /= part
	if free := int64(usage.AvailBytes); free-bytes < watermark {
		return fmt.Errorf("%w: %d MiB are free under %s and %d MiB are kept free; %d MiB are to be written",
			ErrDiskFull, free>>20, d.dir, watermark>>20, bytes>>20)
	}
	return nil
}

// look returns the usage of the disk, at most usageAge ago.
func (d *disk) look() (vfs.DiskUsage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); d.checked.IsZero() || now.Sub(d.checked) > usageAge {
		d.usage, d.err = d.fs.GetDiskUsage(d.dir)
		d.checked = now
	}
	return d.usage, d.err
}
