// Tests of the log by itself: retention with a clock of the test, and consumers of a log that moves.

package changefeed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// log is a feed with a clock.
type log struct {
	t    *testing.T
	db   *database.Database
	f    *Feed
	o    Options
	time time.Time
	next uint64
}

func newLog(t *testing.T, r Retention) *log {
	l := &log{t: t, time: time.UnixMilli(1_800_000_000_000), next: 1}
	l.db = database.New(database.Options{
		Dir: "data", FS: vfs.NewMem(), Logger: slog.New(slog.DiscardHandler), CacheBytes: 1 << 20, MemTableBytes: 1 << 20,
		OnFlush: func() {}, OnIngest: func() {},
	})
	require.NoError(t, l.db.Open(true))
	t.Cleanup(func() { l.db.Close() })
	require.NoError(t, l.db.Ready())
	l.o = Options{Retention: r, Last: triple.Stamp{Epoch: 1}, Now: func() time.Time { return l.time }}
	l.open()
	return l
}

// open opens the log, as after a restart.
func (l *log) open() {
	l.t.Helper()
	f, err := Open(l.db, l.o)
	require.NoError(l.t, err)
	l.f = f
}

// commit commits adds, each as a request of its own.
func (l *log) commit(adds int) { l.commitAll(adds, nil) }

// commitLong commits an add with a long term of some bytes.
func (l *log) commitLong(bytes int) {
	l.commitAll(1, triple.AppendValue(nil, triple.Stamp{}, triple.Triple{Object: triple.NewString(strings.Repeat("x", bytes))}))
}

func (l *log) commitAll(adds int, long []byte) {
	l.t.Helper()
	batch := l.db.NewBatch()
	defer batch.Close()
	c := l.f.Begin(batch)
	for range adds {
		t := triple.Triple{Subject: term("%06d", l.next), Predicate: term("p"), Object: term("o")}
		spo, _ := triple.AppendKey([]byte{keyspace.Storage}, triple.SPO, t)
		pos, _ := triple.AppendKey([]byte{keyspace.Storage}, triple.POS, t)
		require.NoError(l.t, c.Triple(feed.Add, triple.Stamp{Epoch: 1, Sequence: l.next}, spo, pos, long))
		l.next++
	}
	done, err := c.Finish()
	if err == nil {
		err = l.db.Commit(batch, true)
	}
	require.NoError(l.t, err)
	done()
}

// read returns the number of changes after a position, or the error.
func (l *log) read(since feed.Position) (n int, err error) {
	for b, err := range l.f.Changes(l.t.Context(), feed.Request{Since: since}) {
		if err != nil {
			return n, err
		}
		n += len(b.Changes)
	}
	return n, nil
}

// rows returns the number of bytes in the rows of the log and its blocks on disk.
func (l *log) rows() (size int64) {
	l.t.Helper()
	for _, prefix := range []string{logPrefix, blockPrefix} {
		err := l.db.EachLocal(prefix, func(key, value []byte) error {
			size += int64(len(key) + len(value))
			return nil
		})
		require.NoError(l.t, err)
	}
	return size
}

// TestRetentionAge: changes go when they are too old, also those of before a restart.
func TestRetentionAge(t *testing.T) {
	l := newLog(t, Retention{Age: time.Hour})
	first := l.f.At(0)
	for minute := range 180 {
		l.commit(3)
		l.time = l.time.Add(time.Minute)
		if minute%50 == 49 {
			l.open()
		}
		n, err := l.read(feed.Position{})
		// A block has one minute, and goes as a whole.
		if most := min(3*(minute+1), 3*63); err != nil || n > most || n < min(3*(minute+1), 3*60) {
			t.Fatalf("after %d minutes %d changes are kept, %v", minute, n, err)
		}
	}
	var gone *feed.GoneError
	if n, err := l.read(first); !errors.As(err, &gone) || n > 0 || !strings.Contains(gone.Reason, "older than 1h0m0s") {
		t.Errorf("%d changes, %v", n, err)
	}
	if n, err := l.read(gone.Continue); n != 0 || err != nil {
		t.Errorf("%d changes after the position to continue, %v", n, err)
	}
}

