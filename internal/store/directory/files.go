// Durable files and directories.

package directory

import (
	"bytes"
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"
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
