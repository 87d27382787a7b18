// The error of a store that cannot be opened on a full disk, and the wait for room.

package database

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// NoRoomError is returned if the disk has no room to recover a store. Recovery needs
// room because the rows of the log must first be written to tables. It is [fault.ErrDiskFull]. Nothing
// is lost. If the store is opened with ReadOnly, it answers reads, because recovery then
// keeps these rows in memory.
type NoRoomError struct {
	Dir    string
	Free   int64 // free bytes; -1 if unknown
	Needed int64 // bytes that must be free
	err    error
	fs     vfs.FS
}

// Error implements error.
func (e *NoRoomError) Error() string {
	free := "not enough space is"
	if e.Free >= 0 {
		free = fmt.Sprintf("%d MiB are", e.Free>>20)
	}
	return fmt.Sprintf("%v: %s free under %s, and the store needs %d MiB to recover: make room (%v)", fault.ErrDiskFull, free, e.Dir, (e.Needed+1<<20-1)>>20, e.err)
}

// Unwrap returns [fault.ErrDiskFull] and the cause.
func (e *NoRoomError) Unwrap() []error { return []error{fault.ErrDiskFull, e.err} }

const (
	// recoverySlack is the room that recovery needs beside the log's size: a manifest, the
	// options, a new log.
	recoverySlack = 8 << 20
	// roomPoll is the time between two measurements of free space, and roomReport the time between
	// two logged errors. After roomReport, Wait also returns if the free space does not show the
	// limit, because the limit is then a quota.
	roomPoll   = time.Second / 2
	roomReport = time.Minute
)

// NewNoRoomError describes err, which opening dir has returned.
func NewNoRoomError(fs vfs.FS, dir string, err error) *NoRoomError {
	e := &NoRoomError{Dir: dir, Free: -1, Needed: recoverySlack, err: err, fs: fs}
	store := fs.PathJoin(dir, directory.StoreName)
	names, _ := fs.List(store)
	for _, name := range names {
		if info, err := fs.Stat(fs.PathJoin(store, name)); err == nil && strings.HasSuffix(name, ".log") {
			e.Needed += info.Size()
		}
	}
	if usage, err := fs.GetDiskUsage(dir); err == nil {
		e.Free = int64(usage.AvailBytes)
		e.Needed = max(e.Needed, e.Free+recoverySlack) // this number was not enough
	}
	return e
}

// Wait returns nil when another attempt to open the store is worthwhile. It logs the error at once
// and every minute.
func (e *NoRoomError) Wait(ctx context.Context, logger *slog.Logger) error {
	logger.Error(e.Error())
	poll, report := time.NewTicker(roomPoll), time.NewTicker(roomReport)
	defer poll.Stop()
	defer report.Stop()
	for {
		usage, err := e.fs.GetDiskUsage(e.Dir)
		if err == nil && int64(usage.AvailBytes) >= e.Needed {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-poll.C:
		case <-report.C:
			if err != nil || e.Free > recoverySlack {
				return nil
			}
			logger.Error(e.Error())
		}
	}
}
