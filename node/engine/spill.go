package engine

import (
	"errors"
	"os"

	"github.com/trefoildb/trefoil/sparql/exec"
)

// spill makes the temporary files of queries in a directory.
type spill struct{ dir string }

func (s spill) Create() (exec.SpillFile, error) {
	f, err := os.CreateTemp(s.dir, "trefoil-query-*")
	if err != nil {
		return nil, err
	}
	file := &spillFile{File: f}
	// Without a name it goes with the process, however that ends. Where a system
	// does not let an open file go, Close removes it.
	file.unnamed = os.Remove(f.Name()) == nil
	return file, nil
}

type spillFile struct {
	*os.File
	unnamed bool
}

func (f *spillFile) Close() error {
	err := f.File.Close()
	if !f.unnamed {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
