// Writes to a disk that fills up: the watermark stays free.

package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// TestWatermarkStaysFree writes until the disk refuses, by commits of several sizes and beside the
// table of a load. The free space is never below the watermark: not while rows are flushed, and not
// during compactions, which could rewrite more than is free. When nothing is in progress, all room
// above the watermark is used that one more write and the next compaction do not need.
func TestWatermarkStaysFree(t *testing.T) {
	seed.Slow(t)
	const watermark, size = 8 << 20, 26 << 20
	for name, test := range map[string]struct {
		batch  int
		apply  bool  // whole changes, larger than a group
		table  bool  // a table is written beside the commits
		flush  bool  // after each commit, so that there are many compactions
		atMost int64 // of room above the watermark when nothing more is accepted
	}{
		"small commits": {batch: 50, atMost: 12 << 20},
		"large commits": {batch: 2000, atMost: 12 << 20},
		"flushes":       {batch: 400, flush: true, atMost: 12 << 20},
		"changes":       {batch: 6_000, apply: true, atMost: 12 << 20}, // one is 2 MiB and written twice, and one may be in memory
		"load":          {batch: 200, table: true, atMost: 12 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			disk := memdisk.NewSized(size)
			s := openMem(t, Options{FS: disk, MinFreeBytes: watermark, MemTableBytes: 1 << 20})
			random := rand.New(rand.NewPCG(1, 2))
			write := func() error { return writeBatch(s, random, test.batch, test.apply) }
			if test.table {
				write = besideTable(t, s, random, write)
			}
			if test.flush {
				commit := write
				write = func() error { return errors.Join(commit(), s.db.Flush()) }
			}
			early, refused := fillDisk(t, s, write)
			free, least := disk.Free(), disk.MinFree()
			t.Logf("%d triples; free %d KiB, least %d KiB; refused early %d times; %v", s.Status().Triples, free>>10, least>>10, early, refused)
			if least < watermark {
				t.Errorf("%d KiB were free at some time, and %d KiB are kept free", least>>10, watermark>>10)
			}
			if spare := free - watermark; spare < 0 || spare > test.atMost {
				t.Errorf("refused with %d KiB above the watermark", spare>>10)
			}
			// Deletes may use the reserve, the store is whole, and room ends the refusal.
			if _, err := Delete(ctx, s, students(0, 10)); err != nil {
				t.Errorf("a delete: %v", err)
			}
			checked(t, s)
			disk.Size.Add(test.atMost + watermark)
			await.Condition(t, "a write with more room", func() bool { // the compaction that waits is tried each second
				err := write()
				if err != nil && !errors.Is(err, ErrDiskFull) {
					t.Fatal(err)
				}
				return err == nil
			})
		})
	}
}

// fillDisk writes until the disk refuses although no flush or compaction is in progress. It returns
// the error, and the number of refusals before it.
func fillDisk(t *testing.T, s *Store, write func() error) (early int, refused error) {
	t.Helper()
	quiet := func() bool {
		m := s.db.Metrics()
		return m.Flush.NumInProgress == 0 && m.Compact.NumInProgress == 0
	}
	for lasting := 0; lasting < 5; {
		before := quiet()
		refused = write()
		switch {
		case refused == nil:
			lasting = 0
		case !errors.Is(refused, ErrDiskFull):
			t.Fatal(refused)
		case before && quiet():
			lasting++
		default:
			early++
		}
	}
	return early, refused
}

// writeBatch adds triples in one commit.
func writeBatch(s *Store, random *rand.Rand, batch int, apply bool) (err error) {
	some := make([]triple.Triple, batch)
	for i := range some {
		some[i] = triple.Triple{
			Subject: triple.NewIRI(fmt.Sprintf("http://e/%x", random.Uint64())), Predicate: triple.NewIRI("http://p"),
			Object: triple.NewString(fmt.Sprintf("%x%x%x%x", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())),
		}
	}
	if apply {
		_, err = Apply(ctx, s, Steps{Add: slices.Values(some)})
	} else {
		_, err = Add(ctx, s, some)
	}
	return err
}

