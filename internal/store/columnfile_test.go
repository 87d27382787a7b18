// The file of the columns: restarts, damage and crashes.

package store

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/triple"
)

// logText is a log that a test reads.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), part)
}

// openColumned opens a store with columns, and its log.
func openColumned(t *testing.T, fs vfs.FS) (*Store, *logText) {
	t.Helper()
	l := &logText{}
	s, err := Open("data", Options{FS: fs, ColumnBytes: 1 << 20, Logger: slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	require.NoError(t, err)
	return s, l
}

// addColumned adds random triples to a store, and returns when its columns have them and their file is written.
func addColumned(t *testing.T, s *Store, n int) {
	t.Helper()
	random := random(t)
	for range n {
		if _, err := Add(t.Context(), s, []triple.Triple{columnTriple(random), columnTriple(random)}); err != nil {
			t.Fatal(err)
		}
	}
	untilColumns(t, s, columnPredicates[0])
	await.Condition(t, "no build runs", s.columns.Idle)
}

// checkAndClose compares the columns of a store with its rows, changes it, compares again, and closes it.
func checkAndClose(t *testing.T, s *Store) {
	t.Helper()
	random := random(t)
	for range 3 {
		untilColumns(t, s, columnPredicates[1])
		sn, err := s.Snapshot()
		require.NoError(t, err)
		if checkColumns(t, sn) == 0 {
			t.Error("no columns")
		}
		require.NoError(t, sn.Close())
		if _, err := Add(t.Context(), s, []triple.Triple{columnTriple(random)}); err != nil {
			t.Fatal(err)
		}
		if _, err := Delete(t.Context(), s, []triple.Triple{columnTriple(random), columnTriple(random)}); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, s.Close())
}

// A store has its columns right after the start, with what has changed since they were written, by a
// process without columns, too.
func TestColumnFile(t *testing.T) {
	fs := memdisk.New()
	s, l := openColumned(t, fs)
	addColumned(t, s, 50)
	require.NoError(t, s.Close())
	if !l.has("columns are built") {
		t.Error("nothing was built")
	}
	s, err := Open("data", Options{FS: fs})
	require.NoError(t, err)
	if _, err := Add(t.Context(), s, []triple.Triple{{Subject: columnPredicates[0], Predicate: columnPredicates[1], Object: columnPredicates[2]}}); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, s.Close())
	s, l = openColumned(t, fs)
	checkAndClose(t, s)
	if !l.has("columns are read from their file") || l.has("columns are built") {
		t.Errorf("the columns were not read:\n%s", l.text.String())
	}
}

// Any changed bit and any missing end is noticed: the columns are built anew, and have the rows.
func TestColumnFileDamage(t *testing.T) {
	random := random(t)
	fs := memdisk.New()
	s, _ := openColumned(t, fs)
	addColumned(t, s, 50)
	require.NoError(t, s.Close())
	path := fs.PathJoin("data", columnFileName)
	whole := readFile(t, fs, path)
	step := 1 + len(whole)/race.Fewer(400)
	for at := 0; at < len(whole); at += 1 + random.IntN(step) {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1 << random.IntN(8)
		if random.IntN(8) == 0 {
			damaged = whole[:at]
		}
		clone := fs.CrashClone(vfs.CrashCloneCfg{})
		require.NoError(t, directory.WriteFile(clone, path, damaged))
		s, l := openColumned(t, clone)
		checkAndClose(t, s)
		if !l.has("the columns are built anew") {
			t.Fatalf("a file of %d bytes, changed at %d, was not noticed:\n%s", len(damaged), at, l.text.String())
		}
	}
}

// A file that another state of the database has written is not read, though it has the same positions.
func TestColumnFileOfAnotherState(t *testing.T) {
	fs := memdisk.New()
	s, _ := openColumned(t, fs)
	addColumned(t, s, 20)
	earlier := fs.CrashClone(vfs.CrashCloneCfg{})
	addColumned(t, s, 20)
	sn, err := s.Snapshot()
	require.NoError(t, err)
	set, err := columns.Build(t.Context(), sn.Source(), 1<<20)
	require.NoError(t, err)
	at, err := sn.position()
	require.NoError(t, err)
	require.NoError(t, s.ColumnFile().Keep(t.Context(), set, at))
	require.NoError(t, sn.Close())
	require.NoError(t, s.Close())
	// The earlier database goes on with other triples, beside the new file.
	path := fs.PathJoin("data", columnFileName)
	s, err = Open("data", Options{FS: earlier})
	require.NoError(t, err)
	random := random(t)
	for range 60 {
		if _, err := Add(t.Context(), s, []triple.Triple{columnTriple(random)}); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, s.Close())
	require.NoError(t, directory.WriteFile(earlier, path, readFile(t, fs, path)))
	s, l := openColumned(t, earlier)
	checkAndClose(t, s)
	if !l.has("the columns are built anew") {
		t.Errorf("the file was read:\n%s", l.text.String())
	}
}

// The disk may lose power before every write while columns are built and kept. After the start they have the
// rows.
func TestColumnFileCrashes(t *testing.T) {
	random := random(t)
	fs := memdisk.New()
	var clones []*memdisk.FS
	var watch atomic.Bool
	var mu sync.Mutex // Pebble writes from several goroutines
	faulty := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if watch.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			clones = append(clones, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random}))
		}
		return nil
	}))
	s, err := Open("data", Options{FS: faulty})
	require.NoError(t, err)
	for range 50 {
		if _, err := Add(t.Context(), s, []triple.Triple{columnTriple(random)}); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, s.Close())
	s, _ = openColumned(t, faulty)
	watch.Store(true)
	addColumned(t, s, 1)
	sn, err := s.Snapshot()
	require.NoError(t, err)
	at, err := sn.position()
	require.NoError(t, err)
	set, err := columns.Build(t.Context(), sn.Source(), 1<<20)
	require.NoError(t, err)
	for range 2 { // an old file is there
		require.NoError(t, s.ColumnFile().Keep(t.Context(), set, at))
	}
	watch.Store(false)
	require.NoError(t, errors.Join(sn.Close(), s.Close()))
	read := 0
	for _, clone := range clones {
		s, l := openColumned(t, clone)
		checkAndClose(t, s)
		if l.has("columns are read from their file") {
			read++
		}
	}
	t.Logf("%d crashes, after %d of them the file was read", len(clones), read)
	if read == 0 || read == len(clones) {
		t.Error("not a test")
	}
}

