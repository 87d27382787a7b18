package writes

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// era is the time of one adopted view.
type era struct {
	view    *view.View
	ctx     context.Context // ends with the era
	end     context.CancelFunc
	streams map[trie.MachineID]*stream // to all members; empty where this process is none
	strays  chan struct{}              // holds a token where there may be entries to hand over
	began   time.Time

	// Guarded by Writes.mu.
	sequence uint64       // of the last stamp
	floor    triple.Stamp // see Writes.SetFloors
}

// Adopted takes the view that this machine has just adopted. The caller holds the
// gate, so that nothing is stamped or applied meanwhile; it does not wait. What
// is not settled is then sent anew, in the background.
func (w *Writes) Adopted(_, adopted *view.View) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	e := &era{view: adopted, streams: map[trie.MachineID]*stream{}, strays: make(chan struct{}, 1), began: time.Now()}
	e.ctx, e.end = context.WithCancel(w.ctx)
	before := w.era
	w.era = e
	w.store.SetFloors(nil)
	if before != nil {
		before.end()
		w.forgetAcks(before.view, adopted)
	}
	var unsettled []*batch
	for n, b := range w.open {
		if n != b.number {
			continue // it is there under a later number, too
		}
		b.missing = nil
		if !b.old {
			b.old = true
			w.olds++
		}
		unsettled = append(unsettled, b)
	}
	if !adopted.Has(w.self, w.incarnation) {
		return
	}
	for _, m := range adopted.Members {
		s := &stream{writes: w, era: e, to: m.ID, wake: make(chan struct{}, 1), witness: isWitness(adopted, w.self, m.ID)}
		e.streams[m.ID] = s
		w.running.Go(s.run)
	}
	w.running.Go(func() { w.handOver(e) })
	if len(unsettled) > 0 {
		w.running.Go(func() { w.redrive(e, unsettled) })
	}
}

// redrive sends batches, with their old stamps and new numbers, to the slots of
// the era's view.
func (w *Writes) redrive(e *era, batches []*batch) {
	slices.SortFunc(batches, func(a, b *batch) int { return cmp.Compare(a.numbers[0], b.numbers[0]) })
	for _, b := range batches {
		r, err := newRoute(e.view, w.self, b.operations)
		if err != nil {
			continue // it was sent before, so that its keys are well-formed
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

// forgetAcks drops what machines had answered that are no more, or came as new:
// their disks need not show it. The caller holds mu.
func (w *Writes) forgetAcks(before, adopted *view.View) {
	for id := range w.acks {
		m, was := adopted.Find(id), before.Find(id)
		if m == nil || was != nil && was.Incarnation != m.Incarnation && !m.Waits {
			delete(w.acks, id)
		}
	}
}

// Reconciled reports whether nothing on this machine is left of sequencers that are
// no more, and all that this one had stamped before the adopted epoch, or was
// handed, is settled.
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
