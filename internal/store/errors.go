// The errors of stores and clusters.

package store

import (
	"fmt"

	"github.com/trefoildb/trefoil/internal/store/fault"
)

// Errors of a store. Test with [errors.Is]. Package fault describes them.
var (
	ErrNotFound    = fault.ErrNotFound
	ErrReadOnly    = fault.ErrReadOnly
	ErrClosed      = fault.ErrClosed
	ErrDiskFull    = fault.ErrDiskFull
	ErrLocked      = fault.ErrLocked
	ErrVersion     = fault.ErrVersion
	ErrCorrupt     = fault.ErrCorrupt
	ErrBackup      = fault.ErrBackup
	ErrFailed      = fault.ErrFailed
	ErrBusy        = fault.ErrBusy
	ErrUnknown     = fault.ErrUnknown
	ErrBegun       = fault.ErrBegun
	ErrDone        = fault.ErrDone
	ErrTooLarge    = fault.ErrTooLarge
	ErrMember      = fault.ErrMember
	ErrUnavailable = fault.ErrUnavailable
	ErrLost        = fault.ErrLost
	ErrInvalid     = fault.ErrInvalid
	ErrRejected    = fault.ErrRejected
)

// ErrOldRelease means that a member of the cluster has an older release, which cannot decode triple terms.
// It wraps [ErrUnavailable], because the upgrade of that member mends it.
var ErrOldRelease = fmt.Errorf("%w: a member of the cluster has an older release, which does not know triple terms: upgrade it", ErrUnavailable)
