// Damage to write-ahead logs, and crashes while they are written.

package synced

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// openLogs checks and opens a database that keeps its rows in logs if hold is set.
func openLogs(t testing.TB, fs vfs.FS, hold bool) *pebble.DB {
	t.Helper()
	require.NoError(t, Check(fs, dir))
	o := &pebble.Options{FS: Guard(fs), FormatMajorVersion: pebble.FormatValueSeparation, MemTableSize: 256 << 10, Logger: quiet{}}
	if hold {
		o.MemTableStopWritesThreshold = 16
	}
	db, err := pebble.Open(dir, o)
	require.NoError(t, err)
	return db
}

// holdTables returns a file system that blocks the tables of flushes until release is called.
func holdTables(fs vfs.FS) (_ vfs.FS, release func()) {
	held := make(chan struct{})
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
			<-held
		}
		return nil
	})), sync.OnceFunc(func() { close(held) })
}

// logsOf returns the names of the logs.
func logsOf(t testing.TB, fs vfs.FS) (logs []string) {
	t.Helper()
	names, err := fs.List(dir)
	require.NoError(t, err)
	for _, name := range names {
		if _, _, ok := wal.ParseLogFilename(name); ok {
			logs = append(logs, name)
		}
	}
	slices.Sort(logs)
	return logs
}

func row(i int) []byte { return fmt.Appendf(nil, "%06d", i) }

// countRows returns the number of rows from row 0 on, without a gap.
func countRows(t testing.TB, db *pebble.DB) int {
	t.Helper()
	for i := 0; ; i++ {
		_, closer, err := db.Get(row(i))
		if errors.Is(err, pebble.ErrNotFound) {
			return i
		}
		require.NoError(t, err)
		require.NoError(t, closer.Close())
	}
}

// A process is killed while several logs have rows. Then one bit of a log flips: anywhere, or in
// the last 32 KiB, or in the last record. Check rejects each such store unless all rows are there.
func TestFlippedBits(t *testing.T) {
	rng := random(t)
	const flips = 100
	mem := memdisk.New()
	fs, release := holdTables(mem)
	db := openLogs(t, fs, true)
	rows := 0
	for len(logsOf(t, mem)) < 4 || rows%100 != 0 {
		require.NoError(t, db.Set(row(rows), randomBytes(rng, rng.IntN(600)), pebble.Sync))
		rows++
	}
	for range 50 { // the last log has more than a block
		require.NoError(t, db.Set(row(rows), randomBytes(rng, 1000), pebble.Sync))
		rows++
	}
	killed := vfs.NewMem()
	_, err := vfs.Clone(mem, killed, dir, dir)
	require.NoError(t, err)
	release()
	require.NoError(t, db.Close())
	logs := logsOf(t, killed)
	last := logs[len(logs)-1]
	rejected := 0
	for i := range flips {
		log := last
		if i%4 == 0 {
			log = logs[rng.IntN(len(logs))]
		}
		path := dir + "/" + log
		data := read(t, killed, path)
		end := len(bytes.TrimRight(data, "\x00"))
		at := rng.IntN(end)
		switch i % 4 {
		case 2:
			at = max(0, end-1-rng.IntN(32<<10))
		case 3:
			at = end - 1 - rng.IntN(500)
		}
		changed := slices.Clone(data)
		changed[at] ^= 1 << rng.IntN(8)
		write(t, killed, path, changed)
		err := Check(killed, dir)
		if err == nil {
			// Only the end mark of a log has nothing to lose.
			if db := openLogs(t, copyOf(t, killed), false); countRows(t, db) != rows {
				t.Errorf("%s, byte %d of %d: %d of %d rows, and no error", log, at, end, countRows(t, db), rows)
			} else {
				require.NoError(t, db.Close())
			}
		} else {
			rejected++
			if !errors.Is(err, pebble.ErrCorruption) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "acknowledged bytes are lost") {
				t.Errorf("%s, byte %d of %d: %v", log, at, end, err)
			}
			if i == 3 {
				t.Log(err)
			}
		}
		write(t, killed, path, data)
	}
	require.NoError(t, Check(killed, dir))
	t.Logf("%d rows in %d logs; %d of %d flipped bits rejected", rows, len(logs), rejected, flips)
	if rejected < flips-5 {
		t.Error("nearly all of these bits belong to rows")
	}
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func copyOf(t testing.TB, fs vfs.FS) vfs.FS {
	t.Helper()
	to := vfs.NewMem()
	_, err := vfs.Clone(fs, to, dir, dir)
	require.NoError(t, err)
	return to
}

