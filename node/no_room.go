// This file holds the error of a store that cannot be opened for lack of room on
// its disk, and the wait until there is room.

package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// NoRoomError is returned by [Open] if the disk has no room to recover a store: the
// rows of its log have to be written to tables first. It is [ErrDiskFull]. Nothing is
// lost. Opened with Options.ReadOnly the store answers reads, because recovery then
// keeps these rows in memory.
type NoRoomError struct {
	Dir    string
	Free   int64 // bytes that were free; -1 if that is not known
	Needed int64 // bytes that have to be free
	err    error
	fs     vfs.FS
}

// Error implements error.
func (e *NoRoomError) Error() string {
	free := "not enough space is"
	if e.Free >= 0 {
		free = fmt.Sprintf("%d MiB are", e.Free>>20)
	}
	return fmt.Sprintf("%v: %s free under %s, and the store needs %d MiB to recover: make room (%v)", ErrDiskFull, free, e.Dir, (e.Needed+1<<20-1)>>20, e.err)
}

// Unwrap returns the errors that it is.
func (e *NoRoomError) Unwrap() []error { return []error{ErrDiskFull, e.err} }

const (
	// recoverySlack is what recovery needs beside the log's size: a manifest, the
	// options, a new log.
	recoverySlack = 8 << 20
	// roomPoll is how often a waiting process looks for room, and roomReport how often
	// it reports that there is none. After roomReport it also tries again if the free
	// space does not show the limit, because that is a quota.
	roomPoll   = time.Second / 2
	roomReport = time.Minute
)

// newNoRoomError describes err, with which dir could not be opened.
func newNoRoomError(fs vfs.FS, dir string, err error) *NoRoomError {
	e := &NoRoomError{Dir: dir, Free: -1, Needed: recoverySlack, err: err, fs: fs}
	store := fs.PathJoin(dir, storeName)
	names, _ := fs.List(store)
	for _, name := range names {
		if info, err := fs.Stat(fs.PathJoin(store, name)); err == nil && strings.HasSuffix(name, ".log") {
			e.Needed += info.Size()
		}
	}
	if usage, err := fs.GetDiskUsage(dir); err == nil {
		e.Free = int64(usage.AvailBytes)
		e.Needed = max(e.Needed, e.Free+recoverySlack) // so much was not enough
	}
	return e
}

// Wait returns nil when opening the store is worth another attempt. It logs the error
// now and once a minute.
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

// IsDiskFull reports whether err, of this package or of a file, says that the disk is full.
func IsDiskFull(err error) bool { return errors.Is(err, ErrDiskFull) || isFull(err) }
