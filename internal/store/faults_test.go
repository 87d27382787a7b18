// Failed writes, full disks, slow disks and crashes.

package store

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// A failed write or sync must never be acknowledged, and nothing may hang. Acknowledged writes
// must be there after a restart.
func TestWriteErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	for _, forever := range []bool{true, false} {
		for stop := 0; stop < 400; stop += 400 / race.Fewer(20) {
			fs := memdisk.New()
			s := openFor(t, fs)
			s.Close()
			faulty, _ := memdisk.FailAt(fs, stop, forever)
			writeUntilFailure(t, fs, faulty, stop)
		}
	}
}

// If no flush succeeds, writes fail soon, although the log can be written: they would wait for a flush forever.
func TestFlushErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
				return memdisk.ErrFailed
			}
			return nil
		})
		s := openFor(t, errorfs.Wrap(memdisk.New(), broken))
		defer s.Close()
		began := time.Now()
		for n := range 1000 {
			if _, err := Add(ctx, s, students(n*100, n*100+100)); err != nil {
				if !errors.Is(err, ErrFailed) || !errors.Is(err, memdisk.ErrFailed) || time.Since(began) > 20*time.Second {
					t.Errorf("write %d failed after %s: %v", n, time.Since(began), err)
				}
				return
			}
		}
		t.Error("no write fails")
	})
}

func openFor(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open("data", Options{FS: fs, MemTableBytes: minMemTableBytes})
	require.NoError(t, err)
	return s
}

func writeUntilFailure(t *testing.T, fs *memdisk.FS, faulty vfs.FS, stop int) {
	t.Helper()
	var fatal atomic.Int64
	s, err := Open("data", Options{FS: faulty, MemTableBytes: minMemTableBytes, OnFatal: func(error) { fatal.Add(1) }})
	var acknowledged []triple.Triple
	if err == nil {
		for n := range 60 {
			batch := students(n*20, n*20+20)
			if _, err := Add(ctx, s, batch); err != nil {
				if !errors.Is(err, ErrFailed) {
					t.Errorf("write %d failed: %v", stop, err)
				}
				break
			}
			acknowledged = append(acknowledged, batch...)
		}
		if err := s.Err(); err != nil {
			await.Condition(t, "OnFatal", func() bool { return fatal.Load() == 1 })
			if _, err := Add(ctx, s, students(0, 1)); !errors.Is(err, ErrFailed) {
				t.Errorf("a write after the failure: %v", err)
			}
			// Reads continue.
			if sn, err := s.Snapshot(); err != nil {
				t.Error(err)
			} else {
				if _, err := sn.Count(ctx, triple.Pattern{}); err != nil {
					t.Error(err)
				}
				sn.Close()
			}
		}
		done := make(chan struct{})
		go func() { s.Close(); close(done) }()
		select {
		case <-done:
		case <-time.After(2 * time.Minute):
			t.Fatalf("write %d failed: Close hangs", stop)
		}
	}
	again := openFor(t, fs.CrashClone(vfs.CrashCloneCfg{}))
	defer again.Close()
	checked(t, again)
	sn := snapshot(t, again)
	for _, tr := range acknowledged {
		if ok, err := sn.Has(ctx, tr); !ok || err != nil {
			t.Fatalf("write %d failed: %s was acknowledged and is not there (%v)", stop, tr, err)
		}
	}
	sn.Close()
}

func TestDiskFull(t *testing.T) {
	fs := vfs.NewMem()
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 10 << 30, TotalBytes: 20 << 30})
	s := openMem(t, Options{FS: fs})
	add(t, s, students(0, 100)...)
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 10 << 20, TotalBytes: 20 << 30})
	await.Condition(t, "the disk is measured", func() bool { return s.db.Free() == 10<<20 })
	if _, err := Add(ctx, s, students(100, 200)); !errors.Is(err, ErrDiskFull) {
		t.Errorf("add: %v", err)
	}
	if _, err := Delete(ctx, s, students(0, 1)); !errors.Is(err, ErrDiskFull) {
		t.Errorf("delete: %v", err)
	}
	if err := s.Sink().Room(1); !errors.Is(err, ErrDiskFull) {
		t.Errorf("room: %v", err)
	}
	if st := s.Status(); st.Error == "" {
		t.Error("the status says nothing of it")
	}
	if r := checked(t, s); r.Triples != 100 {
		t.Errorf("%d triples", r.Triples)
	}
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 10 << 30, TotalBytes: 20 << 30})
	await.Condition(t, "the disk is measured", func() bool { return s.db.Free() == 10<<30 })
	if r := add(t, s, students(100, 200)...); r.Added != 100 {
		t.Errorf("%+v", r)
	}
	if err := s.Sink().Room(8 << 30); err != nil {
		t.Errorf("room for 8 of 10 GiB: %v", err)
	}
	if err := s.Sink().Room(10 << 30); !errors.Is(err, ErrDiskFull) {
		t.Errorf("room for 10 of 10 GiB: %v", err)
	}
}

// Flushes find the disk full, whatever the watermark was: writes are rejected, nothing hangs, and
// writes continue when there is room.
func TestFlushFindsDiskFull(t *testing.T) {
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".sst") {
			return syscall.ENOSPC
		}
		return nil
	}))
	s := openMem(t, Options{FS: fs, MemTableBytes: minMemTableBytes, MinFreeBytes: -1, WriteTimeout: time.Second / 4})
	full.Store(true)
	n := 0
	var err error
	for ; n < 1_000_000 && !errors.Is(err, ErrDiskFull); n += 100 {
		_, err = Add(ctx, s, students(n, n+100))
		if err != nil && !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrDiskFull) { // unknown: the first waiting write, or a slow machine
			t.Fatalf("after %d triples: %v", n, err)
		}
	}
	if _, err := Add(ctx, s, students(n, n+100)); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("the next one: %v", err)
	}
	full.Store(false)
	await.Condition(t, "writes go on", func() bool {
		_, err := Add(ctx, s, students(n, n+100))
		return err == nil
	})
	checked(t, s)
}

