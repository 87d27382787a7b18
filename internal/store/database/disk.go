// The free space of a store's disk.

package database

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/fault"
)

// disk measures the free space of a store's disk.
type disk struct {
	fs      vfs.FS
	dir     string
	minFree int64 // see [Options]

	mu      sync.Mutex
	checked time.Time
	usage   vfs.DiskUsage
	err     error
}

// smallMemTable is the size of memtables that any disk must have room for.
const smallMemTable = 4 << 20

// usageAge is how long a measurement is valid. At full speed some 100 MB are written in that time,
// and the watermark has room for that.
const usageAge = 100 * time.Millisecond

func (d *disk) init(fs vfs.FS, dir string, minFree int64) {
	d.fs, d.dir, d.minFree = fs, dir, minFree
}

// memTableBytes returns the maximum size of memtables for the disk. Up to four wait for their
// flush, and their rows must fit on the disk even below its watermark. The same value limits the
// write-ahead log, because Pebble keeps up to five more log files for reuse.
func (d *disk) memTableBytes() int64 {
	usage, err := d.measure()
	if err != nil || d.minFree < 0 {
		return math.MaxInt64
	}
	return max(d.watermark(usage)/16, smallMemTable)
}

// watermark returns how many bytes must stay free.
func (d *disk) watermark(usage vfs.DiskUsage) int64 {
	if d.minFree != 0 {
		return d.minFree
	}
	return min(max(int64(usage.TotalBytes/50), 64<<20), 2<<30)
}

// room returns [fault.ErrDiskFull] if a write of bytes would leave less than these quarters of the
// watermark free.
func (d *disk) room(bytes, quarters int64) error {
	if d.minFree < 0 {
		return nil
	}
	usage, err := d.measure()
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("free space of %s: %w", d.dir, err)
	}
	watermark := d.watermark(usage) / 4 * quarters
	if free := int64(usage.AvailBytes); free-bytes < watermark {
		return fmt.Errorf("%w: %d MiB are free under %s and %d MiB are kept free; %d MiB are to be written",
			fault.ErrDiskFull, free>>20, d.dir, watermark>>20, bytes>>20)
	}
	return nil
}

// measure returns the usage of the disk, at most usageAge old.
func (d *disk) measure() (vfs.DiskUsage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); d.checked.IsZero() || now.Sub(d.checked) > usageAge {
		d.usage, d.err = d.fs.GetDiskUsage(d.dir)
		d.checked = now
	}
	return d.usage, d.err
}
