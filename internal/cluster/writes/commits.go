// Ticks of commits: the last step of a batch.

package writes

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/triple"
)

// commits is the ticks of the last batches of this machine that were committed in the epoch.
type commits struct {
	epoch   uint64
	last    uint64 // the greatest tick
	first   uint64 // number of commits of this incarnation before recent
	recent  []replica.BatchTick
	dropped uint64 // number of commits of this incarnation, of the epoch and before recent; 0 if there are none
}

// maxCommits bounds the ticks that are remembered. A holder that has missed some cannot answer readers of an earlier
// tick.
const maxCommits = 4096

// count returns the number of commits of this incarnation.
func (c *commits) count() uint64 { return c.first + uint64(len(c.recent)) }

// begin forgets the ticks of earlier epochs.
func (c *commits) begin(epoch uint64) {
	*c = commits{epoch: epoch, first: c.count()}
}

func (c *commits) add(batch, tick uint64) {
	if len(c.recent) == 2*maxCommits {
		c.first += maxCommits
		c.recent = append(c.recent[:0], c.recent[maxCommits:]...)
		c.dropped = c.first
	}
	c.recent = append(c.recent, replica.BatchTick{Batch: batch, Tick: tick})
	c.last = max(c.last, tick)
}

// ticksSince returns the ticks of all commits but the first ones.
func (c *commits) ticksSince(before uint64) replica.CommitTicks {
	t := replica.CommitTicks{Last: triple.Stamp{Epoch: c.epoch, Sequence: c.last}, Partial: before < c.dropped}
	t.Batches = slices.Clone(c.recent[max(before, c.first)-c.first:])
	slices.SortFunc(t.Batches, compareTicks)
	return t
}

// ticksOf returns the ticks of some batches. They must ascend.
func (c *commits) ticksOf(batches []uint64) replica.CommitTicks {
	t := replica.CommitTicks{Last: triple.Stamp{Epoch: c.epoch, Sequence: c.last}, Partial: c.dropped > 0}
	for i := len(c.recent) - 1; i >= 0 && len(t.Batches) < len(batches); i-- {
		if _, ok := slices.BinarySearch(batches, c.recent[i].Batch); ok {
			t.Batches = append(t.Batches, c.recent[i])
		}
	}
	slices.SortFunc(t.Batches, compareTicks)
	return t
}

func compareTicks(a, b replica.BatchTick) int { return cmp.Compare(a.Batch, b.Batch) }

// completed is the batches of an era whose holders have all answered. inFlight.mu guards it.
type completed struct {
	batches   []*batch
	wake      notify.Wake // if there may be some
	requested time.Time   // first try of the request for a tick under way; zero if there is none
}

// complete records that all holders have b. The caller holds mu.
func (fl *inFlight) complete(b *batch) {
	if b.stored {
		return
	}
	b.stored = true
	if !b.isDurable() {
		close(b.durable)
	}
	switch e := fl.era; {
	case b.part != nil:
		part := *b.part
		ctx, stop := context.WithCancel(e.ctx)
		b.stopJoin = stop
		fl.running.Go(func() { fl.commitPart(ctx, e, part, b) })
	case (b.handed || len(b.numbers) > 1) && b.hasRecords(): // it is of an earlier view
		fl.running.Go(func() { fl.commitForwarded(e, b) })
	case len(b.after) > 0:
		after := b.after
		fl.running.Go(func() { fl.commitAfter(e, b, after) })
	default:
		fl.requestCommit(b)
	}
}

// requestCommit has b committed at the next tick. The caller holds mu.
func (fl *inFlight) requestCommit(b *batch) {
	b.complete = true
	fl.era.completed.batches = append(fl.era.completed.batches, b)
	fl.era.completed.wake.Send()
}

// commitPart commits a batch when all parts of its transaction have joined.
func (fl *inFlight) commitPart(ctx context.Context, e *era, p ticks.Part, b *batch) {
	tick, ok := fl.untilIssued(ctx, func(ctx context.Context) (uint64, error) { return fl.clock.Join(ctx, e.view, p) })
	if ok {
		fl.commitAll(e, []*batch{b}, tick)
	}
}

