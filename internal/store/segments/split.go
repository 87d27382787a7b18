// The maintenance of segments: measuring and splitting them.

package segments

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Run splits too large segments until the store closes or fails.
func (s *Segments) Run() {
	for {
		select {
		case <-s.db.Stopping():
			return
		case <-s.wake:
		}
		if s.db.Err() != nil {
			return
		}
		s.unseen.Store(0)
		s.measured.Store(0)
		if err := s.splitSegments(); err != nil {
			s.db.Logger.Error("segments could not be split", "error", err)
		}
	}
}

// splitSegments splits segments until none is larger than MaxSegmentBytes.
func (s *Segments) splitSegments() error {
	if err := s.db.Begin(); err != nil {
		return nil // closing
	}
	defer s.db.End()
	s.changing.Lock()
	defer s.changing.Unlock()
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
func (s *Segments) splitSegment(id uint64) error {
	for !s.db.Closing() && !s.managed.Load() {
		// 1. Find a key near the middle, unless the segment is small enough.
		l := s.current.Load()
		segment, ok := l.trie.Get(id)
		if !ok {
			return nil
		}
		at, _, err := s.splitPoint(segment, s.maxBytes)
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
		s.Splits.Add(1)
		if err := s.splitSegment(right); err != nil {
			return err
		}
	}
	return nil
}

// splitPoint returns the size of a segment, and a key near its middle if it is larger than
// maxBytes. Otherwise at is nil.
func (s *Segments) splitPoint(segment trie.Segment, maxBytes int64) (at []byte, size int64, err error) {
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
func (s *Segments) splitPoints(segment trie.Segment, maxBytes int64) (cuts [][]byte, size int64, err error) {
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
func (s *Segments) cutsByRows(lower, upper []byte, total, parts int64) (cuts [][]byte, err error) {
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

// middleByRows adds up rows to half of their size. It returns nil if there is only one row.
func (s *Segments) middleByRows(lower, upper []byte, total int64) ([]byte, error) {
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

// middleByTables measures by the bytes of tables. It halves the range of keys until both sides are
// about even. In each step the bound of the heavier side moves to an existing key.
func (s *Segments) middleByTables(lower, upper []byte, total uint64) ([]byte, error) {
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

// splitBound returns a key that separates about where at does, but never an annotation from its
// row. It is nil if one side would be empty.
func (s *Segments) splitBound(lower, at, upper []byte) ([]byte, error) {
	whole := triple.SplitBound(at)
	if bytes.Compare(append([]byte{keyspace.Storage}, whole...), lower) <= 0 {
		if len(whole) == len(at) {
			return nil, nil
		}
		_, whole = triple.AnnotationBounds(whole) // after everything that must stay together
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	if !it.SeekGE(append([]byte{keyspace.Storage}, whole...)) || !it.Prev() {
		return nil, it.Error()
	}
	return whole, it.Error()
}
