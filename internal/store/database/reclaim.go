// Freeing the disk space of deleted rows.

package database

import (
	"bytes"
	"context"
	"time"
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
)

// Reclaim frees the disk space of deleted rows. It compacts the ranges of tables with many of them,
// one at a time. removed is the number of rows removed since the store was opened. After each step
// Reclaim calls next with the step's duration, and ends if next returns false.
func (d *Database) Reclaim(ctx context.Context, removed int64, next func(time.Duration) bool) error {
	full := d.Room(0) != nil
	// 1. Flush, because deleted rows count only in tables.
	if n := removed - d.flushed.Load(); n >= ReclaimRows || full && n > 0 {
		begun := time.Now()
		if err := d.Flush(); err != nil {
			return err
		}
		d.flushed.Store(removed)
		if !next(time.Since(begun)) {
			return nil
		}
	}
	// 2. Compact one range at a time. List the tables again after each, because deleted rows move
	// down level by level, and the tables above a range get narrower.
	for d.Err() == nil && !d.Closing() {
		lower, upper, err := d.deletedRange(full)
		if err != nil || lower == nil {
			return err
		}
		begun, before := time.Now(), d.TableBytes()
		d.reclaiming.Store(true)
		err = d.Compact(ctx, lower, upper, false)
		d.reclaiming.Store(false)
		if err != nil {
			return err
		}
		after := d.TableBytes()
		d.Counts.Reclaims.Add(1)
		d.Counts.Reclaimed.Add(max(before-after, 0))
		if !next(time.Since(begun)) {
			return nil
		}
	}
	return nil
}

// deletedRange returns the bounds of the range that is most worth a compaction, or nil. If a table
// is in level 0, it may span everything. Then only its beginning is returned, because this moves
// it down a level, and tables are narrow there.
func (d *Database) deletedRange(full bool) (lower, upper []byte, err error) {
	// 1. Wait until enough is deleted and all tables have statistics, because the choice uses them.
	m := d.Metrics()
	garbage := m.Table.Garbage.PointDeletionsBytesEstimate + m.Table.Garbage.RangeDeletionsBytesEstimate
	if garbage < reclaimBytes || m.Table.PendingStatsCollectionCount > 0 {
		return nil, nil, nil
	}
	levels, err := d.SSTables()
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
			size, err := d.EstimateDiskUsage(first, last)
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

// TableBytes returns the size of all tables.
func (d *Database) TableBytes() (bytes int64) {
	for _, level := range d.Metrics().Levels {
		bytes += level.TablesSize
	}
	return bytes
}
