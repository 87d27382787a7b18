// Stores on full disks.

package store

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/triple"
)

// A store crashed and finds its disk full at any file. It opens for writes or returns a
// database.NoRoomError at once. It opens for reads, and is complete when there is room.
func TestOpenOnFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	refused := 0
	for left := range 12 {
		mem := memdisk.New()
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
		var noRoom *database.NoRoomError
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
