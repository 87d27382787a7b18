// The errors of stores and clusters.

package store

import (
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
