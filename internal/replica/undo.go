// The rows before operations in flight, for readers that do not wait for these.

package replica

import (
	"bytes"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/triple"
)

// overwritten is what a row of a delivery has overwritten. Its slices must not be modified.
type overwritten struct {
	key    []byte // of the row, with the table
	stamp  triple.Stamp
	batch  *Origin // of the row, while its commit collects those of all batches
	before []byte  // the value of the row before; nil if there was none
}

// recordOverwritten records what the rows of one key are going to overwrite. rows are the newest first; held
// is the row with that key in the store, with its stamp.
//
// A row may come after a newer one. Then the newer one has overwritten something else than what is before it.
// The same holds if a fill brings a row that is held, because the place was not full before. If a delivery
// repeats a row, only its first time counts.
func (c *stampedCommit) recordOverwritten(rows []stampedRow, held []byte, stamp triple.Stamp) {
	before, cloned := held, false
	for i := range slices.Backward(rows) {
		row := &rows[i]
		switch {
		case before != nil && row.stamp.Less(stamp):
			c.disordered = true
		case before != nil && row.stamp == stamp:
			c.repeated, c.disordered = true, c.disordered || c.fills
		default:
			if !cloned && c.delivers { // the iterator reuses its memory
				before, cloned = bytes.Clone(before), true
			}
			if c.delivers {
				c.overwritten = append(c.overwritten, overwritten{row.key, row.stamp, row.batch, before})
			}
			before, stamp = row.value, row.stamp
		}
	}
}

// setOverwritten gives the batches that a commit has entered what its rows overwrite. It must come before the
// rows can be seen.
func (c *stampedCommit) setOverwritten(all []entered) {
	u := &c.store.inFlight
	if c.disordered {
		u.forgetOverwritten()
	}
	if c.disordered || c.repeated {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range all {
		if e.before == nil && u.find(e.now.origin) == e.now && e.now.isConsecutive() {
			e.now.overwritten = ownRows(c.overwritten, e.now)
		}
	}
}

// ownRows returns the rows of one batch, in memory of their own, because a batch may stay in flight for long. Its stamps
// do not identify them, because another sequencer gives the same.
func ownRows(rows []overwritten, e *batchEntry) []overwritten {
	own := func(r *overwritten) bool { return r.batch != nil && *r.batch == e.origin }
	n, size := 0, 0
	for i := range rows {
		if r := &rows[i]; own(r) {
			n++
			size += len(r.key) + len(r.before)
		}
	}
	out, space := make([]overwritten, 0, n), make([]byte, 0, size)
	take := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		from := len(space)
		space = append(space, b...)
		return space[from:len(space):len(space)]
	}
	for i := range rows {
		if r := &rows[i]; own(r) {
			out = append(out, overwritten{take(r.key), r.stamp, nil, take(r.before)})
		}
	}
	return out
}

// forgetOverwritten makes readers wait for all batches that are in flight now, and fail if their tick has passed.
func (u *inFlight) forgetOverwritten() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.past.forget()
	for _, q := range u.streams {
		for _, e := range q.entries {
			e.overwritten = nil
		}
	}
}

// isConsecutive reports whether the sequencer of the batch has stamped its operations one after the other.
func (e *batchEntry) isConsecutive() bool {
	for i := range e.operations {
		o := &e.operations[i]
		if o.Stamper != 0 || o.Stamp.Epoch != e.operations[0].Stamp.Epoch || i > 0 && o.Stamp.Sequence <= e.operations[i-1].Stamp.Sequence {
			return false
		}
	}
	return true
}

// stamps returns the stamps of a batch that is consecutive.
func (e *batchEntry) stamps() stampSpan {
	return stampSpan{e.operations[0].Stamp, e.operations[len(e.operations)-1].Stamp}
}

// stampSpan is the stamps from one to another.
type stampSpan struct{ first, last triple.Stamp }

func (s stampSpan) has(stamp triple.Stamp) bool { return !stamp.Less(s.first) && !s.last.Less(stamp) }

// Undoable divides batches in flight into those that [Store.Undo] can take away from a reader's rows, and
// the others. Those that are committed by now are in neither. A batch that was sent in another epoch is one of
// the others: under an earlier view a member may have read alone, and returned its rows.
func (s *Store) Undoable(batches []Origin, epoch uint64) (undoable, others []Origin) {
	u := &s.inFlight
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, origin := range batches {
		switch e := u.find(origin); {
		case e == nil:
		case e.overwritten != nil && e.epoch == epoch:
			undoable = append(undoable, origin)
		default:
			others = append(others, origin)
		}
	}
	return undoable, others
}

// find returns the entry of a batch, nil if there is none. The caller holds mu.
func (u *inFlight) find(origin Origin) *batchEntry {
	q := u.streams[origin.stream()]
	if q == nil {
		return nil
	}
	at, ok := q.find(origin.Batch)
	if !ok {
		return nil
	}
	return q.entries[at]
}

