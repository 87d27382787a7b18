// The check of a database's files before it is opened.

package synced

import (
	"fmt"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// Check compares the manifest of the database in dir, and each log that Pebble will read, with its
// synced length. If the records end before it, Check returns an error that wraps
// [pebble.ErrCorruption] and names the file. It changes nothing. A directory without a database is
// valid. Check must run before the database is opened, because opening deletes tables and logs.
func Check(fs vfs.FS, dir string) error {
	base, err := atomicfs.ReadMarker(fs, dir, "manifest")
	if oserror.IsNotExist(err) || err == nil && base == "" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the manifest of %s: %w", dir, err)
	}
	firstLog, err := checkManifest(fs, fs.PathJoin(dir, base), base)
	if err != nil {
		return err
	}
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("find the logs of %s: %w", dir, err)
	}
	for _, name := range names {
		// Logs before the first one wait for their removal or reuse.
		if number, _, ok := wal.ParseLogFilename(name); ok && uint64(number) >= firstLog {
			if err := checkLog(fs, fs.PathJoin(dir, name), name, uint32(number)); err != nil {
				return err
			}
		}
	}
	return nil
}
