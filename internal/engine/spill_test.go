// Temporary files leave room on the disk.

package engine

import (
	"errors"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
)

// TestSpillLeavesRoom: temporary files end before the disk is full, with an error
// that says so, and leave nothing behind.
func TestSpillLeavesRoom(t *testing.T) {
	dir := t.TempDir()
	disk := vfs.DiskUsage{TotalBytes: 10 << 30, AvailBytes: 1 << 30}
	s := spillDir{dir: dir, usage: func(at string) (vfs.DiskUsage, error) {
		if at != dir {
			t.Errorf("looked at the disk of %q", at)
		}
		return disk, nil
	}}
	f, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	if _, err := f.Write(block); err != nil {
		t.Fatalf("with room: %v", err)
	}
	disk.AvailBytes = keptFree(disk.TotalBytes) - 1 // another query has written
	written := 0
	for err == nil && written < 100<<20 {
		var n int
		n, err = f.Write(block)
		written += n
	}
	if !errors.Is(err, store.ErrDiskFull) || written > lookBytes {
		t.Errorf("without room: %d MiB written, %v", written>>20, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestSpillKeepsMoreThanTheStore: what queries leave free is enough for the store
// to go on writing (store.Options.MinFreeBytes), on disks of all sizes.
func TestSpillKeepsMoreThanTheStore(t *testing.T) {
	for _, total := range []uint64{200 << 20, 1 << 30, 10 << 30, 100 << 30, 10 << 40} {
		store := min(max(total/50, 64<<20), 2<<30)
		if kept := keptFree(total); kept <= store || kept > total/2 {
			t.Errorf("of %d MiB queries leave %d MiB, the store %d MiB", total>>20, kept>>20, store>>20)
		}
	}
}
