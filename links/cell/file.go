// Files of cells: atomic writing, and opening.

package cell

import (
	"fmt"
	"os"

	"github.com/trefoildb/trefoil/internal/atomicfile"
)

// WriteFile writes the bytes of a cell to path. If it stops at any moment, path is unchanged or
// is the whole cell: it writes path + ".new", syncs it, renames it and syncs the directory. It
// overwrites the temporary file of an earlier stop. Two writers of one path must take turns.
func WriteFile(path string, data []byte) error {
	if err := atomicfile.Write(path, 0o644, data); err != nil {
		return fmt.Errorf("cell: write %s: %w", path, err)
	}
	return nil
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
