// Tests of splits and of the cluster's layout.

package segments

import (
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// openWith returns opened segments of a database on fs, and a function that closes both. Run runs
// until then.
func openWith(t *testing.T, fs vfs.FS, isNew bool, s *Segments) (end func()) {
	t.Helper()
	db := database.New(database.Options{
		Dir: "data", FS: fs, Logger: slog.New(slog.DiscardHandler), CacheBytes: 8 << 20, MemTableBytes: 1 << 20,
		OnFlush: s.Flushed, OnIngest: s.Measure,
	})
	require.NoError(t, db.Open(isNew))
	require.NoError(t, s.Open(db, 1, false))
	require.NoError(t, db.Ready())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run()
	}()
	return func() {
		db.Stop(t.Context())
		<-ended
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// fill writes rows of students in all orders.
func fill(t *testing.T, s *Segments, from, to int) {
	t.Helper()
	batch := s.db.NewBatch()
	defer batch.Close()
	for i := from; i < to; i++ {
		student := triple.Triple{
			Subject:   triple.NewIRI(fmt.Sprintf("http://example.org/university%d/student%d", i/5000, i)),
			Predicate: triple.NewIRI(fmt.Sprintf("http://example.org/p%d", i%5)),
			Object:    triple.NewIRI(fmt.Sprintf("http://example.org/course%d", i*7919%50)),
		}
		for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
			key, _ := triple.AppendKey([]byte{keyspace.Storage}, o, student)
			require.NoError(t, batch.Set(key, triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: uint64(i + 1)}, student), nil))
		}
	}
	size := int64(batch.Len())
	require.NoError(t, s.db.Commit(batch, true))
	s.Written(size)
}

// settled waits until nothing is left to split.
func settled(t *testing.T, s *Segments) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		left := false
		for segment := range s.Trie().All() {
			at, _, err := s.splitPoint(segment, s.maxBytes)
			left = left || at != nil || err != nil
		}
		if !left {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("segments are too large after two minutes")
		}
		s.Measure()
	}
}

// Segments are split when data grows, near the middle, and stay split.
func TestSplits(t *testing.T) {
	const limit = 16 << 10
	fs, s := vfs.NewMem(), New(limit)
	end := openWith(t, fs, true, s)
	for i := 0; i < 3000; i += 200 {
		fill(t, s, i, i+200)
	}
	settled(t, s)
	count, small := s.Trie().Len(), 0
	if count < 8 || s.Splits.Load() != int64(count-1) {
		t.Fatalf("%d segments by %d splits", count, s.Splits.Load())
	}
	// Splits were near the middle if few pieces are smaller than a sixth of the limit.
	for segment := range s.Trie().All() {
		lower, upper := segmentBounds(segment)
		size, err := s.segmentBytes(lower, upper, false)
		require.NoError(t, err)
		if size < limit/6 {
			small++
		}
	}
	if t.Logf("%d segments, %d of them small", count, small); small > count/10 {
		t.Errorf("%d of %d segments are smaller than a sixth of the limit", small, count)
	}
	end()
	s = New(limit)
	defer openWith(t, fs, false, s)()
	if got := s.Trie().Len(); got < count {
		t.Errorf("%d segments, %d before", got, count)
	}
}

// The middle by tables leaves about as many bytes on both sides.
func TestMiddleByTables(t *testing.T) {
	s := New(math.MaxInt64)
	defer openWith(t, vfs.NewMem(), true, s)()
	for i := 0; i < 30_000; i += 1000 {
		fill(t, s, i, i+1000)
	}
	require.NoError(t, s.db.Flush())
	lower, upper := segmentBounds(s.Trie().Lookup(nil))
	total, err := s.segmentBytes(lower, upper, true)
	require.NoError(t, err)
	at, err := s.middleByTables(lower, upper, uint64(total))
	require.NoError(t, err)
	left, err := s.segmentBytes(lower, append([]byte{keyspace.Storage}, at...), true)
	if err != nil || left < total/3 || left > total*2/3 {
		t.Errorf("%d of %d bytes lie before the middle, %v", left, total, err)
	}
}

// A segment of one key is never split, whatever its size.
func TestSplitOneKey(t *testing.T) {
	s := New(1)
	defer openWith(t, vfs.NewMem(), true, s)()
	fill(t, s, 0, 5)
	settled(t, s)
	if n := s.Trie().Len(); n != 15 {
		t.Errorf("%d segments of 15 rows", n)
	}
	if err := s.Trie().Check(); err != nil {
		t.Error(err)
	}
	var last trie.Segment
	for segment := range s.Trie().All() {
		last = segment
	}
	if last.Hi != nil {
		t.Errorf("the last segment ends at %q", last.Hi)
	}
}

// From SetLayout on, no other layout is written.
func TestManaged(t *testing.T) {
	s := New(math.MaxInt64)
	defer openWith(t, vfs.NewMem(), true, s)()
	l := s.Layout()
	require.NoError(t, s.SetLayout(recovery.Layout{Trie: l.Trie, Placement: l.Placement}))
	fill(t, s, 0, 100)
	if done, err := s.writeLayout(&layout{trie: l.Trie, placement: l.Placement}); done || err != nil {
		t.Errorf("%v, %v", done, err)
	}
	s.maxBytes = 1
	if err := s.splitSegments(); err != nil || s.Layout() != l {
		t.Errorf("the layout has changed, or %v", err)
	}
	if err := s.Merge(1, func(time.Duration) bool { return true }); err != nil || s.Layout() != l {
		t.Errorf("the layout has changed, or %v", err)
	}
}
