package cluster

import (
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// rejoinFile is left by [SetAside], below the data directory: addresses of
// members, one a line, that a machine which is new again is to join.
const rejoinFile = "REJOIN"

// rejoin reads that file.
func readRejoin(fs vfs.FS, dir string) ([]string, error) {
	f, err := fs.Open(filepath.Join(dir, rejoinFile))
	if oserror.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return strings.Fields(string(b)), errors.Join(err, f.Close())
}

func writeRejoin(fs vfs.FS, dir string, addresses []string) error {
	f, err := fs.Create(filepath.Join(dir, rejoinFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, strings.Join(addresses, "\n")+"\n")
	return errors.Join(err, f.Sync(), f.Close(), syncDir(fs, dir))
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
