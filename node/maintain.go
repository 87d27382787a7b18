package node

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/trie"
)

// wrote tells the maintenance of so many bytes of writes.
func (s *Store) wrote(bytes int64) {
	if s.metrics.unseen.Add(bytes) >= s.options.MaxSegmentBytes/4 {
		s.kick()
	}
}

// kick makes the maintenance look at the segments.
func (s *Store) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// runMaintenance is the goroutine that splits segments that have grown too large.
func (s *Store) runMaintenance() {
	for {
		select {
		case <-s.health.closing:
			return
		case <-s.wake:
		}
		if s.health.err() != nil {
			return
		}
		s.metrics.unseen.Store(0)
		if err := s.splitSegments(); err != nil {
			s.options.Logger.Error("segments could not be split", "error", err)
		}
	}
}

// splitSegments splits segments until none is larger than MaxSegmentBytes.
func (s *Store) splitSegments() error {
	if err := s.uses.begin(); err != nil {
		return nil // closing
	}
	defer s.uses.end()
	// The trie of now: a split makes a new one, and looks after its halves itself.
	for segment := range s.Trie().All() {
		if err := s.splitSegment(segment.ID); err != nil {
			return err
		}
	}
	return nil
}

// splitSegment splits one segment, and the halves of it, while they are too large.
func (s *Store) splitSegment(id uint64) error {
	for !s.uses.closing.Load() {
		l := s.layout.Load()
		segment, ok := l.trie.Get(id)
		if !ok {
			return nil
		}
		at, err := s.splitPoint(segment)
		if err != nil || at == nil {
			return err
		}
		split, err := l.trie.Split(id, at, l.nextID)
		if err != nil {
			return err
		}
		right := l.nextID
		if err := s.writeLayout(&layout{split, l.placement, right + 1}); err != nil {
			return fmt.Errorf("split segment %d: %w", id, err)
		}
		s.metrics.splits.Add(1)
		if err := s.splitSegment(right); err != nil {
			return err
		}
	}
	return nil
}

// smallSegment is the size below which tables are too coarse a measure (a block
// counts as a whole), so that rows are read and added up.
const smallSegment = 4 << 20

// splitPoint returns a key near the middle of a segment that is too large, nil
// where it is not.
func (s *Store) splitPoint(segment trie.Segment) ([]byte, error) {
	lower := append([]byte{tableStorage}, segment.Lo...)
	upper := []byte{tableStorage + 1}
	if segment.Hi != nil {
		upper = append([]byte{tableStorage}, segment.Hi...)
	}
	if s.options.MaxSegmentBytes < smallSegment {
		return s.middleByRows(lower, upper)
	}
	return s.middleByTables(lower, upper)
}

// middleByRows adds up rows. It returns nil where they are within the limit, or
// only one.
func (s *Store) middleByRows(lower, upper []byte) ([]byte, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	total := int64(0)
	for valid := it.First(); valid; valid = it.Next() {
		total += rowBytes(it)
	}
	if err := it.Error(); err != nil || total <= s.options.MaxSegmentBytes {
		return nil, err
	}
	half := int64(0)
	var before []byte
	for valid := it.First(); valid; valid = it.Next() {
		if before != nil && half >= total/2 {
			return trie.Separator(before[1:], it.Key()[1:]), nil
		}
		half += rowBytes(it)
		before = append(before[:0], it.Key()...)
	}
	return nil, it.Error()
}

func rowBytes(it *pebble.Iterator) int64 { return int64(len(it.Key()) + len(it.Value())) }

// middleByTables measures by the tables' bytes. It halves the range of keys,
// moving the bound of the heavier side to a key that is there, until the sides
// are about even.
func (s *Store) middleByTables(lower, upper []byte) ([]byte, error) {
	total, err := s.db.EstimateDiskUsage(lower, upper)
	if err != nil || int64(total) <= s.options.MaxSegmentBytes {
		return nil, err
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	lo, hi, err := ends(it)
	if err != nil || lo == nil {
		return nil, err
	}
	// Invariant: lo <= before < at <= hi are keys of rows; the middle lies in [lo, hi].
	var before, at []byte
	for bytes.Compare(lo, hi) < 0 {
		middle := append([]byte{tableStorage}, trie.Midpoint(lo[1:], hi[1:])...)
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
