// Tests of bulk loads.

package store

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

func TestLoad(t *testing.T) {
	s := openMem(t, Options{})
	sink := s.Sink()
	start, err := sink.Begin(ctx, "first")
	require.NoError(t, err)
	if start.Existing != nil || start.Published != nil || start.Stamp == (triple.Stamp{}) {
		t.Errorf("start of a load into an empty store: %+v", start)
	}
	again, err := sink.Begin(ctx, "first")
	if err != nil || again.Stamp != start.Stamp {
		t.Errorf("begun again: stamp %v, %v; it was %v", again.Stamp, err, start.Stamp)
	}
	add(t, s, student(0))
	second, err := sink.Begin(ctx, "second")
	require.NoError(t, err)
	if !start.Stamp.Less(second.Stamp) || second.Existing == nil {
		t.Errorf("start of a second load: %+v", second)
	}
	add(t, s, student(1)) // not in the snapshot
	keys, err := second.Existing.Keys()
	require.NoError(t, err)
	n := 0
	for ok := keys.SeekGE([]byte{byte(triple.SPO)}); ok; ok = keys.Next() {
		n++
	}
	if err := errors.Join(keys.Err(), keys.Close(), second.Existing.Close()); err != nil || n != 3 {
		t.Errorf("%d existing keys, %v, want 3", n, err)
	}
	loadTriples(t, s, "first", students(10, 60))
	third, err := sink.Begin(ctx, "first")
	if err != nil || third.Published == nil || third.Published.New != 50 {
		t.Errorf("begun after it was done: %+v, %v", third, err)
	}
	if err := sink.Publish(ctx, rdfload.Record{ID: "first", New: 1}, nil); err != nil {
		t.Errorf("published twice: %v", err)
	}
	records, err := s.Loads(ctx)
	if err != nil || len(records) != 1 || records[0].ID != "first" || records[0].Read != 50 {
		t.Errorf("loads %+v, %v", records, err)
	}
	if r := checked(t, s); r.Triples != 52 || s.Status().Triples != 52 {
		t.Errorf("%d triples, %d counted", r.Triples, s.Status().Triples)
	}
	for _, id := range []string{"", "a\x00b", string(make([]byte, 300))} {
		if _, err := sink.Begin(ctx, id); !errors.Is(err, ErrInvalid) {
			t.Errorf("id %q: %v", id, err)
		}
	}
}

// TestPublishedTwice: a repetition of Publish changes nothing, although its tables belong to the store by then.
func TestPublishedTwice(t *testing.T) {
	s := openMem(t, Options{})
	start, err := s.Sink().Begin(ctx, "one")
	require.NoError(t, err)
	tables := writeTables(t, s, "one", students(0, 10), start.Stamp)
	for range 2 {
		if err := s.Sink().Publish(ctx, rdfload.Record{ID: "one", New: 10}, tables); err != nil {
			t.Error(err)
		}
	}
	if r := checked(t, s); r.Triples != 10 || s.Status().Triples != 10 {
		t.Errorf("%d triples, %d counted", r.Triples, s.Status().Triples)
	}
}

// An empty load has a record, too.
func TestLoadOfNothing(t *testing.T) {
	s := openMem(t, Options{})
	loadTriples(t, s, "nothing", nil)
	if records, err := s.Loads(ctx); err != nil || len(records) != 1 {
		t.Errorf("loads %+v, %v", records, err)
	}
}

// A load is there as a whole or not at all, whenever the machine crashes.
func TestLoadCrashes(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	rng := random(t)
	seen := map[int64]int{}
	step := 1
	if race.Enabled {
		step = 5
	}
	for stop := 0; ; stop += step {
		fs := memdisk.New()
		s := openFor(t, fs)
		add(t, s, students(0, 40)...)
		require.NoError(t, s.Close())
		faulty, count := memdisk.FailAt(fs, stop, true)
		published := tryLoad(t, faulty)
		again := openFor(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng}))
		r := checked(t, again)
		records, err := again.Loads(ctx)
		require.NoError(t, err)
		want := int64(40)
		if len(records) == 1 {
			want = 100
		}
		if r.Triples != want || again.Status().Triples != want {
			t.Errorf("stopped at write %d: %d triples, %d counted, loads %v", stop, r.Triples, again.Status().Triples, records)
		}
		if published && len(records) == 0 {
			t.Errorf("stopped at write %d: published, and not there", stop)
		}
		if start, err := again.Sink().Begin(ctx, "load"); err != nil {
			t.Error(err)
		} else if start.Existing != nil {
			start.Existing.Close()
		}
		seen[r.Triples]++
		again.Close()
		if count.Load() <= int64(stop) || t.Failed() {
			break
		}
	}
	if seen[40] < race.Fewer(10) || seen[100] == 0 {
		t.Errorf("runs by triples after the crash: %v", seen)
	}
}

// tryLoad runs a load on a failing file system, and reports whether it was acknowledged.
func tryLoad(t *testing.T, fs vfs.FS) (published bool) {
	s, err := Open("data", Options{FS: fs})
	if err != nil {
		return false
	}
	defer s.Close()
	defer func() {
		if e := recover(); e != nil && !errors.Is(e.(loadFailed).err, memdisk.ErrFailed) && !errors.Is(e.(loadFailed).err, ErrFailed) {
			t.Errorf("load: %v", e)
		}
	}()
	start, err := s.Sink().Begin(ctx, "load")
	if err != nil {
		panic(loadFailed{err})
	}
	if start.Existing != nil {
		start.Existing.Close()
	}
	loadNew(failing{}, s, "load", students(20, 100), 60)
	return true
}

// failing is a test that panics when it fails.
type failing struct{}

type loadFailed struct{ err error }

func (failing) Helper() {}

func (failing) Fatal(args ...any) { panic(loadFailed{args[0].(error)}) }

// A snapshot does not see a later load, nor a split of its segment.
func TestSnapshotUnderLoads(t *testing.T) {
	s := openMem(t, Options{MaxSegmentBytes: 4 << 10})
	add(t, s, students(0, 100)...)
	sn := snapshot(t, s)
	rows, err := sn.Rows(ctx, triple.OrderRange(triple.POS))
	require.NoError(t, err)
	defer rows.Close()
	loadTriples(t, s, "a", students(50, 3000))
	if _, err := Delete(ctx, s, students(0, 50)); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, s.db.Compact(ctx, []byte{0}, []byte{255}, false))
	await.Condition(t, "splits", func() bool { return s.segments.Trie().Len() > 20 })
	n := 0
	for ok := rows.First(); ok; ok = rows.Next() {
		n++
	}
	if n != 100 || rows.Err() != nil {
		t.Errorf("an iterator from before: %d rows, %v", n, rows.Err())
	}
	if got := all(t, sn, triple.Pattern{}, ReadOptions{}); len(got) != 100 {
		t.Errorf("a snapshot from before: %d triples", len(got))
	}
	if n, err := snapshot(t, s).Count(ctx, triple.Pattern{}); err != nil || n != 2950 {
		t.Errorf("now: %d triples, %v", n, err)
	}
	checked(t, s)
}