// Undo has the rows before some batches in flight.
//
// The present row of a key is the one with the greatest stamp. If its stamp is that of an operation to be
// undone, the row before it is what this one has overwritten, which may be the row of another operation to be
// undone, and so on. A stamp belongs to such a batch if it is within the batch's stamps and the batch has the
// key: the triple has one sequencer in an epoch, and that one has stamped the batch's operations one after the
// other. Stamps descend, so this ends.
//
// Every key of an operation in flight has a row, live or a tombstone. So a reader needs no rows of other keys,
// only other values.
type Undo struct {
	epochs *loadEpochs
	keys   map[string]undone // without the table
}

// undone is the operations to be undone on one key.
type undone struct {
	spans []stampSpan // of their batches
	rows  []overwritten
}

// The most keys of an Undo: of batches in flight, because commits wait while they are collected, and of all.
const (
	maxUndone      = 2000
	maxUndoneSince = 20_000
)

// Undo returns the rows before batches in flight, in ranges of a table. Without a tick, batches that are committed by
// now are not undone. With one, they are, as all batches of the epoch with a greater tick. The batches must not have
// a lower one.
//
// ok is false if there are too many rows, or if this machine cannot tell what was at the tick.
func (s *Store) Undo(batches []Origin, tick triple.Stamp, table byte, ranges []triple.Range) (undo *Undo, ok bool) {
	undo = &Undo{epochs: &s.loadEpochs, keys: map[string]undone{}}
	later, ok := s.inFlight.undoOpen(undo, batches, tick, table, ranges)
	for i := range later {
		b := &later[i]
		ok = ok && b.each(table, ranges, func(row *overwritten) bool {
			k := undo.keys[string(row.key[1:])]
			if n := len(k.spans); n == 0 || k.spans[n-1] != b.stamps {
				k.spans = append(k.spans, b.stamps)
			}
			k.rows = append(k.rows, *row)
			undo.keys[string(row.key[1:])] = k
			return len(undo.keys) <= maxUndoneSince
		})
	}
	return undo, ok
}

// undoOpen adds what batches in flight have overwritten. With a tick it returns the committed batches after it, too.
func (u *inFlight) undoOpen(undo *Undo, batches []Origin, tick triple.Stamp, table byte, ranges []triple.Range) (later []pastBatch, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	// 1. Batches that are committed by now are in the past, unless that was dropped.
	if tick != (triple.Stamp{}) {
		if tick.Epoch != u.past.epoch || tick.Less(u.past.floor) {
			return nil, false
		}
		later = u.past.batchesAfter(tick)
	}
	entries := map[*batchEntry]bool{}
	for _, origin := range batches {
		if e := u.find(origin); e != nil {
			entries[e] = true
		}
	}
	if len(entries) == 0 {
		return later, true
	}
	// 2. Collect what they have overwritten, key by key, as long as there are few keys.
	var key []byte
	for _, r := range ranges {
		u.eachIn(r, func(at indexed) bool {
			if !entries[at.entry] {
				return true
			}
			k := undo.keys[at.key]
			k.spans = append(k.spans, at.entry.stamps())
			key = append(append(key[:0], table), at.key...)
			rows := at.entry.overwritten
			from, _ := slices.BinarySearchFunc(rows, key, func(row overwritten, key []byte) int { return bytes.Compare(row.key, key) })
			for from < len(rows) && bytes.Equal(rows[from].key, key) {
				k.rows = append(k.rows, rows[from])
				from++
			}
			undo.keys[at.key] = k
			return len(undo.keys) <= maxUndone
		})
	}
	return later, len(undo.keys) <= maxUndone
}

// ErrUnknownBefore means that this machine does not have the row before an operation in flight. When the
// operation is committed, its own row is the answer.
var ErrUnknownBefore = errors.New("the row before an operation in flight is unknown here")

// Empty reports whether there is nothing to undo.
func (un *Undo) Empty() bool { return len(un.keys) == 0 }

// Before returns the value of the row with a key before the operations, given its present value; nil if
// there was none. The result may be a tombstone.
func (un *Undo) Before(key, value []byte) ([]byte, error) {
	k, ok := un.keys[string(key)]
	for ok && value != nil {
		stamp, err := un.epochs.stampOf(value)
		if err != nil {
			return nil, fault.Wrap("undo operations in flight", err)
		}
		if !slices.ContainsFunc(k.spans, func(s stampSpan) bool { return s.has(stamp) }) {
			break
		}
		at := slices.IndexFunc(k.rows, func(r overwritten) bool { return r.stamp == stamp })
		if at < 0 {
			return nil, ErrUnknownBefore
		}
		value = k.rows[at].before
	}
	return value, nil
}
