// Files of cells: atomic writing, and opening.

package cell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteFile writes the bytes of a cell to path. If it stops at any moment, path is unchanged or
// is the whole cell: it writes path + ".tmp", syncs it, renames it and syncs the directory. It
// overwrites the temporary file of an earlier stop. Two writers of one path must take turns.
func WriteFile(path string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cell: write %s: %w", path, err)
		}
	}()
	temporary := path + ".tmp"
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	// The data must be durable before the rename, because a stop could otherwise leave a short
	// file.
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return syncDirectory(filepath.Dir(path))
}

func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// OpenFile reads the file at path into memory and opens its cell. If the file is damaged, the
// error wraps ErrCorrupt or ErrVersion.
func OpenFile(path string) (*Cell, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cell: %w", err)
	}
	c, err := Open(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}