// joinUnchanged lets a part join which has changed nothing. It closes b.committed after that, or when the era ends.
func (fl *inFlight) joinUnchanged(e *era, p ticks.Part, b *batch) {
	fl.untilIssued(e.ctx, func(ctx context.Context) (uint64, error) { return fl.clock.Join(ctx, e.view, p) })
	close(b.committed)
}

// commitAfter requests the commit of a batch when others are committed, because its operations on the same triples are
// later ones. A reader with a tick between them would see b, and not the whole transaction.
func (fl *inFlight) commitAfter(e *era, b *batch, after []*batch) {
	for _, before := range after {
		select {
		case <-before.committed:
		case <-e.ctx.Done():
			return
		}
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.era == e {
		fl.requestCommit(b)
	}
}

// hasParts reports whether commitIssued may commit some batches.
func (fl *inFlight) hasParts(batches []uint64) bool {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return len(fl.partsOf(batches)) > 0
}

// commitIssued commits those of some batches whose transactions have a tick by now. The others will have a tick that is
// issued after the call.
func (fl *inFlight) commitIssued(ctx context.Context, batches []uint64) error {
	fl.mu.Lock()
	e, parts := fl.era, fl.partsOf(batches)
	fl.mu.Unlock()
	if len(parts) == 0 {
		return nil
	}
	// The next oracle does not know the transactions.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	var requests sync.WaitGroup
	var failed atomic.Bool
	for b, part := range parts {
		requests.Go(func() {
			tick, ok := fl.untilIssued(ctx, func(ctx context.Context) (uint64, error) { return fl.clock.Outcome(ctx, e.view, part) })
			switch {
			case !ok:
				failed.Store(true)
			case tick != 0:
				fl.commitAll(e, []*batch{b}, tick)
			}
		})
	}
	requests.Wait()
	if failed.Load() {
		return peer.Refuse(peer.CodeUnavailable, e.view.Epoch, "the oracle does not report which transactions are committed")
	}
	return nil
}

// commitCompleted commits the complete batches until the era ends. One tick serves all that are complete before it is
// requested.
func (fl *inFlight) commitCompleted(e *era) {
	for {
		select {
		case <-e.completed.wake:
		case <-e.ctx.Done():
			return
		}
		fl.mu.Lock()
		all := e.completed.batches
		if e.completed.batches = nil; len(all) > 0 {
			e.completed.requested = time.Now()
		}
		fl.mu.Unlock()
		if len(all) == 0 {
			continue
		}
		tick, ok := fl.untilIssued(e.ctx, func(ctx context.Context) (uint64, error) { return fl.clock.Next(ctx, e.view) })
		if !ok {
			return
		}
		fl.mu.Lock()
		e.completed.requested = time.Time{}
		fl.mu.Unlock()
		fl.commitAll(e, all, tick)
	}
}

// untilIssued requests a tick until the oracle has answered. It returns false if ctx ends first.
func (fl *inFlight) untilIssued(ctx context.Context, request func(context.Context) (uint64, error)) (tick uint64, ok bool) {
	pause := backoff()
	for {
		limited, cancel := context.WithTimeout(ctx, fl.options.Attempt)
		tick, err := request(limited)
		cancel()
		if err == nil {
			return tick, true
		}
		if pause.Wait(ctx) != nil {
			return 0, false
		}
	}
}

// commitAll commits batches of an era at a tick. It does nothing if the era has ended, because they are sent
// again then.
func (fl *inFlight) commitAll(e *era, all []*batch, tick uint64) {
	free := int64(0)
	fl.mu.Lock()
	if fl.era != e {
		fl.mu.Unlock()
		return
	}
	for _, b := range all {
		if b.tick == 0 { // a part may be committed by a reader's request meanwhile
			b.tick = tick
			free += fl.commit(b)
		}
	}
	// Wake the streams, because they report the commits.
	for _, s := range e.streams {
		s.wake.Send()
	}
	fl.mu.Unlock()
	fl.memory.give(free)
}
