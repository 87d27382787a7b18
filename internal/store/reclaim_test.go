// Tests of Tidy.

package store

import (
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// tidyUntil tidies until done returns true: Pebble measures new tables in the background.
func tidyUntil(t *testing.T, s *Store, what string, done func() bool) {
	t.Helper()
	await.Condition(t, what, func() bool {
		require.NoError(t, s.Tidy(ctx, func(time.Duration) bool { return true }))
		return done()
	})
}

// Deleted rows leave the disk in quiet times, even if a snapshot is open that shows other rows.
// The remaining rows stay the same.
func TestTidyReclaimsSpace(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	s := openMem(t, Options{FS: vfs.NewMem()})
	const rows, kept = 40_000, 10_000
	loadTriples(t, s, "a", students(0, rows))
	flush := func() { // waiting tables and deletes in memory are in no level
		require.NoError(t, s.db.Flush())
	}
	flush()
	before := s.Status().Bytes
	for i := kept; i < rows; i += 5000 {
		if _, err := Delete(ctx, s, students(i, i+5000)); err != nil {
			t.Fatal(err)
		}
	}
	if now := s.Status().Bytes; now < before/2 {
		t.Errorf("%d bytes before, %d without tidying", before, now)
	}
	flush()
	tidyUntil(t, s, "the space is given back", func() bool { return s.Status().Bytes < before/2 })
	t.Logf("%d bytes of tables, then %d, after %d compactions", before, s.Status().Bytes, s.db.Counts.Reclaims.Load())
	if s.Status().Reclaimed < before/2 {
		t.Errorf("the status says %d bytes", s.Status().Reclaimed)
	}
	if r := checked(t, s); r.Triples != kept {
		t.Errorf("%d triples", r.Triples)
	}
	calls := 0
	if err := s.Tidy(ctx, func(time.Duration) bool { calls++; return true }); err != nil || calls > 0 {
		t.Errorf("%d steps with nothing to do, %v", calls, err)
	}
}

// Tidy stops when next returns false, and continues later.
func TestTidyStops(t *testing.T) {
	s := openMem(t, Options{})
	loadTriples(t, s, "a", students(0, 20_000))
	if _, err := Delete(ctx, s, students(0, 10_000)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		calls := 0
		if err := s.Tidy(ctx, func(time.Duration) bool { calls++; return false }); err != nil || calls > 1 {
			t.Fatalf("%d steps, %v", calls, err)
		}
	}
	checked(t, s)
}

// A store without changes in the feed is tidied while a commit waits for its disk.
func TestTidyAmidCommit(t *testing.T) {
	s := openMem(t, Options{})
	err := s.committer.Exclusive(func(*Commit) error {
		tidied := make(chan error, 1)
		go func() { tidied <- s.Tidy(ctx, func(time.Duration) bool { return true }) }()
		select {
		case err := <-tidied:
			return err
		case <-time.After(time.Minute):
			return errors.New("Tidy waits for the commit")
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// Small segments are merged, each key is always in one segment, and the layout is the same after a
// restart.
func TestTidyMergesSegments(t *testing.T) {
	fs := vfs.NewMem()
	options := Options{FS: fs, MaxSegmentBytes: 64 << 10}
	s, err := Open("data", options)
	require.NoError(t, err)
	add(t, s, students(0, 6000)...)
	await.Condition(t, "segments are split", func() bool { return s.segments.Trie().Len() > 20 })
	many := s.segments.Trie().Len()
	if _, err := Delete(ctx, s, students(100, 6000)); err != nil {
		t.Fatal(err)
	}
	tidyUntil(t, s, "segments are merged", func() bool { return s.segments.Trie().Len() <= 4 })
	if got := s.Status(); got.Merges < int64(many-4) || s.segments.Trie().Check() != nil {
		t.Errorf("%d merges of %d segments, %v", got.Merges, many, s.segments.Trie().Check())
	}
	few := s.segments.Trie().Len()
	require.NoError(t, s.Close())
	s = openMem(t, options)
	if s.segments.Trie().Len() != few {
		t.Errorf("%d segments, and %d after a restart", few, s.segments.Trie().Len())
	}
	if r := checked(t, s); r.Triples != 100 {
		t.Errorf("%d triples", r.Triples)
	}
	// They are split again when they grow.
	add(t, s, students(100, 6000)...)
	await.Condition(t, "segments are split again", func() bool { return s.segments.Trie().Len() > 20 })
	sn := snapshot(t, s)
	if n, err := sn.Count(ctx, triple.Pattern{}); n != 6000 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	sn.Close()
}
