// Taking over the layout of segments that a view has.

package node

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// SetLayout makes the cluster's layout that of the store, which splits no segments
// by itself from then on. It is written, but need not be durable: the next start
// hears of it from the cluster.
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
	if err := s.uses.begin(); err != nil {
		return wrap("set layout", err)
	}
	defer s.uses.end()
	if err := s.health.err(); err != nil {
		return wrap("set layout", err)
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	if err := next.write(batch); err != nil {
		return wrap("set layout", err)
	}
	return wrap("set layout", s.applyStamped(batch, false))
}

// Split says where a segment should be split.
type Split struct {
	Segment uint64
	At      []byte // strictly inside of the segment
	Bytes   int64  // on the disk, as far as tables tell
}

// Oversized returns where the segments of this machine should be split that are larger
// than so many bytes: in their middle, or, where segments are small, in as many places
// as make all parts smaller, so that one look at them is enough. A segment that
// cannot be measured is left out, and logged.
func (s *Store) Oversized(maxBytes int64) []Split {
	if err := s.uses.begin(); err != nil {
		return nil // closing
	}
	defer s.uses.end()
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

// Undersized returns the segments of this machine that have at most so many bytes, as many
// as most. A segment that cannot be measured is left out.
func (s *Store) Undersized(maxBytes int64, most int) (small []uint64) {
	if err := s.uses.begin(); err != nil {
		return nil // closing
	}
	defer s.uses.end()
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

// splitBound returns a key that separates about what at does, and no annotation from
// its version. It is nil where nothing is left on one of the sides.
func (s *Store) splitBound(lower, at, upper []byte) ([]byte, error) {
	whole := triple.SplitBound(at)
	if bytes.Compare(append([]byte{tableStorage}, whole...), lower) <= 0 {
		if len(whole) == len(at) {
			return nil, nil
		}
		_, whole = triple.AnnotationBounds(whole) // behind all that stays together
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	if !it.SeekGE(append([]byte{tableStorage}, whole...)) || !it.Prev() {
		return nil, it.Error()
	}
	return whole, it.Error()
}