// The end of the process, or of the power, at any moment leaves a store that Check accepts, with
// all acknowledged rows: amid records of many blocks, with unsynced writes, with logs that are
// reused, with checkpoints, and if it ends again during the recovery.
func TestNoFalseAlarm(t *testing.T) {
	seed.Slow(t)
	rng := random(t)
	rounds := 30
	if testing.Short() {
		rounds = 8
	}
	fs := memdisk.New()
	for round := range rounds {
		db := openLogs(t, fs, rng.IntN(2) == 0)
		rows := countRows(t, db)
		stop := make(chan struct{})
		var writers sync.WaitGroup
		writers.Go(func() { // records that end nowhere near a sync
			rng := rand.New(rand.NewPCG(uint64(round), 1))
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := db.Set(fmt.Appendf(nil, "x%d", i%5), make([]byte, rng.IntN(100<<10)), pebble.NoSync); err != nil {
					t.Error(err)
					return
				}
			}
		})
		for range rng.IntN(60) {
			require.NoError(t, db.Set(row(rows), randomBytes(rng, rng.IntN(2000)), pebble.Sync))
			rows++
		}
		if round%5 == 0 {
			copied := fmt.Sprintf("copy%d", round)
			require.NoError(t, db.Checkpoint(copied))
			require.NoError(t, Check(fs, copied))
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[rng.IntN(3)], RNG: rng})
		close(stop)
		writers.Wait()
		require.NoError(t, db.Close())
		require.NoError(t, Check(fs, dir)) // closed
		// The crash may repeat while the first rows are recovered.
		if rng.IntN(2) == 0 {
			recovering := openLogs(t, crashed.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng}), true)
			require.NoError(t, recovering.Close())
			first := openLogs(t, crashed, true)
			again := crashed.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
			require.NoError(t, first.Close())
			crashed = again
		}
		db = openLogs(t, crashed, false)
		if got := countRows(t, db); got < rows {
			t.Fatalf("round %d: %d of %d rows", round, got, rows)
		}
		require.NoError(t, db.Close())
		fs = crashed
	}
}

// If a sync ends amid a record, because only its first part is written, the store is whole after a
// crash. A bit that flips in this part is found.
func TestSyncAmidRecord(t *testing.T) {
	rng := random(t)
	const name, path = "000007.log", dir + "/000007.log"
	var b bytes.Buffer
	w := record.NewLogWriter(&b, 7, record.LogWriterConfig{WriteWALSyncOffsets: func() bool { return true }})
	_, err := w.WriteRecord(randomBytes(rng, 1000))
	require.NoError(t, err)
	_, err = w.WriteRecord(randomBytes(rng, 3*blockBytes))
	require.NoError(t, errors.Join(err, w.Close()))
	for blocks := 1; blocks <= 3; blocks++ {
		fs := vfs.NewMem()
		require.NoError(t, fs.MkdirAll(dir, 0o755))
		f, err := Guard(fs).Create(path, logCategory)
		require.NoError(t, err)
		written := b.Bytes()[:blocks*blockBytes]
		_, err = f.Write(slices.Clone(written))
		require.NoError(t, errors.Join(err, f.Sync(), f.Close(), checkLog(fs, path, name, 7)))
		changed := slices.Clone(written)
		changed[len(changed)-1-rng.IntN(2000)] ^= 1
		write(t, fs, path, changed)
		if err := checkLog(fs, path, name, 7); !errors.Is(err, pebble.ErrCorruption) {
			t.Errorf("%d blocks: %v", blocks, err)
		}
	}
}

// A log that is no longer needed may be damaged: its rows are in tables.
func TestObsoleteLog(t *testing.T) {
	fs := memdisk.New()
	db := openLogs(t, fs, false)
	require.NoError(t, db.Set(row(0), nil, pebble.Sync))
	old := logsOf(t, fs)[0]
	data := read(t, fs, dir+"/"+old)
	entries := read(t, fs, dir+"/"+old+suffix)
	require.NoError(t, db.Flush())
	require.NoError(t, db.Set(row(1), nil, pebble.Sync))
	killed := copyOf(t, fs)
	require.NoError(t, db.Close())
	data[20] ^= 1
	write(t, killed, dir+"/"+old, data)
	write(t, killed, dir+"/"+old+suffix, entries)
	require.NoError(t, Check(killed, dir))
	db = openLogs(t, killed, false)
	if n := countRows(t, db); n != 2 {
		t.Errorf("%d rows", n)
	}
	require.NoError(t, db.Close())
}

// An entry is on the disk syncAfter its write, also if nothing is written after it.
func TestEntryIsSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const name = "000007.log"
		fs := memdisk.New()
		require.NoError(t, fs.MkdirAll(dir, 0o755))
		f, err := Guard(fs).Create(dir+"/"+name, logCategory)
		require.NoError(t, err)
		for _, name := range []string{"", dir} {
			d, err := fs.OpenDir(name)
			require.NoError(t, err)
			require.NoError(t, errors.Join(d.Sync(), d.Close()))
		}
		promise := func() int64 {
			lengths, err := readLengths(fs.CrashClone(vfs.CrashCloneCfg{}), dir+"/"+name, name)
			require.NoError(t, err)
			return longest(lengths)
		}
		for n := range int64(3) {
			_, err = f.Write([]byte("x"))
			require.NoError(t, errors.Join(err, f.Sync()))
			if got := promise(); got != n {
				t.Errorf("%d bytes are promised at once, want %d", got, n)
			}
			time.Sleep(syncAfter)
			synctest.Wait()
			if got := promise(); got != n+1 {
				t.Errorf("%d bytes are promised after %v, want %d", got, syncAfter, n+1)
			}
		}
		_, err = f.Write([]byte("x"))
		require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
		if got := promise(); got != 4 {
			t.Errorf("%d bytes are promised after Close, want 4", got)
		}
	})
}

