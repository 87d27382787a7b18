// Measuring segments: when, and by what.

package segments

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// smallSegment is the size below which rows are read and added up. Tables are too coarse there,
// because a block counts as a whole.
const smallSegment = 4 << 20

// Written records written bytes. The segments are measured again after a quarter of a segment. If
// rows are added up, a sixteenth of all rows must be new, too, because the work must stay in
// proportion.
func (s *Segments) Written(bytes int64) {
	if s.unseen.Add(bytes) >= max(s.maxBytes/4, s.measured.Load()/16) {
		s.Measure()
	}
}

// Measure makes the maintenance measure the segments, because new tables came.
func (s *Segments) Measure() { s.wake.Send() }

// Flushed makes Run measure the segments if they are measured by tables, because rows came to
// tables.
func (s *Segments) Flushed() {
	if s.byTables {
		s.Measure()
	}
}

func segmentBounds(segment trie.Segment) (lower, upper []byte) {
	return keyspace.StorageBounds(triple.Range{Lo: segment.Lo, Hi: segment.Hi})
}

// segmentBytes returns the size of a range: of its part of the tables, or of its rows.
func (s *Segments) segmentBytes(lower, upper []byte, byTables bool) (int64, error) {
	if byTables {
		size, err := s.db.EstimateDiskUsage(lower, upper)
		return int64(size), err
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return 0, err
	}
	defer it.Close()
	size := int64(0)
	for valid := it.First(); valid; valid = it.Next() {
		size += rowBytes(it)
	}
	s.measured.Add(size)
	return size, it.Error()
}

func rowBytes(it *pebble.Iterator) int64 { return int64(len(it.Key()) + len(it.Value())) }

// Split is a segment and the key to split it at.
type Split struct {
	Segment uint64
	At      []byte // strictly inside the segment
	Bytes   int64  // on disk, by the tables' estimate
}

// Oversized returns the keys to split this machine's segments at, if they are larger than
// maxBytes. A large segment is split in its middle. A small one is split into enough parts that
// all are small enough, because then one pass suffices. If a segment cannot be measured, it is
// logged and left out.
func (s *Segments) Oversized(maxBytes int64) []Split {
	if err := s.db.Begin(); err != nil {
		return nil // closing
	}
	defer s.db.End()
	l := s.current.Load()
	var splits []Split
	for segment := range l.trie.All() {
		if l.placement.Owner(segment) != s.machine {
			continue
		}
		cuts, size, err := s.splitPoints(segment, maxBytes)
		if err != nil {
			s.db.Logger.Error("a segment could not be measured", "error", fmt.Errorf("segment %d: %w", segment.ID, err))
			continue
		}
		for _, at := range cuts {
			splits = append(splits, Split{segment.ID, at, size})
		}
	}
	return splits
}

// Undersized returns at most most segments of this machine with at most maxBytes. If a segment
// cannot be measured, it is left out.
func (s *Segments) Undersized(maxBytes int64, most int) (small []uint64) {
	if err := s.db.Begin(); err != nil {
		return nil // closing
	}
	defer s.db.End()
	l := s.current.Load()
	for segment := range l.trie.All() {
		if len(small) == most || l.placement.Owner(segment) != s.machine {
			continue
		}
		lower, upper := segmentBounds(segment)
		if bytes, err := s.segmentBytes(lower, upper, s.byTables && maxBytes >= smallSegment); err == nil && bytes <= maxBytes {
			small = append(small, segment.ID)
		}
	}
	return small
}
