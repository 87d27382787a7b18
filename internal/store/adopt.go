// Adopting the layout of a view.

package store

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// SetLayout makes the cluster's layout the store's. From then on the store splits no segments by
// itself. The layout is written, but need not be durable, because the next start gets it from the
// cluster.
func (s *Store) SetLayout(l recovery.Layout) error {
	next := &layout{trie: l.Trie, placement: l.Placement}
	for segment := range l.Trie.All() {
		next.nextID = max(next.nextID, segment.ID+1)
	}
	s.layoutMu.Lock()
	defer s.layoutMu.Unlock()
	s.managed.Store(true)
	s.layout.Store(next)
	if s.options.ReadOnly {
		return nil
	}
	if err := s.db.Begin(); err != nil {
		return fault.Wrap("set layout", err)
	}
	defer s.db.End()
	if err := s.db.Err(); err != nil {
		return fault.Wrap("set layout", err)
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	if err := next.write(batch); err != nil {
		return fault.Wrap("set layout", err)
	}
	return fault.Wrap("set layout", s.db.Commit(batch, false))
}

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
func (s *Store) Oversized(maxBytes int64) []Split {
	if err := s.db.Begin(); err != nil {
		return nil // closing
	}
	defer s.db.End()
	l := s.layout.Load()
	var splits []Split
	for segment := range l.trie.All() {
		if l.placement.Owner(segment) != s.MachineID() {
			continue
		}
		cuts, size, err := s.splitPoints(segment, maxBytes)
		if err != nil {
			s.options.Logger.Error("a segment could not be measured", "error", fmt.Errorf("segment %d: %w", segment.ID, err))
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
func (s *Store) Undersized(maxBytes int64, most int) (small []uint64) {
	if err := s.db.Begin(); err != nil {
		return nil // closing
	}
	defer s.db.End()
	l := s.layout.Load()
	for segment := range l.trie.All() {
		if len(small) == most || l.placement.Owner(segment) != s.MachineID() {
			continue
		}
		lower, upper := segmentBounds(segment)
		if bytes, err := s.segmentBytes(lower, upper, s.byTables && maxBytes >= smallSegment); err == nil && bytes <= maxBytes {
			small = append(small, segment.ID)
		}
	}
	return small
}

// splitBound returns a key that separates about where at does, but never an annotation from its
// row. It is nil if one side would be empty.
func (s *Store) splitBound(lower, at, upper []byte) ([]byte, error) {
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
