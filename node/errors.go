package node

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// What can go wrong with a store. Test with [errors.Is].
var (
	ErrNotFound = errors.New("no such triple")
	ErrReadOnly = errors.New("the store is read-only")
	ErrClosed   = errors.New("the store is closed")
	// ErrDiskFull: a write would take, or has taken, the disk below its watermark
	// of free space, or one that may use the reserve below half of it. Nothing of it
	// was written; reads go on.
	ErrDiskFull = errors.New("the disk is full")
	// ErrLocked: another process, or this one, has the directory open.
	ErrLocked = errors.New("the data directory is in use")
	// ErrVersion: the directory is of another format version, or of something else.
	ErrVersion = errors.New("not a data directory that this program can open")
	// ErrCorrupt: a file does not hold what was written to it.
	ErrCorrupt = errors.New("the store is corrupt")
	// ErrFailed: an earlier write or sync failed, so that it is not known what the
	// disk holds. The store takes no more writes; open it anew.
	ErrFailed = errors.New("the store has failed")
	// ErrBusy: the disk holds up writes, and this one was not begun in time.
	ErrBusy = errors.New("the disk holds up writes")
	// ErrUnknown: a write was begun and did not end in time. It may be done, or be
	// done later.
	ErrUnknown = errors.New("the outcome of the write is unknown")
	// ErrBegun: a request with the same idempotency key has begun before, and is not one
	// whose rest can be done. It is an [ErrUnknown].
	ErrBegun = fmt.Errorf("%w: a request with this key has begun before", ErrUnknown)
	// ErrDone: the change was done before, under the same idempotency key.
	ErrDone = errors.New("the change was done before")
	// ErrTooLarge: a change is larger than its limit. Nothing of it was written.
	ErrTooLarge = errors.New("the change is too large")
	// ErrMember: the data directory belongs to a member of a cluster, whose other
	// members have to know of every write.
	ErrMember = errors.New("the data directory belongs to a member of a cluster")
	// ErrUnavailable: the cluster cannot answer, or not completely, for now.
	ErrUnavailable = errors.New("not available now, try again")
	// ErrLost: rows that are asked for may be gone for good.
	ErrLost = errors.New("lost")
	// ErrInvalid: arguments that are wrong in themselves.
	ErrInvalid = errors.New("invalid argument")
)

// wrap makes of an error of Pebble or of decoding one that says what was being
// done, and is [ErrCorrupt], with the file's name, where data is damaged.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return fmt.Errorf("%s: %w: %s: %w", doing, ErrCorrupt, info.Path, info.Details)
	}
	if pebble.IsCorruptionError(err) || errors.Is(err, triple.ErrCorrupt) {
		return fmt.Errorf("%s: %w: %w", doing, ErrCorrupt, err)
	}
	if errors.Is(err, pebble.ErrReadOnly) {
		return fmt.Errorf("%s: %w", doing, ErrReadOnly)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
