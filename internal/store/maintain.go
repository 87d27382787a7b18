// The maintenance of segments: measuring and splitting them.

package store

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// upkeep is the state of the maintenance.
type upkeep struct {
	wake     chan struct{} // holds a token if there may be work
	unseen   atomic.Int64  // bytes written since the segments were measured
	measured atomic.Int64  // bytes of all rows at that time, if rows are added up
	changing sync.Mutex    // held to split or merge segments of a lone store
}

// wrote records written bytes. The segments are measured again after a quarter of a segment. If
// rows are added up, a sixteenth of all rows must be new, too, because the work must stay in
// proportion.
func (s *Store) wrote(bytes int64) {
	if s.upkeep.unseen.Add(bytes) >= max(s.options.MaxSegmentBytes/4, s.upkeep.measured.Load()/16) {
		s.MeasureSegments()
	}
}

// MeasureSegments makes the maintenance measure the segments, because new tables came.
func (s *Store) MeasureSegments() {
	select {
	case s.upkeep.wake <- struct{}{}:
	default:
	}
}

// runMaintenance is the goroutine that splits too large segments.
func (s *Store) runMaintenance() {
	for {
		select {
		case <-s.db.Stopping():
			return
		case <-s.upkeep.wake:
		}
		if s.db.Err() != nil {
			return
		}
		s.upkeep.unseen.Store(0)
		s.upkeep.measured.Store(0)
		if err := s.splitSegments(); err != nil {
			s.options.Logger.Error("segments could not be split", "error", err)
		}
	}
}

// splitSegments splits segments until none is larger than MaxSegmentBytes.
func (s *Store) splitSegments() error {
	if err := s.db.Begin(); err != nil {
		return nil // closing
	}
	defer s.db.End()
	s.upkeep.changing.Lock()
	defer s.upkeep.changing.Unlock()
	// This loop reads the current trie, because a split makes a new one and handles its own
	// halves.
	for segment := range s.Trie().All() {
		if err := s.splitSegment(segment.ID); err != nil {
			return err
		}
	}
	return nil
}

// splitSegment splits one segment and its halves until none is too large.
func (s *Store) splitSegment(id uint64) error {
	for !s.db.Closing() && !s.managed.Load() {
		// 1. Find a key near the middle, unless the segment is small enough.
		l := s.layout.Load()
		segment, ok := l.trie.Get(id)
		if !ok {
			return nil
		}
		at, _, err := s.splitPoint(segment, s.options.MaxSegmentBytes)
		if err != nil || at == nil {
			return err
		}
		// 2. Write the new layout. If another layout came meanwhile, that one counts.
		split, err := l.trie.Split(id, at, l.nextID)
		if err != nil {
			return err
		}
		right := l.nextID
		done, err := s.writeLayout(&layout{split, l.placement, right + 1})
		if err != nil {
			return fmt.Errorf("split segment %d: %w", id, err)
		}
		if !done {
			return nil
		}
		// 3. Split the right half here; the loop continues with the left one.
		s.metrics.splits.Add(1)
		if err := s.splitSegment(right); err != nil {
			return err
		}
	}
	return nil
}

// smallSegment is the size below which rows are read and added up. Tables are too coarse there,
// because a block counts as a whole.
const smallSegment = 4 << 20

// splitPoint returns the size of a segment, and a key near its middle if it is larger than
// maxBytes. Otherwise at is nil.
func (s *Store) splitPoint(segment trie.Segment, maxBytes int64) (at []byte, size int64, err error) {
	lower, upper := segmentBounds(segment)
	byTables := maxBytes >= smallSegment
	size, err = s.segmentBytes(lower, upper, byTables)
	if err != nil || size <= maxBytes {
		return nil, size, err
	}
	if byTables {
		at, err = s.middleByTables(lower, upper, uint64(size))
	} else {
		at, err = s.middleByRows(lower, upper, size)
	}
	if err != nil || at == nil {
		return nil, size, err
	}
	at, err = s.splitBound(lower, at, upper)
	return at, size, err
}

// splitPoints is splitPoint with several keys. If a segment is measured by its rows, it is split
// into enough parts that all are smaller than maxBytes.
func (s *Store) splitPoints(segment trie.Segment, maxBytes int64) (cuts [][]byte, size int64, err error) {
	if maxBytes >= smallSegment {
		at, size, err := s.splitPoint(segment, maxBytes)
		if at != nil {
			cuts = append(cuts, at)
		}
		return cuts, size, err
	}
	lower, upper := segmentBounds(segment)
	size, err = s.segmentBytes(lower, upper, false)
	if err != nil || size <= maxBytes {
		return nil, size, err
	}
	keys, err := s.cutsByRows(lower, upper, size, 1+size/max(maxBytes*2/3, 1))
	for _, key := range keys {
		if key, err = s.splitBound(lower, key, upper); err != nil {
			return nil, size, err
		}
		if key != nil && (len(cuts) == 0 || bytes.Compare(cuts[len(cuts)-1], key) < 0) {
			cuts = append(cuts, key)
		}
	}
	return cuts, size, err
}

