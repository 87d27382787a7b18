package node

import (
	"errors"
	"fmt"
	"math"
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

// memTableBytes returns how large memtables may be for the disk: up to four wait for their flush, and
// what they hold must fit on the disk although it is below its watermark. The same
// bounds the write-ahead log, of which Pebble keeps up to five files more for later use.
func (d *disk) memTableBytes() int64 {
	usage, err := d.look()
	if err != nil || d.minFree < 0 {
		return maxMemTableBytes
	}
	return max(d.watermark(usage)/16, smallMemTable)
}

// room returns an error that is [ErrDiskFull] where writing so many bytes would
// take free space below the watermark.
func (d *disk) room(bytes int64) error { return d.roomAbove(bytes, 4) }

// reserve is room for a write that adds nothing, so that a disk that is full can be
// made free, and for one that other machines count on already: half of the watermark
// is for such writes. The other half is for the flushes and compactions by which it
// becomes free.
func (d *disk) reserve(bytes int64) error { return d.roomAbove(bytes, 2) }

// Room says which writes that clients ask for a disk has room for. It is what
// machines tell each other before they stamp an operation, which then has to be
// written whatever the disk says.
type Room uint8

const (
	RoomForAll     Room = iota
	RoomForDeletes      // less is free than the watermark
	RoomForNone         // less than three quarters of it: the rest is for what is on its way
)

// Room tells how much room the store's disk has.
func (s *Store) Room() Room {
	switch {
	case s.health.full.Load(), s.disk.roomAbove(0, 3) != nil:
		return RoomForNone
	case s.disk.room(0) != nil:
		return RoomForDeletes
	}
	return RoomForAll
}

// Spare returns how many bytes are free above the watermark; the greatest number where
// that is not known, or nothing is kept free.
func (s *Store) Spare() int64 {
	usage, err := s.disk.look()
	if err != nil || s.disk.minFree < 0 {
		return math.MaxInt64
	}
	return max(0, int64(usage.AvailBytes)-s.disk.watermark(usage))
}

// watermark returns how many bytes are kept free.
func (d *disk) watermark(usage vfs.DiskUsage) int64 {
	if d.minFree != 0 {
		return d.minFree
	}
	return min(max(int64(usage.TotalBytes/50), 64<<20), 2<<30)
}

// roomAbove is room with so many quarters of the watermark.
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
