// Merging segments that have shrunk.

package segments

import (
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/trie"
)

// mergeShare limits merged segments. Neighbours are merged if together they have at most one part
// in mergeShare of the maximum size. Otherwise the next rows would split them again.
const mergeShare = 4

// Merge merges small neighbours of a lone store, one pair at a time. removed is the number of rows
// removed since the store was opened. After each step Merge calls next with the step's duration,
// and ends if next returns false.
func (s *Segments) Merge(removed int64, next func(time.Duration) bool) error {
	if s.managed.Load() || removed == s.merged.Load() {
		return nil
	}
	for {
		begun := time.Now()
		merged, err := s.mergeNeighbours()
		if err != nil || s.db.Closing() {
			return err
		}
		if !merged {
			s.merged.Store(removed)
			return nil
		}
		if !next(time.Since(begun)) {
			return nil
		}
	}
}

// mergeable returns the first neighbours with together at most maxBytes. If there are none, the
// segments have ID 0.
func (s *Segments) mergeable(maxBytes int64) (left, right trie.Segment, err error) {
	var before trie.Segment
	size := maxBytes + 1
	for segment := range s.Trie().All() {
		lower, upper := segmentBounds(segment)
		bytes, err := s.segmentBytes(lower, upper, s.byTables)
		if err != nil {
			return left, right, fmt.Errorf("segment %d: %w", segment.ID, err)
		}
		if size+bytes <= maxBytes {
			return before, segment, nil
		}
		before, size = segment, bytes
	}
	return left, right, nil
}

// mergeNeighbours merges two small neighbours if there are any. The partition of the right one may
// change, because one machine has both.
func (s *Segments) mergeNeighbours() (merged bool, err error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	left, right, err := s.mergeable(s.maxBytes / mergeShare)
	if err != nil || left.ID == 0 {
		return false, err
	}
	l := s.current.Load()
	assigned, err := l.trie.Assign(right.ID, left.Partition)
	if err == nil {
		assigned, err = assigned.Merge(left.ID, right.ID)
	}
	if err != nil {
		return false, err
	}
	if merged, err = s.writeLayout(&layout{assigned, l.placement, l.nextID}); merged && err == nil {
		s.Merges.Add(1)
	}
	return merged, err
}
