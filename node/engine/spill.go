package engine

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// spill makes the temporary files of queries in a directory. They leave a part of
// its disk free (keptFree), for where the store is on the same disk a query would
// otherwise end its writes. What does not fit is [node.ErrDiskFull].
type spill struct {
	dir string // "" is the system's directory for temporary files
	// usage looks at the disk of a directory; nil is the disk itself.
	usage func(dir string) (vfs.DiskUsage, error)
}

// lookBytes is how much is written to a file from one look at its disk to the next.
const lookBytes = 8 << 20

// keptFree is how much of a disk temporary files leave free: twice what a store
// keeps free of its own by default, and no more than half.
func keptFree(totalBytes uint64) uint64 {
	return min(max(totalBytes/25, 128<<20), 4<<30, totalBytes/2)
}

func (s spill) Create() (exec.SpillFile, error) {
	if s.dir == "" {
		s.dir = os.TempDir()
	}
	if s.usage == nil {
		s.usage = vfs.Default.GetDiskUsage
	}
	f, err := os.CreateTemp(s.dir, "trefoil-query-*")
	if err != nil {
		return nil, err
	}
	file := &spillFile{File: f, spill: s}
	// Without a name it goes with the process, however that ends. Where a system
	// does not let an open file go, Close removes it.
	file.unnamed = os.Remove(f.Name()) == nil
	return file, nil
}

// room returns an error where the disk has no room for so many bytes more.
func (s spill) room(bytes int) error {
	usage, err := s.usage(s.dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("free space of %s: %w", s.dir, err)
	}
	if kept := keptFree(usage.TotalBytes); usage.AvailBytes < kept+uint64(bytes) {
		return fmt.Errorf("%w: %d MiB are free under %s, where queries leave %d MiB free", node.ErrDiskFull, usage.AvailBytes>>20, s.dir, kept>>20)
	}
	return nil
}

type spillFile struct {
	*os.File
	spill   spill
	fits    int // bytes that may be written before the next look at the disk
	unnamed bool
}

func (f *spillFile) Write(p []byte) (int, error) {
	if f.fits < len(p) {
		if err := f.spill.room(lookBytes + len(p)); err != nil {
			return 0, err
		}
		f.fits = lookBytes + len(p)
	}
	n, err := f.File.Write(p)
	f.fits -= n
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w: %w", node.ErrDiskFull, err)
	}
	return n, err
}

func (f *spillFile) Close() error {
	err := f.File.Close()
	if !f.unnamed {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