// besideTable returns write with rows for the table of a load, until the disk refuses those.
func besideTable(t *testing.T, s *Store, random *rand.Rand, write func() error) func() error {
	table, err := s.Sink().CreateTable(s.db.Path("tmp", "load.sst"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = table.Close() }) // returns the error of a refused row
	rows, open := 0, true
	return func() error {
		for end := rows + 200; open && rows < end; rows++ {
			err := table.Set(fmt.Appendf(nil, "%010d", rows), fmt.Appendf(nil, "%x", random.Uint64()))
			if err != nil && !errors.Is(err, ErrDiskFull) {
				return err
			}
			open = err == nil
		}
		return write()
	}
}

// TestAcceptedRowsTakeRoom leaves room for half of the rows in memory. Another write is refused until
// they are flushed, and the flush leaves the watermark free.
func TestAcceptedRowsTakeRoom(t *testing.T) {
	const watermark, size, slack = 8 << 20, 64 << 20, 1 << 20
	disk := memdisk.NewSized(size)
	s := openMem(t, Options{FS: disk, MinFreeBytes: watermark, MemTableBytes: 4 << 20})
	random := rand.New(rand.NewPCG(1, 2))
	inMemory := func() int64 { return int64(s.db.Metrics().WAL.Size) }
	for inMemory() < 2<<20 {
		require.NoError(t, writeBatch(s, random, 200, false))
	}
	disk.Size.Add(watermark + slack + inMemory()/2 - disk.Free())
	for begun := time.Now(); s.db.Room(0) == nil && time.Since(begun) < 5*time.Second; {
		runtime.Gosched() // until the disk is measured
	}
	if err := writeBatch(s, random, 1, false); !errors.Is(err, ErrDiskFull) {
		t.Errorf("a write: %v", err)
	}
	if _, err := Delete(ctx, s, students(0, 10)); err != nil {
		t.Errorf("a delete: %v", err)
	}
	require.NoError(t, s.db.Flush())
	if free := disk.Free(); free < watermark {
		t.Errorf("%d KiB are free after the flush", free>>10)
	}
}

// TestTableOfLoadTakesRoom writes a table of a load and finds the disk full at the watermark.
func TestTableOfLoadTakesRoom(t *testing.T) {
	const watermark, size = 8 << 20, 12 << 20
	disk := memdisk.NewSized(size)
	s := openMem(t, Options{FS: disk, MinFreeBytes: watermark})
	table, err := s.Sink().CreateTable(s.db.Path("tmp", "load.sst"))
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	value := make([]byte, 1<<10)
	for row := 0; err == nil; row++ {
		for i := range value {
			value[i] = byte(random.Uint32())
		}
		err = table.Set(fmt.Appendf(nil, "%010d", row), value)
	}
	if closed := table.Close(); !errors.Is(err, ErrDiskFull) || !errors.Is(closed, ErrDiskFull) {
		t.Errorf("%v; close: %v", err, closed)
	}
	if least := disk.MinFree(); least < watermark || least > watermark+2<<20 {
		t.Errorf("at the least, %d KiB were free", least>>10)
	}
}

// TestAddsBesideSlowCompactions adds rows while the first compactions stand still, until the disk refuses or so many
// tables wait in level 0 that writes would soon stop. The compactions then leave the watermark free, and have room.
func TestAddsBesideSlowCompactions(t *testing.T) {
	const watermark, size, urgent = 8 << 20, 26 << 20, 62
	disk := slowCompactions{memdisk.NewSized(size), make(chan struct{})}
	s := openMem(t, Options{FS: disk, MinFreeBytes: watermark, MemTableBytes: 1 << 20})
	random := rand.New(rand.NewPCG(1, 2))
	sublevels := func() int32 { return s.db.Metrics().Levels[0].Sublevels }
	var err error
	for err == nil && sublevels() < urgent {
		err = errors.Join(writeBatch(s, random, 600, false), s.db.Flush())
	}
	waiting := sublevels()
	close(disk.open)
	if !errors.Is(err, ErrDiskFull) {
		t.Errorf("%d sublevels and %d KiB free: %v", waiting, disk.Free()>>10, err)
	}
	await.Condition(t, "the compactions of level 0", func() bool { return sublevels() < 4 })
	if least := disk.MinFree(); least < watermark {
		t.Errorf("%d KiB were free at some time, and %d KiB are kept free", least>>10, watermark>>10)
	}
}

// slowCompactions is a disk on which compactions make no file before open is closed.
type slowCompactions struct {
	*memdisk.Sized
	open chan struct{}
}

// Create implements [vfs.FS].
func (d slowCompactions) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if category == "pebble-compaction" {
		<-d.open
	}
	return d.Sized.Create(name, category)
}
