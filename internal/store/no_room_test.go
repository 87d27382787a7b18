// Stores on full disks.

package store

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/triple"
)

// A store crashed and finds its disk full at any file. It opens for writes or returns a
// NoRoomError at once. It opens for reads, and is complete when there is room.
func TestOpenOnFullDisk(t *testing.T) {
	refused := 0
	for left := range 12 {
		mem := vfs.NewCrashableMem()
		s, err := Open("data", Options{FS: mem, MemTableBytes: minMemTableBytes, MinFreeBytes: -1})
		if err != nil {
			t.Fatal(err)
		}
		const acknowledged = 400
		for i := 0; i < acknowledged; i += 50 {
			add(t, s, students(i, i+50)...)
		}
		crashed := mem.CrashClone(vfs.CrashCloneCfg{})
		s.Close()

		// 1. This number of writes finds room, and no more.
		var writes atomic.Int64
		full := errorfs.Wrap(crashed, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileWrite && writes.Add(1) > int64(left) {
				return syscall.ENOSPC
			}
			return nil
		}))
		begun := time.Now()
		s, err = Open("data", Options{FS: full, MinFreeBytes: -1})
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%d writes: Open took %s", left, took)
		}
		var noRoom *NoRoomError
		switch {
		case err == nil:
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		case errors.As(err, &noRoom) && errors.Is(err, ErrDiskFull) && strings.Contains(err.Error(), "make room"):
			refused++
		default:
			t.Fatalf("%d writes: %v", left, err)
		}

		// 2. Reads need no room.
		if s, err = Open("data", Options{FS: full, ReadOnly: true}); err != nil {
			t.Fatalf("%d writes, to read only: %v", left, err)
		}
		sn := snapshot(t, s)
		if n, err := sn.Count(ctx, triple.Pattern{}); n != acknowledged || err != nil {
			t.Errorf("%d writes, to read only: %d triples, %v", left, n, err)
		}
		sn.Close()
		s.Close()

		// 3. Now there is room.
		s = openFor(t, crashed)
		if r := checked(t, s); r.Triples != acknowledged {
			t.Errorf("%d writes: %d triples", left, r.Triples)
		}
		add(t, s, students(acknowledged, acknowledged+1)...)
		s.Close()
	}
	if refused == 0 {
		t.Error("the disk was never full")
	}
}

// Wait returns when there is room, or when its context ends.
func TestWaitForRoom(t *testing.T) {
	fs := vfs.NewMem()
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 20, TotalBytes: 1 << 30})
	full := newNoRoomError(fs, "data", syscall.ENOSPC)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	log := slog.New(slog.DiscardHandler)
	if err := full.Wait(ended, log); !errors.Is(err, context.Canceled) {
		t.Errorf("wait without room: %v", err)
	}
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: uint64(full.Needed), TotalBytes: 1 << 30})
	if err := full.Wait(ctx, log); err != nil {
		t.Errorf("wait with room: %v", err)
	}
}

// If a flush repeats an error, it is logged once a minute, as one line.
func TestFullDiskIsLoggedOnce(t *testing.T) {
	var log strings.Builder
	var h health
	h.init(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	h.opening.Store(false)
	for range 100 {
		h.backgroundError(syscall.ENOSPC)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}
