// The index of batches with operations of earlier epochs.

package batchlog

import (
	"cmp"

	"github.com/cockroachdb/pebble/v2"
	"github.com/tidwall/btree"
)

// late is a batch with an operation of an earlier epoch.
type late struct {
	epoch  uint64
	stream Stream
	number uint64
}

// compare orders by epoch, then by batch.
func (l late) compare(o late) int {
	return cmp.Or(cmp.Compare(l.epoch, o.epoch), l.compareBatch(o))
}

// compareBatch orders by stream and number.
func (l late) compareBatch(o late) int {
	return cmp.Or(l.stream.Compare(o.stream), cmp.Compare(l.number, o.number))
}

// lateRows are all late batches, in two orders: readers need those of an epoch, and removals those
// of a batch or of a stream. Each step costs O(log n).
type lateRows struct {
	byEpoch, byBatch *btree.BTreeG[late]
}

func newLateRows() lateRows {
	o := btree.Options{NoLocks: true} // the log has one
	return lateRows{
		byEpoch: btree.NewBTreeGOptions(func(a, b late) bool { return a.compare(b) < 0 }, o),
		byBatch: btree.NewBTreeGOptions(func(a, b late) bool {
			return cmp.Or(a.compareBatch(b), cmp.Compare(a.epoch, b.epoch)) < 0
		}, o),
	}
}

func (r *lateRows) add(row late) {
	r.byEpoch.Set(row)
	r.byBatch.Set(row)
}

// rowsBetween returns the rows of the batches from and to of a stream, and of those between.
func (r *lateRows) rowsBetween(id Stream, from, to uint64) (rows []late) {
	r.byBatch.Ascend(late{stream: id, number: from}, func(row late) bool {
		if row.stream != id || row.number > to {
			return false
		}
		rows = append(rows, row)
		return true
	})
	return rows
}

// remove removes a row, also from the disk.
func (r *lateRows) remove(to *pebble.Batch, row late) error {
	r.byEpoch.Delete(row)
	r.byBatch.Delete(row)
	return to.Delete(oldKey(row), nil)
}

// LateStarts returns up to most batches with operations of an epoch that were sent in a later one,
// ascending, behind a batch; the zero Start is before all.
func (l *Log) LateStarts(epoch uint64, after Start, most int) (starts []Start) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := late{epoch: epoch, stream: after.Stream, number: after.Number + 1}
	l.late.byEpoch.Ascend(from, func(row late) bool {
		if row.epoch != epoch || len(starts) == most {
			return false
		}
		starts = append(starts, Start{row.stream, row.number})
		return true
	})
	return starts
}

// Forgotten removes a batch's rows of earlier epochs, because its own row is deleted.
func (l *Log) Forgotten(to *pebble.Batch, id Stream, number uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, row := range l.late.rowsBetween(id, number, number) {
		if err := l.late.remove(to, row); err != nil {
			return err
		}
	}
	return nil
}
