// Work for quiet times: freeing the disk space of deleted rows, and merging small segments.

package store

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/trie"
)

const (
	// ReclaimRows is the number of deleted rows that is worth a flush. Until then they stay in
	// memory.
	ReclaimRows = 4096
	// reclaimShare limits the cost of a compaction. A range of tables is compacted if at least one
	// part in reclaimShare is deleted rows. So each freed byte costs at most reclaimShare written
	// ones.
	reclaimShare = 10
	// reclaimBytes is the minimum that is worth a compaction.
	reclaimBytes = 64 << 10
	// mergeShare limits merged segments. Neighbours are merged if together they have at most one
	// part in mergeShare of the maximum size. Otherwise the next rows would split them again.
	mergeShare = 4
)

// Tidy frees the disk space of deleted rows. Unless the segments are the cluster's, it also merges
// small ones. It works in small steps. After each it calls next with the step's duration, and ends
// if next returns false. next may pause. Requests continue meanwhile.
func (s *Store) Tidy(ctx context.Context, next func(time.Duration) bool) error {
	if s.options.ReadOnly {
		return Wrap("tidy", ErrReadOnly)
	}
	if err := s.uses.begin(); err != nil {
		return nil // closing
	}
	defer s.uses.end()
	if err := s.reclaim(ctx, next); err != nil {
		return Wrap("reclaim space", err)
	}
	return Wrap("merge segments", s.mergeSegments(next))
}

// reclaim compacts the ranges with many deleted rows.
func (s *Store) reclaim(ctx context.Context, next func(time.Duration) bool) error {
	full := s.disk.room(0) != nil
	// 1. Flush, because deleted rows count only in tables.
	removed := s.metrics.removed()
	if n := removed - s.flushed.Load(); n >= ReclaimRows || full && n > 0 {
		begun := time.Now()
		if err := s.db.Flush(); err != nil {
			return err
		}
		s.flushed.Store(removed)
		if !next(time.Since(begun)) {
			return nil
		}
	}
	// 2. Compact one range at a time. List the tables again after each, because deleted rows move
	// down level by level, and the tables above a range get narrower.
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

// deletedRange returns the bounds of the range that is most worth a compaction, or nil. If a table
// is in level 0, it may span everything. Then only its beginning is returned, because this moves
// it down a level, and tables are narrow there.
func (s *Store) deletedRange(full bool) (lower, upper []byte, err error) {
	// 1. Wait until enough is deleted and all tables have statistics, because the choice uses them.
	m := s.db.Metrics()
	garbage := m.Table.Garbage.PointDeletionsBytesEstimate + m.Table.Garbage.RangeDeletionsBytesEstimate
	if garbage < reclaimBytes || m.Table.PendingStatsCollectionCount > 0 {
		return nil, nil, nil
	}
	levels, err := s.db.SSTables()
	if err != nil {
		return nil, nil, err
	}
	// 2. Find the table with the most deleted bytes. The lowest level has nothing below it to
	// delete.
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
			// 3. On a full disk every freed byte counts; otherwise the share must be worth it.
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

// mergeSegments merges small neighbours, on a lone store.
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
