// A file system whose writes fail.

package memdisk

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// ErrFailed is the error of a write that fails.
var ErrFailed = errors.New("the disk is on fire")

// FailAt returns a file system that fails at its n-th write operation, and if forever is set, at
// all later ones. The counter returns how many there were.
func FailAt(fs vfs.FS, n int, forever bool) (vfs.FS, *atomic.Int64) {
	count := new(atomic.Int64)
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		at := count.Add(1) - 1
		if at == int64(n) || forever && at > int64(n) {
			return fmt.Errorf("%w: %s %s", ErrFailed, op.Path, time.Now().Format("05.000"))
		}
		return nil
	})), count
}
