// Temporary files of queries.

package engine

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/sparql/exec/spill"
)

// spillDir makes the temporary files of queries in a directory. They leave a part of its disk free
// (keptFree), because the store may be on the same disk and must go on writing. If a write does not
// fit, the error is [store.ErrDiskFull].
type spillDir struct {
	dir string // "" is the system's directory for temporary files
	// usage returns the usage of a directory's disk; nil is the real one.
	usage func(dir string) (vfs.DiskUsage, error)
}

// lookBytes is the number of bytes written to a file between two looks at its disk.
const lookBytes = 8 << 20

// keptFree returns the bytes left free by temporary files: twice the reserve of a store by default,
// and at most half of the disk.
func keptFree(totalBytes uint64) uint64 {
	return min(max(totalBytes/25, 128<<20), 4<<30, totalBytes/2)
}

func (s spillDir) Create() (spill.File, error) {
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
	// A file without a name ends with the process, whatever happens. If the system cannot remove an
	// open file, Close removes it.
	file.unnamed = os.Remove(f.Name()) == nil
	return file, nil
}

// room returns an error if the disk has no room for more bytes.
func (s spillDir) room(bytes int) error {
	usage, err := s.usage(s.dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("free space of %s: %w", s.dir, err)
	}
	if kept := keptFree(usage.TotalBytes); usage.AvailBytes < kept+uint64(bytes) {
		return fmt.Errorf("%w: %d MiB are free under %s, where queries leave %d MiB free", store.ErrDiskFull, usage.AvailBytes>>20, s.dir, kept>>20)
	}
	return nil
}

type spillFile struct {
	*os.File
	spill   spillDir
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
		err = fmt.Errorf("%w: %w", store.ErrDiskFull, err)
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
