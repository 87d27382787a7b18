// The wait for room, and the log of a full disk.

package database

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Wait returns when there is room, or when its context ends.
func TestWaitForRoom(t *testing.T) {
	fs := vfs.NewMem()
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 20, TotalBytes: 1 << 30})
	full := NewNoRoomError(fs, "data", syscall.ENOSPC)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	log := slog.New(slog.DiscardHandler)
	if err := full.Wait(ended, log); !errors.Is(err, context.Canceled) {
		t.Errorf("wait without room: %v", err)
	}
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: uint64(full.Needed), TotalBytes: 1 << 30})
	if err := full.Wait(t.Context(), log); err != nil {
		t.Errorf("wait with room: %v", err)
	}
}

// If a flush repeats an error, it is logged once a minute, as one line.
func TestFullDiskIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	var h health
	h.init(&Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	h.opening.Store(false)
	for range 100 {
		h.backgroundError(syscall.ENOSPC)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}