// TestRetentionBytes: the log is bounded on disk, whatever the sizes of commits, and its bookkeeping
// equals what is there.
func TestRetentionBytes(t *testing.T) {
	const limit = 64 << 10
	random := seed.Rand(t)
	l := newLog(t, Retention{Bytes: limit})
	for step := range 600 {
		adds := 1 + random.IntN(20)
		if step%100 == 99 {
			adds = 20_000 // more than the limit: it stays until the next commit
		}
		l.commit(adds)
		l.time = l.time.Add(time.Duration(random.IntN(3)) * time.Second)
		if random.IntN(40) == 0 {
			l.open()
		}
		kept, _ := l.f.Size()
		if disk := l.rows(); disk < kept || disk > kept+4<<10 || adds < 20_000 && kept > limit+limit/8+4<<10 {
			t.Fatalf("step %d: %d bytes on disk, %d counted", step, disk, kept)
		}
	}
}

// TestRetentionGaps: while commits trim the log, consumers of any speed have each change once and in
// order, or a GoneError.
func TestRetentionGaps(t *testing.T) {
	l := newLog(t, Retention{Bytes: 16 << 10})
	begin := l.f.At(0)
	const last = 4000
	var running sync.WaitGroup
	var gone [4]int
	for i := range gone {
		running.Go(func() {
			since, next := begin, uint64(1)
			random := rand.New(rand.NewPCG(uint64(i), 0))
			for next <= last {
				for b, err := range l.f.Changes(t.Context(), feed.Request{Since: since, Follow: true, MaxBytes: 1 + random.IntN(8<<10)}) {
					var lost *feed.GoneError
					if errors.As(err, &lost) {
						gone[i]++
						since, next = lost.Continue, lost.Continue.Sequence(0)+1
						break
					}
					if err != nil {
						t.Error(err)
						return
					}
					for _, c := range b.Changes {
						// A batch that was split has the position before its last request.
						if c.Stamp.Sequence > next {
							t.Errorf("change %d follows %d", c.Stamp.Sequence, next-1)
							return
						}
						next = c.Stamp.Sequence + 1
					}
					if since = b.Position; next > last || random.IntN(20) == 0 {
						break
					}
				}
			}
		})
	}
	for l.next <= last {
		l.commit(1 + int(l.next%7))
	}
	running.Wait()
	t.Logf("consumers were too slow %v times", gone)
}

// TestConsumerThatDoesNotRead: it stops no commit, keeps no row on disk, and has a GoneError at its
// next step.
func TestConsumerThatDoesNotRead(t *testing.T) {
	l := newLog(t, Retention{Bytes: 16 << 10})
	l.commit(1)
	next, stop := iter.Pull2(l.f.Changes(t.Context(), feed.Request{Follow: true, MaxBytes: 1000}))
	defer stop()
	if b, err, _ := next(); err != nil || len(b.Changes) != 1 {
		t.Fatal(b, err)
	}
	for range 500 {
		l.commit(5)
	}
	if size := l.rows(); size > 32<<10 {
		t.Errorf("%d bytes are on disk", size)
	}
	if _, err, _ := next(); !errors.Is(err, feed.ErrGone) {
		t.Error(err)
	}
}

// TestConsumerDropsHugeRows: a consumer that waits does not hold the rows of a huge triple.
func TestConsumerDropsHugeRows(t *testing.T) {
	l := newLog(t, Retention{})
	l.commitLong(4 << 20)
	c := consumer{f: l.f, r: feed.Request{Follow: true, MaxBytes: 100}, yield: func(*feed.Batch, error) bool { return true }}
	require.NoError(t, c.begin())
	l.f.Retire() // ends the consumer when it has all
	if err := c.run(t.Context()); !errors.Is(err, fault.ErrMember) {
		t.Fatal(err)
	}
	if cap(c.rows) > 1<<20 {
		t.Errorf("it holds %d bytes", cap(c.rows))
	}
}

