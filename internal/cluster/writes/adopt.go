// A new view: everything in flight is sent again to its places.

package writes

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// era is the time of one adopted view.
type era struct {
	view    *view.View
	ctx     context.Context // ends with the era
	end     context.CancelFunc
	streams map[trie.MachineID]*stream // to all members; empty if this process is not a member
	strays  chan struct{}              // holds a token if there may be entries to hand over
	began   time.Time

	// Guarded by Writes.mu.
	sequence uint64       // of the last stamp
	floor    triple.Stamp // see Writes.SetFloors
}

// Adopted begins the era of the adopted view. The caller must hold the gate, because nothing may
// be stamped or applied meanwhile. It does not wait: everything in flight is sent again in the
// background.
func (w *Writes) Adopted(_, adopted *view.View) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	// 1. End the old era: its streams stop, and its floors are void.
	e := &era{view: adopted, streams: map[trie.MachineID]*stream{}, strays: make(chan struct{}, 1), began: time.Now()}
	e.ctx, e.end = context.WithCancel(w.ctx)
	before := w.era
	w.era = e
	w.notifyChanged()
	w.store.SetFloors(nil)
	if before != nil {
		before.end()
		w.forgetAcks(before.view, adopted)
	}
	// 2. Collect the batches in flight. A batch may be in open under several numbers.
	var unsettled []*batch
	for n, b := range w.open {
		if n != b.number {
			continue
		}
		b.missing = nil
		if !b.old {
			b.old = true
			w.olds++
		}
		unsettled = append(unsettled, b)
	}
	if !w.self.In(adopted) {
		return
	}
	// 3. Begin the streams, the handover and the sending.
	for _, m := range adopted.Members {
		s := &stream{writes: w, era: e, to: m.ID, wake: make(chan struct{}, 1), witness: isWitness(adopted, w.self.Machine, m.ID)}
		e.streams[m.ID] = s
		w.running.Go(s.run)
	}
	w.running.Go(func() { w.handOver(e) })
	if len(unsettled) > 0 {
		w.running.Go(func() { w.redrive(e, unsettled) })
	}
}

// notifyChanged wakes readers if they wait for another view or for forgotten entries. The caller
// must hold mu.
func (w *Writes) notifyChanged() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// redrive sends batches, with their old stamps and new numbers, to the places of the era's view.
func (w *Writes) redrive(e *era, batches []*batch) {
	slices.SortFunc(batches, func(a, b *batch) int { return cmp.Compare(a.numbers[0], b.numbers[0]) })
	for _, b := range batches {
		r, err := newRoute(e.view, w.self.Machine, b.operations)
		if err != nil {
			continue // impossible: it was sent before, so its keys are well-formed
		}
		parts := split(b.operations, r.sets, r.of)
		w.mu.Lock()
		if w.era != e {
			w.mu.Unlock()
			return
		}
		w.send(b, parts)
		w.mu.Unlock()
		w.stats.redriven.Add(int64(len(b.operations)))
	}
}

// forgetAcks drops the answers of machines if they left or joined as new, because their disks
// need not have the batches. The caller must hold mu.
func (w *Writes) forgetAcks(before, adopted *view.View) {
	for id := range w.acks {
		m, was := adopted.Find(id), before.Find(id)
		if m == nil || was != nil && was.Incarnation != m.Incarnation && !m.Waits {
			delete(w.acks, id)
		}
	}
}

// Reconciled reports whether every operation of earlier epochs is committed, by this machine's
// records. It must have no entry of a lost sequencer. It must have no batch in flight which is
// older than the adopted epoch or was handed over.
func (w *Writes) Reconciled() bool {
	w.mu.Lock()
	e := w.era
	ok := e != nil && len(e.streams) > 0 && w.olds == 0
	w.mu.Unlock()
	if !ok {
		return false
	}
	if w.hasStrays(e.view) {
		signal(e.strays)
		return false
	}
	return true
}
