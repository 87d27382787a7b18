// Durable files and directories.

package directory

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/atomicfile"
)

// Make makes dir and its missing parents, so that they exist after a crash.
func Make(fs vfs.FS, dir string) error {
	var above []string
	for at := dir; ; {
		if _, err := fs.Stat(at); err == nil {
			break
		}
		parent := fs.PathDir(at)
		if parent == at {
			break
		}
		above = append(above, parent)
		at = parent
	}
	if len(above) == 0 {
		return nil
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, parent := range above {
		if err := Sync(fs, parent); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile writes and syncs a file. The caller must sync the directory.
func WriteFile(fs vfs.FS, path string, data []byte) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(bytes.Clone(data)) // a file may change its argument
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Sync makes the names in dir durable.
func Sync(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Replace makes path a file with data, durably. After a stop it is the old file or the new one.
func Replace(fs vfs.FS, path string, data []byte) error {
	return atomicfile.Replace(files{fs}, path, 0o644, func(w io.Writer) error {
		_, err := w.Write(bytes.Clone(data)) // a file may change its argument
		return err
	})
}

// Rename renames a file or directory durably. What it holds must be durable.
func Rename(fs vfs.FS, from, to string) error {
	if err := fs.Rename(from, to); err != nil {
		return err
	}
	return Sync(fs, fs.PathDir(to))
}

// files is the file system of package atomicfile on one of Pebble.
type files struct{ vfs.FS }

func (f files) Create(path string, _ os.FileMode) (atomicfile.File, error) {
	return f.FS.Create(path, vfs.WriteCategoryUnspecified)
}

func (f files) SyncDir(path string) error { return Sync(f.FS, f.PathDir(path)) }