// TestFailedTrim: if a commit with a trim fails, nothing is lost, and the next one trims.
func TestFailedTrim(t *testing.T) {
	l := newLog(t, Retention{Bytes: 16 << 10})
	for l.f.begin.Sequence < 100 {
		l.commit(5)
	}
	// 1. A commit that is large enough to trim is not written.
	trimmed := l.f.begin.Stamp
	batch := l.db.NewBatch()
	defer batch.Close()
	c := l.f.Begin(batch)
	for i := range uint64(500) {
		require.NoError(t, c.Clear(triple.Stamp{Epoch: 1, Sequence: l.next + i}, feed.ClearInfo{Graphs: []triple.Term{term("%030d", i)}}))
	}
	if _, err := c.Finish(); err != nil || l.f.begin.Stamp == trimmed {
		t.Fatalf("no trim was announced: %v", err)
	}
	// 2. The log on disk is as it was, and later commits trim it.
	kept, _ := l.f.Size()
	if disk := l.rows(); disk < kept {
		t.Errorf("%d bytes on disk, %d counted", disk, kept)
	}
	for range 100 {
		l.commit(5)
	}
	if kept, _ := l.f.Size(); l.rows() > kept+4<<10 {
		t.Errorf("%d bytes on disk, %d counted", l.rows(), kept)
	}
	before, _ := l.read(feed.Position{})
	l.open()
	if after, err := l.read(feed.Position{}); err != nil || after != before {
		t.Errorf("%d changes after a restart, %d before: %v", after, before, err)
	}
}

// TestDamagedRow: a row that does not decode is an error with its key, not the end.
func TestDamagedRow(t *testing.T) {
	l := newLog(t, Retention{})
	l.commit(3)
	l.commit(3)
	require.NoError(t, l.db.SetLocal(logKey(triple.Stamp{Epoch: 1, Sequence: 6}, 0), []byte{rowFormat, 0, 0, 9}))
	if err := CheckRow(logKey(triple.Stamp{Epoch: 1, Sequence: 6}, 0), []byte{rowFormat, 0, 0, 9}); err == nil {
		t.Error("the check takes it")
	}
	n, err := l.read(feed.Position{})
	if n != 3 || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("% X", logKey(triple.Stamp{Epoch: 1, Sequence: 6}, 0))) {
		t.Errorf("%d changes, %v", n, err)
	}
}

// TestCancelled: a request that does not follow returns the error of its context.
func TestCancelled(t *testing.T) {
	l := newLog(t, Retention{})
	l.commit(3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range l.f.Changes(ctx, feed.Request{}) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestTrim: a log without commits is empty when its changes are too old, also after a restart.
func TestTrim(t *testing.T) {
	l := newLog(t, Retention{Age: time.Hour})
	for range 10 {
		l.commit(3)
		l.time = l.time.Add(10 * time.Minute)
	}
	begin, end := l.f.At(0), l.f.At(30)
	for _, want := range []int{18, 18, 0, 0} { // the first six are 50 to 100 minutes old
		if want == 0 {
			l.time = l.time.Add(2 * time.Hour)
		}
		require.NoError(t, l.f.Trim())
		l.open()
		if n, err := l.read(feed.Position{}); n != want || err != nil {
			t.Errorf("%d changes are kept, want %d: %v", n, want, err)
		}
		if _, err := l.read(begin); !errors.Is(err, feed.ErrGone) {
			t.Error(err)
		}
		if n, err := l.read(end); n != 0 || err != nil {
			t.Errorf("%d changes after the end, %v", n, err)
		}
	}
	if kept, _ := l.f.Size(); kept != 0 || l.rows() != 0 {
		t.Errorf("%d bytes are counted, %d on disk", kept, l.rows())
	}
	l.commit(3)
	if n, err := l.read(end); n != 3 || err != nil {
		t.Errorf("%d changes after the trim, %v", n, err)
	}
}
