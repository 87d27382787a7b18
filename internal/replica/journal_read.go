// Reading the journal: from its index to the operations in the log.

package replica

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/replica/batchlog"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// journalPage is the greatest number of runs that one call reads.
const journalPage = 1 << 10

// Entries returns the adds and deletes after a number, of triples with one of [Options.Journal].
// It returns at most about most bytes, and reads at most about most bytes of batches' rows after
// the first; next is the number of the last one. If there are entries, it returns at least one.
//
// The error is [ErrJournal] if some entries are missing. The process has restarted, a bulk load was
// taken in, or the log is trimmed. An operation enters the journal before it is committed. It may
// be there more than once, and in any order of stamps. Keys share no memory with the journal.
func (j *Journal) Entries(after uint64, most int) (entries []JournalEntry, next uint64, err error) {
	if err := j.store.db.Begin(); err != nil {
		return nil, 0, fault.Wrap("read the journal", err)
	}
	defer j.store.db.End()
	// 1. Find the runs after the number. The first one may begin before it.
	runs, number, err := j.behind(after)
	if err != nil {
		return nil, 0, err
	}
	rows := batchRows{store: j.store, its: map[*stream]*pebble.Iterator{}}
	defer func() { err = errors.Join(err, rows.close()) }()
	for i := range runs {
		if most <= 0 {
			break
		}
		// 2. Read the operations of a run.
		r := &runs[i]
		operations, size, err := j.read(r, &rows)
		if err != nil {
			return nil, 0, fault.Wrap("read the journal", err)
		}
		settled := !r.filled() && j.store.inFlight.isSettled(r.origin())
		// 3. Number those that are listed, and take them until the answer is full. A row counts as a
		// whole, because most of its operations may not be listed. Keys are copied: a key must not
		// keep the memory of the row.
		room := most
		for k := range operations {
			o := &operations[k]
			if !j.lists(o) {
				continue
			}
			if number++; number > after && most > 0 {
				entries = append(entries, JournalEntry{bytes.Clone(o.Key), o.Kind == store.OperationDelete, o.Stamp, settled})
				most -= len(o.Key)
			}
		}
		most = min(most, room-size)
		if number != r.last {
			return nil, 0, fmt.Errorf("%w: batch %d of machine %s has other operations than the journal", fault.ErrCorrupt, r.batch, r.stream.Machine)
		}
	}
	return entries, after + uint64(len(entries)), nil
}

// behind returns the first runs with entries after a number, and the number before the first run.
func (j *Journal) behind(after uint64) (runs []run, number uint64, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if after+1 < j.first || after > j.end() || len(j.predicates) == 0 {
		return nil, 0, fmt.Errorf("%w to operation %d", ErrJournal, after)
	}
	at := sort.Search(len(j.all), func(i int) bool { return j.all[i].last > after })
	number = j.first - 1
	if at > 0 {
		number = j.all[at-1].last
	}
	return slices.Clone(j.all[at:min(at+journalPage, len(j.all))]), number, nil
}

// read returns the operations of a run, and the size of what was read of the log for it.
func (j *Journal) read(r *run, rows *batchRows) (operations []Operation, size int, err error) {
	if held, err := j.heldOf(r); err != nil || held != nil {
		return held, 0, err
	}
	row, size, err := rows.read(r)
	if err != nil {
		return nil, 0, err
	}
	// A commit holds the operations before it deletes the row. So if they are not held now, this
	// is the row of the run, or it is trimmed.
	if held, err := j.heldOf(r); err != nil || held != nil {
		return held, 0, err
	}
	if row == nil {
		return nil, 0, fmt.Errorf("%w to operation %d: its batch is trimmed", ErrJournal, r.last)
	}
	if int(r.to) > len(row) {
		return nil, 0, fmt.Errorf("%w: batch %d of machine %s has %d operations, not %d", fault.ErrCorrupt, r.batch, r.stream.Machine, len(row), r.to)
	}
	return row[r.begin():r.to], size, nil
}

// heldOf returns the operations of a run without a row; nil if it has one. The error is [ErrJournal]
// if the journal does not list the run any more.
func (j *Journal) heldOf(r *run) ([]Operation, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.last < j.first {
		return nil, fmt.Errorf("%w to operation %d", ErrJournal, r.last)
	}
	if held := j.held[r.last]; held != nil {
		return held, nil
	}
	return j.writing[r.last], nil
}

// batchRows reads rows of batches. It has an iterator for each stream, because the batches of a
// stream ascend in the journal, and to step is faster than to search.
type batchRows struct {
	store *Store
	its   map[*stream]*pebble.Iterator
	// last is the row that was read last: a backfill brings the operations of one batch as many runs.
	last struct {
		origin     Origin
		operations []Operation
	}
}

// read returns the operations in the row of a run's batch, nil if it has none, and their size if they
// were read now.
func (b *batchRows) read(r *run) (operations []Operation, size int, err error) {
	// 1. The row may be known. Only operations are appended to a row.
	if b.last.origin == r.origin() && int(r.to) <= len(b.last.operations) {
		return b.last.operations, 0, nil
	}
	// 2. Read it.
	it := b.its[r.stream]
	if it == nil {
		next := stream{Machine: r.stream.Machine, Incarnation: r.stream.Incarnation + 1}
		it, err = b.store.db.NewIter(&pebble.IterOptions{LowerBound: batchlog.Key(*r.stream, 0), UpperBound: batchlog.Key(next, 0)})
		if err != nil {
			return nil, 0, err
		}
		b.its[r.stream] = it
	}
	key := batchlog.Key(*r.stream, r.batch)
	found := it.Valid() && (bytes.Equal(it.Key(), key) || it.Next() && bytes.Equal(it.Key(), key))
	if found || it.SeekGE(key) && bytes.Equal(it.Key(), key) {
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, 0, err
		}
		row, err := parseBatchRow(bytes.Clone(value))
		if err != nil {
			return nil, 0, err
		}
		operations = row.operations
	}
	// 3. The row may have been written after the iterator began.
	if len(operations) < int(r.to) {
		if operations, err = b.store.loggedBatch(r.origin()); err != nil {
			return nil, 0, err
		}
	}
	b.last.origin, b.last.operations = r.origin(), operations
	return operations, sizeOf(operations), nil
}

func (b *batchRows) close() (err error) {
	for _, it := range b.its {
		err = errors.Join(err, it.Close())
	}
	return fault.Wrap("read the journal", err)
}

// isSettled reports whether a received batch is committed.
func (u *inFlight) isSettled(origin Origin) bool {
	if u.count.Load() == 0 {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	q := u.streams[origin.stream()]
	if q == nil || origin.Batch <= q.heard.Settled {
		return true
	}
	_, found := q.find(origin.Batch)
	return !found
}