// cutsByRows returns keys that divide rows into about parts parts of equal size.
func (s *Store) cutsByRows(lower, upper []byte, total, parts int64) (cuts [][]byte, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	left, next := int64(0), total/parts
	var before []byte
	for valid := it.First(); valid; valid = it.Next() {
		if left >= next && before != nil {
			cuts = append(cuts, trie.Separator(before[1:], it.Key()[1:]))
			for next <= left {
				next += max(total/parts, 1)
			}
		}
		before = append(before[:0], it.Key()...)
		left += rowBytes(it)
	}
	return cuts, it.Error()
}

func segmentBounds(segment trie.Segment) (lower, upper []byte) {
	return keyspace.StorageBounds(triple.Range{Lo: segment.Lo, Hi: segment.Hi})
}

// segmentBytes returns the size of a range: of its part of the tables, or of its rows.
func (s *Store) segmentBytes(lower, upper []byte, byTables bool) (int64, error) {
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
	s.upkeep.measured.Add(size)
	return size, it.Error()
}

// middleByRows adds up rows to half of their size. It returns nil if there is only one row.
func (s *Store) middleByRows(lower, upper []byte, total int64) ([]byte, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	left := int64(0)
	var before, at []byte
	for valid := it.First(); valid; valid = it.Next() {
		if before = append(before[:0], at...); len(before) > 0 && left >= total/2 {
			return trie.Separator(before[1:], it.Key()[1:]), nil
		}
		at = append(at[:0], it.Key()...)
		left += rowBytes(it)
	}
	if err := it.Error(); err != nil || len(before) == 0 {
		return nil, err
	}
	return trie.Separator(before[1:], at[1:]), nil // the last row is the larger half
}

func rowBytes(it *pebble.Iterator) int64 { return int64(len(it.Key()) + len(it.Value())) }

// middleByTables measures by the bytes of tables. It halves the range of keys until both sides are
// about even. In each step the bound of the heavier side moves to an existing key.
func (s *Store) middleByTables(lower, upper []byte, total uint64) ([]byte, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	// 1. Start with the first and the last key of the range.
	lo, hi, err := ends(it)
	if err != nil || lo == nil {
		return nil, err
	}
	// Invariant: lo <= before < at <= hi are keys of rows; the middle lies in [lo, hi].
	var before, at []byte
	for bytes.Compare(lo, hi) < 0 {
		// 2. Find the neighbours of the middle key, because only existing keys separate rows.
		middle := append([]byte{keyspace.Storage}, trie.Midpoint(lo[1:], hi[1:])...)
		if !it.SeekGE(middle) {
			return nil, it.Error()
		}
		at = bytes.Clone(it.Key())
		if !it.Prev() {
			return nil, it.Error()
		}
		before = bytes.Clone(it.Key())
		left, err := s.db.EstimateDiskUsage(lower, before)
		if err != nil {
			return nil, err
		}
		// 3. Continue in the heavier half if the sides differ by more than a tenth.
		switch {
		case left > total*11/20 && bytes.Compare(before, hi) < 0:
			hi = before
		case left < total*9/20 && bytes.Compare(at, lo) > 0:
			lo = at
		default:
			return trie.Separator(before[1:], at[1:]), nil
		}
	}
	if at == nil {
		return nil, nil
	}
	return trie.Separator(before[1:], at[1:]), nil
}

// ends returns the first and the last key of an iterator's range.
func ends(it *pebble.Iterator) (first, last []byte, err error) {
	if !it.First() {
		return nil, nil, it.Error()
	}
	first = bytes.Clone(it.Key())
	if !it.Last() {
		return nil, nil, it.Error()
	}
	return first, bytes.Clone(it.Key()), nil
}

// mergeShare limits merged segments. Neighbours are merged if together they have at most one part
// in mergeShare of the maximum size. Otherwise the next rows would split them again.
const mergeShare = 4

// mergeSegments merges small neighbours, on a lone store.
func (s *Store) mergeSegments(next func(time.Duration) bool) error {
	if s.managed.Load() || s.metrics.removed() == s.merged.Load() {
		return nil
	}
	removed := s.metrics.removed()
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
func (s *Store) mergeable(maxBytes int64) (left, right trie.Segment, err error) {
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
func (s *Store) mergeNeighbours() (merged bool, err error) {
	s.upkeep.changing.Lock()
	defer s.upkeep.changing.Unlock()
	left, right, err := s.mergeable(s.options.MaxSegmentBytes / mergeShare)
	if err != nil || left.ID == 0 {
		return false, err
	}
	l := s.layout.Load()
	assigned, err := l.trie.Assign(right.ID, left.Partition)
	if err == nil {
		assigned, err = assigned.Merge(left.ID, right.ID)
	}
	if err != nil {
		return false, err
	}
	if merged, err = s.writeLayout(&layout{assigned, l.placement, l.nextID}); merged && err == nil {
		s.metrics.merges.Add(1)
	}
	return merged, err
}
