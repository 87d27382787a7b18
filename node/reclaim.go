// This file holds what a store does in quiet times: it gives back the disk space of rows
// that were deleted, and merges segments that shrank.

package node

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/trie"
)

const (
	// reclaimRows is how many deleted rows are worth a flush: they are in memory until then.
	reclaimRows = 4096
	// reclaimShare: a range of tables is compacted if at least one part in so many of it
	// is deleted rows, so that a byte that is given back costs at most so many written ones.
	reclaimShare = 10
	// reclaimBytes is the least that is worth a compaction.
	reclaimBytes = 64 << 10
	// mergeShare: neighbours are merged if together they have at most one part in so many
	// of a segment's greatest size, so that the next rows do not split them again.
	mergeShare = 4
)

// Tidy gives back the disk space of deleted rows and, unless the segments are the
// cluster's, merges those that shrank. It works in small steps. After each it calls next
// with the time that the step took, and ends if next returns false: next pauses as long as
// it wants. Requests go on meanwhile.
func (s *Store) Tidy(ctx context.Context, next func(time.Duration) bool) error {
	if s.options.ReadOnly {
		return wrap("tidy", ErrReadOnly)
	}
	if err := s.uses.begin(); err != nil {
		return nil // closing
	}
	defer s.uses.end()
	if err := s.reclaim(ctx, next); err != nil {
		return wrap("reclaim space", err)
	}
	return wrap("merge segments", s.mergeSegments(next))
}

// reclaim compacts the ranges that have many deleted rows.
func (s *Store) reclaim(ctx context.Context, next func(time.Duration) bool) error {
	full := s.disk.room(0) != nil
	// 1. Deleted rows count in tables only.
	removed := s.metrics.removed()
	if n := removed - s.flushed.Load(); n >= reclaimRows || full && n > 0 {
		begun := time.Now()
		if err := s.db.Flush(); err != nil {
			return err
		}
		s.flushed.Store(removed)
		if !next(time.Since(begun)) {
			return nil
		}
	}
	// 2. One range at a time. The tables are listed again after each, because deleted rows
	// move down level by level, and what lies above a range narrows.
	for s.health.err() == nil && !s.uses.closing.Load() {
		lower, upper, err := s.deletedRange(full)
		if err != nil || lower == nil {
			return err
		}
		begun, before := time.Now(), s.tableBytes()
		if err := s.db.Compact(ctx, lower, upper, false); err != nil {
			return err
		}
		after := s.tableBytes()
		s.metrics.reclaims.Add(1)
		s.metrics.reclaimed.Add(max(before-after, 0))
		if !next(time.Since(begun)) {
			return nil
		}
	}
	return nil
}

// deletedRange returns the range that is most worth a compaction: keys from lower to
// upper; nil if none is. A table of level 0 may span everything, so that only its
// beginning is named: that moves it down a level, where tables are narrow.
func (s *Store) deletedRange(full bool) (lower, upper []byte, err error) {
	m := s.db.Metrics()
	garbage := m.Table.Garbage.PointDeletionsBytesEstimate + m.Table.Garbage.RangeDeletionsBytesEstimate
	if garbage < reclaimBytes || m.Table.PendingStatsCollectionCount > 0 {
		return nil, nil, nil
	}
	levels, err := s.db.SSTables()
	if err != nil {
		return nil, nil, err
	}
	most := uint64(reclaimBytes) - 1
	for level, tables := range levels[:len(levels)-1] {
		for i := range tables {
			t := &tables[i]
			deleted := t.TableStats.PointDeletionsBytesEstimate + t.TableStats.RangeDeletionsBytesEstimate
			if t.TableStats.NumDeletions == 0 || level > 0 && deleted <= most {
				continue
			}
			first, last := bytes.Clone(t.Smallest.UserKey), append(bytes.Clone(t.Largest.UserKey), 0)
			if level == 0 {
				return first, append(bytes.Clone(first), 0), nil
			}
			size, err := s.db.EstimateDiskUsage(first, last)
			if err != nil {
				return nil, nil, err
			}
			if full || deleted*reclaimShare >= size {
				lower, upper, most = first, last, deleted
			}
		}
	}
	return lower, upper, nil
}

// tableBytes returns the size of all tables.
func (s *Store) tableBytes() (bytes int64) {
	for _, level := range s.db.Metrics().Levels {
		bytes += level.TablesSize
	}
	return bytes
}

// mergeSegments merges neighbours that have become small, on a lone store.
func (s *Store) mergeSegments(next func(time.Duration) bool) error {
	if s.managed.Load() || s.metrics.removed() == s.merged.Load() {
		return nil
	}
	removed := s.metrics.removed()
	for {
		begun := time.Now()
		merged, err := s.mergeNeighbours()
		if err != nil || s.uses.closing.Load() {
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

// mergeable returns the first neighbours that are together no larger than maxBytes; none
// has ID 0.
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

// mergeNeighbours merges two neighbours if there are two that are small. One machine has
// both, so that the partition of the right one may change.
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