// If a store is closed on a full disk, Close ends. Acknowledged writes must be there when there is
// room again.
func TestCloseWhileDiskFull(t *testing.T) {
	var full atomic.Bool
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".sst") {
			return syscall.ENOSPC
		}
		return nil
	}))
	s, err := Open("data", Options{FS: fs, MemTableBytes: minMemTableBytes, MinFreeBytes: -1, WriteTimeout: time.Second / 4})
	require.NoError(t, err)
	s.closeTimeout = 2 * time.Second
	full.Store(true)
	n := 0
	for ; err == nil; n += 100 {
		_, err = Add(ctx, s, students(n, n+100))
	}
	n -= 100
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	s = openMem(t, Options{FS: mem})
	if r := checked(t, s); r.Triples != int64(n) && r.Triples != int64(n+100) {
		t.Errorf("%d triples, %d were acknowledged", r.Triples, n)
	}
}

// The disk does not respond: the writer gets an error in time, and waiting writes can be
// withdrawn.
func TestDiskHangs(t *testing.T) {
	var hang atomic.Bool
	release := make(chan struct{})
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if hang.Load() && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			<-release
		}
		return nil
	}))
	s := openMem(t, Options{FS: fs, WriteTimeout: 50 * time.Millisecond})
	hang.Store(true)
	if _, err := Add(ctx, s, students(0, 1)); !errors.Is(err, ErrUnknown) {
		t.Errorf("add: %v", err)
	}
	mem.TestingSetDiskUsage(vfs.DiskUsage{TotalBytes: 20 << 30}) // a wait for the end of begun writes needs no room
	await.Condition(t, "the disk is full", func() bool { return s.db.Free() == 0 })
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := s.Drain(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("drain, while the write is under way: %v", err)
	}
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(ctx) }()
	hang.Store(false)
	close(release)
	if err := <-drained; err != nil || s.Status().Triples != 1 {
		t.Errorf("drain: %v, and the write is not done", err)
	}
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 10 << 30, TotalBytes: 20 << 30})
	await.Condition(t, "writes go on", func() bool {
		_, err := Add(ctx, s, students(1, 2))
		return err == nil
	})
	if r := checked(t, s); r.Triples != 2 {
		t.Errorf("%d triples", r.Triples)
	}
}

// Acknowledged writes must be there after a crash at any moment, with any part of the unsynced
// data; the orders agree.
func TestCrashes(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	rng := random(t)
	fs := memdisk.New()
	s, err := Open("data", Options{FS: fs, MemTableBytes: minMemTableBytes, MaxSegmentBytes: 256 << 10})
	require.NoError(t, err)
	const writers, batch = 4, 25
	type state struct {
		mu   sync.Mutex
		want map[triple.Triple]bool // acknowledged: there, or not
		busy map[triple.Triple]bool // in progress: either
	}
	states := make([]*state, writers)
	stop := make(chan struct{})
	var wait sync.WaitGroup
	var steps atomic.Int64
	// Each step takes a token, because writes must be slow during the check of a clone.
	const ahead = 8
	tokens, given := make(chan struct{}, 100), int64(0)
	for w := range writers {
		st := &state{want: map[triple.Triple]bool{}, busy: map[triple.Triple]bool{}}
		states[w] = st
		rng := rand.New(rand.NewPCG(rng.Uint64(), 0))
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-tokens:
				}
				var triples []triple.Triple
				for range batch {
					tr := small(rng)
					tr.Subject = iri("writer%d/s%d", w, rng.IntN(40))
					triples = append(triples, tr)
				}
				add := rng.IntN(3) > 0
				st.mu.Lock()
				for _, tr := range triples {
					st.busy[tr] = true
				}
				st.mu.Unlock()
				var err error
				switch {
				case add:
					_, err = Add(ctx, s, triples)
				default:
					_, err = Delete(ctx, s, triples)
				}
				if err == nil && add && rng.IntN(4) == 0 {
					err = Annotate(ctx, s, triples[0], "app", []byte("x"))
				}
				if err != nil {
					t.Error(err)
					return
				}
				st.mu.Lock()
				for _, tr := range triples {
					st.want[tr] = add
				}
				clear(st.busy)
				st.mu.Unlock()
				steps.Add(1)
			}
		})
	}
	for crash := range race.Fewer(10) {
		for range ahead + rng.IntN(40) {
			tokens <- struct{}{}
			given++
		}
		await.Condition(t, "steps", func() bool { return steps.Load() >= given-ahead || t.Failed() })
		// A write that is acknowledged now must be in the clone, unless it is written again while
		// the clone is made.
		want := map[triple.Triple]bool{}
		for _, st := range states {
			st.mu.Lock()
			maps.Copy(want, st.want)
		}
		after := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		for _, st := range states {
			for tr := range st.busy {
				delete(want, tr)
			}
			st.mu.Unlock()
		}
		again, err := Open("data", Options{FS: after})
		if err != nil {
			t.Fatalf("crash %d: %v", crash, err)
		}
		checked(t, again)
		sn := snapshot(t, again)
		for tr, there := range want {
			if ok, err := sn.Has(ctx, tr); err != nil || ok != there {
				t.Errorf("crash %d: %s there: %v (%v), acknowledged: %v", crash, tr, ok, err, there)
			}
		}
		sn.Close()
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wait.Wait()
	checked(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("%d batches", steps.Load())
}