// A reader of the file ends with its context, because Close waits for it, and that is no fault of the file.
func TestColumnFileCancelled(t *testing.T) {
	fs := memdisk.New()
	s, _ := openColumned(t, fs)
	addColumned(t, s, 10)
	ctx, cancel := context.WithCancel(t.Context())
	if _, _, err := s.ColumnFile().Read(ctx, 1<<20); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, _, err := s.ColumnFile().Read(ctx, 1<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("a read that was given up: %v", err)
	}
	require.NoError(t, s.Close())
	for range 20 {
		s, l := openColumned(t, fs)
		require.NoError(t, s.Close())
		if l.has("the columns are built anew") {
			t.Fatalf("a start that ends at once says:\n%s", l.text.String())
		}
	}
}

// If the disk is full while columns are kept, Close ends, and all that was acknowledged is there.
func TestColumnFileOnFullDisk(t *testing.T) {
	var full atomic.Bool
	hold, written := make(chan struct{}), make(chan struct{})
	var once sync.Once
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch {
		case op.Kind == errorfs.OpCreate && strings.Contains(op.Path, "tmp/columns"):
			<-hold
		case op.Kind == errorfs.OpFileSync && strings.Contains(op.Path, "tmp/columns"):
			once.Do(func() { close(written) })
		case full.Load() && op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".sst"):
			return syscall.ENOSPC
		}
		return nil
	}))
	s, err := Open("data", Options{FS: fs, ColumnBytes: 1 << 20, MemTableBytes: minMemTableBytes, MinFreeBytes: -1, WriteTimeout: time.Second / 4})
	require.NoError(t, err)
	s.closeTimeout = 2 * time.Second
	// 1. Writes wait for room, and so does the row of the file.
	full.Store(true)
	n := 0
	for ; err == nil; n += 100 {
		_, err = Add(ctx, s, students(n, n+100))
	}
	n -= 100
	close(hold)
	<-written
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Errorf("close: %v", err)
		}
	case <-time.After(30 * time.Second):
		full.Store(false)
		t.Fatal("Close does not end")
	}
	// 2. The next start has the acknowledged ones.
	s = openMem(t, Options{FS: mem, ColumnBytes: 1 << 20})
	if r := checked(t, s); r.Triples != int64(n) && r.Triples != int64(n+100) {
		t.Errorf("%d triples, %d were acknowledged", r.Triples, n)
	}
}
