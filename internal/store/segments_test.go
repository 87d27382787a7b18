// Tests of segments.

package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/trie"
)

// Segments are split when data grows, near the middle, and stay split.
func TestSplitSegments(t *testing.T) {
	for name, o := range map[string]Options{
		"small, by rows": {MaxSegmentBytes: 16 << 10},
		"by tables":      {MaxSegmentBytes: smallSegment, MemTableBytes: 1 << 20},
	} {
		if raced && o.MaxSegmentBytes >= smallSegment {
			continue // the same goroutines, with twenty times the rows
		}
		t.Run(name, func(t *testing.T) {
			o.FS = vfs.NewMem()
			s := openMem(t, o)
			n := fewer(3000)
			if o.MaxSegmentBytes >= smallSegment {
				n = 60_000
				s.options.MaxSegmentBytes = 128 << 10 // the same code for less data
				s.byTables = true
			}
			for i := 0; i < n; i += 200 {
				add(t, s, students(i, i+200)...)
			}
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "splits", func() bool { return s.Trie().Len() >= 8 })
			loadTriples(t, s, "more", students(n, 2*n))
			before := s.Trie().Len()
			eventually(t, "splits after a load", func() bool { return s.Trie().Len() > before })
			settled(t, s)
			sizes(t, s)
			count := s.Trie().Len()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openMem(t, o)
			if got := s.Trie().Len(); got < count {
				t.Errorf("%d segments, %d before", got, count)
			}
			checked(t, s)
		})
	}
}

// settled waits until nothing is left to split.
func settled(t *testing.T, s *Store) {
	t.Helper()
	eventually(t, "all splits", func() bool {
		s.MeasureSegments()
		for segment := range s.Trie().All() {
			if at, _, err := s.splitPoint(segment, s.options.MaxSegmentBytes); err != nil || at != nil {
				return false
			}
		}
		return true
	})
}

// sizes verifies that splits were near the middle: after halving, few pieces are smaller than a
// sixth of the limit.
func sizes(t *testing.T, s *Store) {
	t.Helper()
	small, limit := 0, s.options.MaxSegmentBytes
	for segment := range s.Trie().All() {
		lower, upper := segmentBounds(segment)
		size, err := s.segmentBytes(lower, upper, s.byTables)
		if err != nil {
			t.Fatal(err)
		}
		if size < limit/6 {
			small++
		}
	}
	t.Logf("%d segments, %d of them small", s.Trie().Len(), small)
	// Tables shrink in compactions, after segments were measured by them.
	if !s.byTables && small > s.Trie().Len()/10 {
		t.Errorf("%d of %d segments are smaller than a sixth of the limit", small, s.Trie().Len())
	}
}

// A segment of one key is never split, whatever its size.
func TestSplitOneKey(t *testing.T) {
	s := openMem(t, Options{MaxSegmentBytes: 1})
	for i := range 5 {
		add(t, s, student(i))
	}
	eventually(t, "splits", func() bool { return s.Trie().Len() >= 15 })
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
