// A new view: everything in flight is sent again to its places.

package writes

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// era is the time of one adopted view.
type era struct {
	view    *view.View
	ctx     context.Context // ends with the era
	end     context.CancelFunc
	streams map[trie.MachineID]*stream // to all members; empty if this process is not a member
	strays  notify.Wake                // if there may be entries to hand over
	began   time.Time

	// Guarded by inFlight.mu.
	sequence  uint64 // of the last stamp
	committed uint64 // the greatest sequence of a committed operation
	completed completed
	floor     triple.Stamp // see inFlight.SetFloors
}

// Adopted begins the era of the adopted view. The caller must hold the gate, because nothing may
// be stamped or applied meanwhile. It does not wait: everything in flight is sent again in the
// background.
func (fl *inFlight) Adopted(_, adopted *view.View) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.closed {
		return
	}
	// 1. End the old era: its streams stop, and its floors are void.
	e := &era{view: adopted, streams: map[trie.MachineID]*stream{}, strays: notify.NewWake(), began: time.Now(), completed: completed{wake: notify.NewWake()}}
	e.ctx, e.end = context.WithCancel(fl.ctx)
	before := fl.era
	fl.era = e
	fl.changed.Send()
	fl.advanced.Send()
	fl.store.SetFloors(nil)
	fl.store.BeginEpoch(adopted.Epoch)
	fl.commits.begin(adopted.Epoch)
	clear(fl.takenOver)
	if before != nil {
		before.end()
		fl.forgetAcks(before.view, adopted)
	}
	// 2. Collect the batches in flight. A batch may be in open under several numbers.
	var pending []*batch
	for n, b := range fl.open {
		if n != b.number {
			continue
		}
		b.missing, b.stored, b.complete = nil, false, false
		b.part, b.after = nil, nil // the new oracle does not know the transaction
		if !b.unreconciled {
			b.unreconciled = true
			fl.unreconciled++
		}
		pending = append(pending, b)
	}
	if !fl.self.IsMember(adopted) {
		return
	}
	// 3. Begin the streams, the handover and the sending.
	for _, m := range adopted.Members {
		s := &stream{flight: fl, era: e, to: m.ID, wake: notify.NewWake(), witness: isWitness(adopted, fl.self.Machine, m.ID)}
		e.streams[m.ID] = s
		fl.running.Go(s.run)
	}
	fl.running.Go(func() { fl.handover.run(e) })
	fl.running.Go(func() { fl.commitCompleted(e) })
	if len(pending) > 0 {
		fl.running.Go(func() { fl.resend(e, pending) })
	}
}

// current returns the era, nil before the first view, and a channel that is closed when another
// view is adopted or entries are forgotten. Both are of one moment, because a change in between
// would be missed.
func (fl *inFlight) current() (e *era, changed <-chan struct{}) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.era, fl.changed.Next()
}

// adoptedBefore reports whether v is adopted, and was for at least some time.
func (fl *inFlight) adoptedBefore(v *view.View, age time.Duration) bool {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.era != nil && fl.era.view == v && time.Since(fl.era.began) >= age
}

// resend sends batches, with their old stamps and new numbers, to the places of the era's view.
func (fl *inFlight) resend(e *era, batches []*batch) {
	slices.SortFunc(batches, func(a, b *batch) int { return cmp.Compare(a.numbers[0], b.numbers[0]) })
	for _, b := range batches {
		r, err := newRoute(e.view, fl.self.Machine, b.operations)
		if err != nil {
			continue // impossible: it was sent before, so its keys are well-formed
		}
		parts := split(b.operations, r.sets, r.of)
		fl.mu.Lock()
		if fl.era != e {
			fl.mu.Unlock()
			return
		}
		fl.send(b, parts)
		fl.mu.Unlock()
		fl.stats.redriven.Add(int64(len(b.operations)))
	}
}

// Reconciled reports whether every operation of earlier epochs is committed, by this machine's
// records. It must have no entry of a lost sequencer. It must have no batch in flight which is
// older than the adopted epoch or was handed over.
func (fl *inFlight) Reconciled() bool {
	fl.mu.Lock()
	e := fl.era
	ok := e != nil && len(e.streams) > 0 && fl.unreconciled == 0
	fl.mu.Unlock()
	if !ok {
		return false
	}
	if fl.handover.hasStrays(e.view) {
		e.strays.Send()
		return false
	}
	return true
}