// If an entry cannot be written or synced, a sync of the log fails.
func TestLogFaults(t *testing.T) {
	for _, kind := range []errorfs.OpKind{errorfs.OpFileWriteAt, errorfs.OpFileSyncData, errorfs.OpCreate} {
		synctest.Test(t, func(t *testing.T) {
			fault := errors.New("fault")
			mem := vfs.NewMem()
			require.NoError(t, mem.MkdirAll(dir, 0o755))
			f, err := Guard(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == kind && strings.HasSuffix(op.Path, suffix) {
					return fault
				}
				return nil
			}))).Create(dir+"/000007.log", logCategory)
			if kind == errorfs.OpCreate {
				if !errors.Is(err, fault) {
					t.Errorf("create: %v", err)
				}
				return
			}
			require.NoError(t, err)
			for range 2 {
				_, err = f.Write([]byte("x"))
				require.NoError(t, err)
				err = f.Sync()
				time.Sleep(syncAfter)
				synctest.Wait()
			}
			if !errors.Is(err, fault) {
				t.Errorf("%v: the sync returns %v", kind, err)
			}
			_ = f.Close()
		})
	}
}

// The file beside a log never grows beyond its ring, and the newest entry counts.
func TestRing(t *testing.T) {
	const name = "000007.log"
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll(dir, 0o755))
	f, err := Guard(fs).Create(dir+"/"+name, logCategory)
	require.NoError(t, err)
	const syncs = 2*ringEntries + 10
	for range syncs {
		_, err := f.Write([]byte("x"))
		require.NoError(t, errors.Join(err, f.Sync()))
	}
	require.NoError(t, f.Close())
	lengths, err := readLengths(fs, dir+"/"+name, name)
	require.NoError(t, err)
	if len(lengths) != ringEntries || longest(lengths) != syncs {
		t.Errorf("%d entries, the longest is %d", len(lengths), longest(lengths))
	}
}

// writeLog returns a log with records of random sizes, closed if trailer is set.
func writeLog(rng *rand.Rand, number uint32, trailer bool) []byte {
	var b bytes.Buffer
	w := record.NewLogWriter(&b, 7, record.LogWriterConfig{WriteWALSyncOffsets: func() bool { return number%2 == 1 }})
	for range 40 {
		// Pebble searches for a flipped bit, and this takes long in large chunks.
		size := 12 + rng.IntN(3000)
		if number%20 == 0 && rng.IntN(5) == 0 {
			size = rng.IntN(80 << 10)
		}
		if _, err := w.WriteRecord(randomBytes(rng, size)); err != nil {
			panic(err)
		}
	}
	whole := int(w.Size())
	_ = w.Close()
	if !trailer {
		return b.Bytes()[:min(whole, b.Len())]
	}
	return b.Bytes()
}

// readLog returns the number of records that Pebble reads of a log, and where the last one ends.
func readLog(data []byte) (count int, end int64) {
	r := record.NewReader(bytes.NewReader(data), 7)
	for {
		one, err := r.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, one)
		}
		if err != nil {
			return count, end
		}
		count, end = count+1, r.Offset()
	}
}

// A scan finds the records that Pebble finds, in whole and in damaged logs, of both formats.
func TestScanIsPebbles(t *testing.T) {
	rng := random(t)
	for i := range 60 {
		data := writeLog(rng, uint32(i), i%3 == 0)
		for j := range 4 {
			changed := slices.Clone(data)
			switch j {
			case 1:
				changed = changed[:rng.IntN(len(changed))]
			case 2:
				changed[rng.IntN(len(changed))] ^= 1 << rng.IntN(8)
			case 3: // in the zeros at the end of a block, or near
				block := 1 + rng.IntN(max(1, len(changed)/blockBytes))
				changed[min(len(changed), block*blockBytes)-1-rng.IntN(30)] ^= 1 << rng.IntN(8)
			}
			count, end := readLog(changed)
			got, err := scanLog(bytes.NewReader(changed), 7)
			require.NoError(t, err)
			if got.count != count || got.records != end || got.chunks < got.records {
				t.Fatalf("log %d of %d bytes, change %d: %+v, Pebble reads %d records up to byte %d", i, len(changed), j, got, count, end)
			}
		}
	}
}
