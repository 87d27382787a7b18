// What committed batches have overwritten, for readers of an earlier tick.

package replica

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// CommitTicks are the ticks of batches in a sequencer's report. A tick is an epoch and a number in it; each
// commit of the cluster has one, and those of later commits are greater.
type CommitTicks struct {
	// Last is at least the tick of each batch that the sequencer has committed in the epoch; zero is none.
	Last triple.Stamp
	// Batches are ticks of the epoch, ascending by batch. A batch of the report without one was committed in an
	// earlier epoch. If Partial is true, the sequencer may also have forgotten its tick.
	Batches []BatchTick
	Partial bool
}

// BatchTick is the number of a batch of a sequencer, and that of its tick in the epoch.
type BatchTick struct{ Batch, Tick uint64 }

// tickOf returns the tick of a batch, or one that is not less if it is not listed. ok is false if the batch was committed
// in an earlier epoch.
func (t *CommitTicks) tickOf(batch uint64) (tick triple.Stamp, listed, ok bool) {
	at, listed := slices.BinarySearchFunc(t.Batches, batch, func(b BatchTick, batch uint64) int { return cmp.Compare(b.Batch, batch) })
	if !listed {
		return t.Last, false, t.Partial
	}
	return triple.Stamp{Epoch: t.Last.Epoch, Sequence: t.Batches[at].Tick}, true, true
}

// past has what the committed batches of the adopted epoch have overwritten. A reader at a tick takes the
// effects of the later ones out of its rows, as it does with those of batches in flight ([Undo]). inFlight.mu
// guards it.
//
// Invariants:
//
//  1. A batch is in the in-flight list or here, unless its tick is at most floor.
//  2. floor never falls.
type past struct {
	epoch   uint64
	floor   triple.Stamp // readers of an earlier tick cannot be answered
	batches []pastBatch  // ascending by tick
	bytes   int64
}

// pastBatch is immutable.
type pastBatch struct {
	tick   uint64
	stamps stampSpan
	rows   []overwritten
}

// maxPast bounds the bytes of what committed batches have overwritten.
const maxPast = 32 << 20

func (b *pastBatch) size() (size int64) {
	for i := range b.rows {
		size += int64(len(b.rows[i].key)+len(b.rows[i].before)) + rowBytes
	}
	return size + rowBytes
}

// begin drops all, because a view is adopted: the ticks of its epoch are greater than those before.
func (p *past) begin(epoch uint64) {
	p.epoch, p.batches, p.bytes = epoch, nil, 0
	p.raise(triple.Stamp{Epoch: epoch})
}

// raise makes readers of ticks before this one fail.
func (p *past) raise(floor triple.Stamp) {
	if p.floor.Less(floor) {
		p.floor = floor
	}
}

// add adds a batch that has left the in-flight list because it is committed.
func (p *past) add(e *batchEntry, ticks *CommitTicks) {
	tick, listed, ok := ticks.tickOf(e.origin.Batch)
	switch {
	case tick.Epoch > p.epoch:
		p.raise(tick) // the sequencer has adopted a later view, and has no ticks of this epoch any more
		return
	case !ok || tick.Epoch < p.epoch:
		return // no reader of this epoch has a lower tick
	case !listed || e.overwritten == nil || e.epoch != p.epoch: // sent in an earlier epoch: see Undoable
		p.raise(tick)
		return
	}
	b := pastBatch{tick.Sequence, e.stamps(), e.overwritten}
	at, _ := slices.BinarySearchFunc(p.batches, b.tick+1, func(b pastBatch, tick uint64) int { return cmp.Compare(b.tick, tick) })
	p.batches = slices.Insert(p.batches, at, b)
	p.bytes += b.size()
	p.trim()
}

// trim drops the oldest batches, as far as they take too many bytes.
func (p *past) trim() {
	n := 0
	for p.bytes > maxPast && n < len(p.batches) {
		p.bytes -= p.batches[n].size()
		p.raise(triple.Stamp{Epoch: p.epoch, Sequence: p.batches[n].tick})
		n++
	}
	clear(p.batches[:n])
	p.batches = p.batches[n:]
}

// forget makes readers of all ticks so far fail, because rows that they need are going to be deleted.
func (p *past) forget() {
	if n := len(p.batches); n > 0 {
		p.raise(triple.Stamp{Epoch: p.epoch, Sequence: p.batches[n-1].tick})
		p.batches, p.bytes = nil, 0
	}
}

// batchesAfter returns the batches after a tick. They must not be modified.
func (p *past) batchesAfter(tick triple.Stamp) []pastBatch {
	at, _ := slices.BinarySearchFunc(p.batches, tick.Sequence+1, func(b pastBatch, tick uint64) int { return cmp.Compare(b.tick, tick) })
	return slices.Clone(p.batches[at:])
}

// each calls do for the rows in ranges of a table, until it returns false.
func (b *pastBatch) each(table byte, ranges []triple.Range, do func(*overwritten) bool) bool {
	var bound []byte
	for _, r := range ranges {
		bound = append(append(bound[:0], table), r.Lo...)
		at, _ := slices.BinarySearchFunc(b.rows, bound, func(row overwritten, key []byte) int { return bytes.Compare(row.key, key) })
		for ; at < len(b.rows) && b.rows[at].key[0] == table && r.Contains(b.rows[at].key[1:]); at++ {
			if !do(&b.rows[at]) {
				return false
			}
		}
	}
	return true
}

// BeginEpoch makes ticks of an epoch the ones that readers may have, because its view is adopted.
func (s *Store) BeginEpoch(epoch uint64) {
	u := &s.inFlight
	u.mu.Lock()
	defer u.mu.Unlock()
	u.past.begin(epoch)
}
