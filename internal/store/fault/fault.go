// The errors of a store, and the wrapping of Pebble's.

// Package fault has the errors of a store. Package store exports them to its callers; packages
// below it use them from here.
package fault

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// Errors of a store. Test with [errors.Is].
var (
	ErrNotFound = errors.New("no such triple")
	ErrReadOnly = errors.New("the store is read-only")
	ErrClosed   = errors.New("the store is closed")
	// ErrDiskFull: a write was rejected, because the disk has too little free space for it. Nothing
	// of it was written; reads continue.
	ErrDiskFull = errors.New("the disk is full")
	// ErrLocked: another process, or this one, has opened the directory.
	ErrLocked = errors.New("the data directory is in use")
	// ErrVersion: the directory has another format version, or is no data directory.
	ErrVersion = errors.New("not a data directory that this program can open")
	// ErrCorrupt: a file differs from the data that was written.
	ErrCorrupt = errors.New("the store is corrupt")
	// ErrBackup: an archive is no backup, or differs from the one that was written. The store is well.
	ErrBackup = errors.New("the backup cannot be used")
	// ErrFailed: an earlier write or sync failed, so the contents of the disk are unknown. The
	// store rejects all writes and must be opened again.
	ErrFailed = errors.New("the store has failed")
	// ErrBusy: the disk blocks writes, and this one did not begin in time.
	ErrBusy = errors.New("the disk holds up writes")
	// ErrUnknown: a write began and did not end in time. It may be done, now or later.
	ErrUnknown = errors.New("the outcome of the write is unknown")
	// ErrBegun: a request with the same idempotency key began before, and its rest cannot be done.
	// It is an [ErrUnknown].
	ErrBegun = fmt.Errorf("%w: a request with this key has begun before", ErrUnknown)
	// ErrDone: the change was done before, under the same idempotency key.
	ErrDone = errors.New("the change was done before")
	// ErrTooLarge: a change is larger than its limit. Nothing of it was written.
	ErrTooLarge = errors.New("the change is too large")
	// ErrMember: the data directory belongs to a member of a cluster. The other members must take
	// part in every write.
	ErrMember = errors.New("the data directory belongs to a member of a cluster")
	// ErrUnavailable: the cluster cannot answer, or not completely, for now.
	ErrUnavailable = errors.New("not available now, try again")
	// ErrSnapshotTooOld: the rows of the state that a reader shows are not kept any more. A new reader shows the
	// present state. It is an [ErrUnavailable].
	ErrSnapshotTooOld = fmt.Errorf("%w: the rows of the state that was read first are not kept any more, so there is no answer of one state", ErrUnavailable)
	// ErrLost: requested rows may be lost for good.
	ErrLost = errors.New("lost")
	// ErrInvalid: an argument is invalid.
	ErrInvalid = errors.New("invalid argument")
	// ErrRejected: an update function that checks changes has rejected this one. Nothing was done.
	ErrRejected = errors.New("a check has rejected the change")
)

// Wrap adds the current action to an error of Pebble or of decoding. If data is damaged, the
// result is [ErrCorrupt] with the file's name. If err is nil, it returns nil.
func Wrap(doing string, err error) error {
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

// IsDiskFull reports whether err, of a store or of a file, means that the disk is full.
func IsDiskFull(err error) bool {
	return errors.Is(err, ErrDiskFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// errShort replaces the end of an archive in errors, because io.EOF means that a server hung up.
var errShort = errors.New("it ends too early")

// Backup returns an ErrBackup that says what is wrong with an archive.
func Backup(format string, args ...any) error {
	for i, a := range args {
		if err, ok := a.(error); ok && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
			args[i] = errShort
		}
	}
	return fmt.Errorf("%w: %w", ErrBackup, fmt.Errorf(format, args...))
}
