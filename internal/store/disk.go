// The free space of a store's disk.

package store

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk measures the free space of a store's disk.
type disk struct {
	fs      vfs.FS
	dir     string
	minFree int64 // see Options.MinFreeBytes

	mu      sync.Mutex
	checked time.Time
	usage   vfs.DiskUsage
	err     error
}

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
	usage, err := d.look()
	if err != nil || d.minFree < 0 {
		return maxMemTableBytes
	}
	return max(d.watermark(usage)/16, smallMemTable)
}

// room returns [ErrDiskFull] if a write of bytes would take free space below the watermark.
func (d *disk) room(bytes int64) error { return d.roomAbove(bytes, 4) }

// reserve is room for writes that may use half of the watermark. These are writes without adds,
// because they can free space, and writes that other machines count on. The other half must stay
// for the flushes and compactions that free space.
func (d *disk) reserve(bytes int64) error { return d.roomAbove(bytes, 2) }

// Room is the kind of client writes that a disk has room for. Machines send it to each other
// before they stamp an operation, because a stamped operation must be written on any disk.
type Room uint8

const (
	RoomForAll     Room = iota
	RoomForDeletes      // less than the watermark is free
	RoomForNone         // less than three quarters of it: the rest is for operations in flight
)

// Room returns how much room the store's disk has.
func (s *Store) Room() Room {
	switch {
	case s.health.full.Load(), s.disk.roomAbove(0, 3) != nil:
		return RoomForNone
	case s.disk.room(0) != nil:
		return RoomForDeletes
	}
	return RoomForAll
}

// Spare returns how many bytes are free above the watermark. If this is unknown, or nothing is
// kept free, it returns the maximum.
func (s *Store) Spare() int64 {
	usage, err := s.disk.look()
	if err != nil || s.disk.minFree < 0 {
		return math.MaxInt64
	}
	return max(0, int64(usage.AvailBytes)-s.disk.watermark(usage))
}

// watermark returns how many bytes must stay free.
func (d *disk) watermark(usage vfs.DiskUsage) int64 {
	if d.minFree != 0 {
		return d.minFree
	}
	return min(max(int64(usage.TotalBytes/50), 64<<20), 2<<30)
}

// roomAbove is room for quarters of the watermark.
func (d *disk) roomAbove(bytes, quarters int64) error {
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
	watermark := d.watermark(usage) / 4 * quarters
	if free := int64(usage.AvailBytes); free-bytes < watermark {
		return fmt.Errorf("%w: %d MiB are free under %s and %d MiB are kept free; %d MiB are to be written",
			ErrDiskFull, free>>20, d.dir, watermark>>20, bytes>>20)
	}
	return nil
}

// look returns the usage of the disk, at most usageAge old.
func (d *disk) look() (vfs.DiskUsage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); d.checked.IsZero() || now.Sub(d.checked) > usageAge {
		d.usage, d.err = d.fs.GetDiskUsage(d.dir)
		d.checked = now
	}
	return d.usage, d.err
}
