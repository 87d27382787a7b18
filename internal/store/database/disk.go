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

// disk measures the free space of a store's disk, and counts what accepted writes are going to
// take:
//
//	left = free - owed - granted - ended
//
// free and owed are measured together, at most once per usageAge. All that was granted since then
// counts in full, because an old measurement must not make room. A write is refused only by a new
// measurement, because much of what was granted may be on the disk by then, or have taken less.
type disk struct {
	fs      vfs.FS
	dir     string
	minFree int64 // see [Options]

	mu      sync.Mutex
	pending func() (owed, backlog int64) // nil if no database is open
	checked time.Time
	usage   vfs.DiskUsage
	err     error
	owed    int64 // bytes that accepted writes were going to take when usage was measured
	backlog int64 // bytes that the compaction of a deep level 0 would take then; else 0
	granted int64 // bytes of claims that have not ended
	ended   int64 // bytes of claims that ended after usage was measured
}

// smallMemTable is the size of memtables that any disk must have room for.
const smallMemTable = 4 << 20

// usageAge is how long a measurement is valid. It misses only the writes of other programs.
const usageAge = 100 * time.Millisecond

// slack is the room that a write must leave above its limit, because a log is allocated ahead and
// files take whole blocks.
const slack = logAhead

func (d *disk) init(fs vfs.FS, dir string, minFree int64) {
	d.fs, d.dir, d.minFree = fs, dir, minFree
}

// memTableBytes returns the maximum size of memtables for the disk. Up to four wait for their
// flush, and their rows must fit on the disk even below its watermark. The same value limits the
// write-ahead log, because Pebble keeps up to five more log files for reuse.
func (d *disk) memTableBytes() int64 {
	usage, err := d.free()
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

// claim grants a write of bytes, until release. It returns [fault.ErrDiskFull] if the write would
// leave less than these quarters of the watermark free.
func (d *disk) claim(bytes, quarters int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.fits(bytes, quarters)
	if err == nil {
		d.granted += bytes
	}
	return err
}

// release ends a claim. Its bytes are on the disk now, or owed, or were not written.
func (d *disk) release(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.granted -= bytes
	d.ended += bytes
}

// room is claim without a claim.
func (d *disk) room(bytes, quarters int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fits(bytes, quarters)
}

// backlogRoom is room for the compaction of a deep level 0.
func (d *disk) backlogRoom() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.minFree < 0 {
		return nil
	}
	if d.measure(usageAge); d.backlog > 0 {
		d.measure(0) // because compactions may have made it smaller
	}
	if d.backlog == 0 {
		return nil
	}
	return d.fits(d.backlog, 4)
}

// fits implements claim. The caller holds mu.
func (d *disk) fits(bytes, quarters int64) error {
	if d.minFree < 0 {
		return nil
	}
	d.measure(usageAge)
	kept := d.watermark(d.usage) / 4 * quarters
	left := func() int64 {
		if quarters < 4 {
			// The part of the watermark that is used has room for what is owed. So deletes are taken while it is free.
			return d.left() + d.owed
		}
		return d.left()
	}
	if d.err == nil && left()-bytes < kept+slack {
		d.measure(0)
	}
	if errors.Is(d.err, vfs.ErrUnsupported) {
		return nil
	}
	if d.err != nil {
		return fmt.Errorf("free space of %s: %w", d.dir, d.err)
	}
	if left := left(); left-bytes < kept+slack {
		free := int64(d.usage.AvailBytes)
		return fmt.Errorf("%w: %d MiB are free under %s, %d MiB of them for accepted writes, and %d MiB are kept free; %d MiB are to be written",
			fault.ErrDiskFull, free>>20, d.dir, (free-left)>>20, kept>>20, max(bytes, 0)>>20)
	}
	return nil
}

// left returns the free bytes that no accepted write is going to take. The caller holds mu.
func (d *disk) left() int64 { return int64(d.usage.AvailBytes) - d.owed - d.granted - d.ended }

// spare returns the part of left that is above the watermark. If this is unknown, or nothing is
// kept free, it returns the maximum.
func (d *disk) spare() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.measure(usageAge); d.err != nil || d.minFree < 0 {
		return math.MaxInt64
	}
	return max(0, d.left()-d.watermark(d.usage))
}

// free returns the usage of the disk, at most usageAge old.
func (d *disk) free() (vfs.DiskUsage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.measure(usageAge)
	return d.usage, d.err
}

// measure measures the disk if the last measurement is of this age or older. The caller holds mu.
func (d *disk) measure(age time.Duration) {
	if time.Since(d.checked) < age {
		return
	}
	// Read what is pending first. Bytes that reach the disk in between count twice then; in the
	// other order they would not count at all.
	d.owed, d.backlog, d.ended = 0, 0, 0
	if d.pending != nil {
		d.owed, d.backlog = d.pending()
	}
	d.usage, d.err = d.fs.GetDiskUsage(d.dir)
	d.checked = time.Now()
}

// expire makes the last measurement invalid.
func (d *disk) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.checked = time.Time{}
}

// follow sets the function that returns the pending bytes. When it returns, no earlier one runs.
func (d *disk) follow(pending func() (owed, backlog int64)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending, d.checked = pending, time.Time{}
}
