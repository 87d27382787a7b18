// Waits of readers until operations are committed.

package writes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
)

// askWait is how long a sequencer waits for a batch before it answers: in flight.
const askWait = 5 * time.Second

// WaitSettled waits until batches, as the store lists them, are committed, or ctx ends. It does
// not wait for other batches, because a down holder must delay only the readers of its own
// triples.
func (w *Writes) WaitSettled(ctx context.Context, origins []replica.Origin) error {
	// 1. Group the batches by the process of their sequencer.
	batches := map[member.Process][]uint64{}
	for _, o := range origins {
		s := sequencerOf(o)
		batches[s] = append(batches[s], o.Batch)
	}
	if len(batches) == 0 {
		return nil
	}
	// 2. Wait for all groups at the same time; the first error ends the others.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for s, numbers := range batches {
		slices.Sort(numbers)
		running.Go(func() {
			if err := w.waitFor(ctx, s, slices.Compact(numbers)); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("wait until operations are settled: %w", context.Cause(ctx))
	}
	return nil
}

// waitFor waits for batches of one sequencer. Their numbers must ascend.
func (w *Writes) waitFor(ctx context.Context, s member.Process, batches []uint64) error {
	if s == w.self {
		return w.waitOwn(ctx, batches)
	}
	pause := firstPause
	for {
		// The channel must come from the same moment as the era, because a change in between
		// would be missed.
		w.mu.Lock()
		changed, e := w.changed, w.era
		w.mu.Unlock()
		// 1. The sequencer is lost: wait until the entries are handed over and forgotten.
		if e == nil || !s.In(e.view) {
			if !w.holds(func(o replica.Origin) bool { return sequencerOf(o) == s }) {
				return nil
			}
			if e != nil {
				signal(e.strays)
			}
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-w.ctx.Done():
				return store.ErrClosed
			}
		}
		// 2. It is a member: ask it, until no batch is in flight.
		open, err := w.ask(ctx, e, s, batches)
		switch {
		case err == nil && len(open) == 0:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case w.ctx.Err() != nil:
			return store.ErrClosed
		case err == nil:
			batches, pause = open, firstPause
			continue
		}
		// The sequencer did not answer. A change of the view ends the pause, because it may be
		// lost then.
		w.pauseOr(ctx, jitter(pause), changed)
		pause = min(2*pause, lastPause)
	}
}

// pauseOr waits for a pause, or until first is closed.
func (w *Writes) pauseOr(ctx context.Context, pause time.Duration, first <-chan struct{}) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-first:
	case <-ctx.Done():
	case <-w.ctx.Done():
	}
}

// ask returns the batches in flight, by their sequencer's answer, and passes its report to the
// store. The call ends with the era, because the next view may exclude the sequencer.
func (w *Writes) ask(ctx context.Context, e *era, s member.Process, batches []uint64) (open []uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWait+w.options.Attempt)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	body, err := w.member.Call(ctx, s.Machine, methodSettled, peer.Encode(20+3*len(batches), codeBatches(&s.Incarnation, &batches)))
	if err != nil {
		return nil, err
	}
	var settled settlement
	if err := peer.Decode(body, settled.withOpen(&open)); err != nil {
		return nil, err
	}
	settled.upTo.Sequencer, settled.upTo.Incarnation = s.Machine, s.Incarnation
	w.store.Settle(settled.upTo, settled.open, settled.acks)
	return open, nil
}

// handleSettled answers writes/settled.
func (w *Writes) handleSettled(ctx context.Context, body []byte) ([]byte, error) {
	var incarnation uint64
	var batches []uint64
	if err := peer.Decode(body, codeBatches(&incarnation, &batches)); err != nil {
		return nil, malformed(err)
	}
	if incarnation != w.self.Incarnation {
		return nil, peer.Refuse(peer.CodeStranger, 0, "machine %s runs in incarnation %d, not %d", w.self.Machine, w.self.Incarnation, incarnation)
	}
	// 1. If all are in flight, wait for the first. The number of waits is bounded, because
	// readers of committed rows must not queue behind readers of others.
	open := w.stillOpen(batches)
	if len(open) == len(batches) && len(open) > 0 {
		finished, err := w.wait(waitSettled)
		if err != nil {
			return nil, err
		}
		defer finished()
		waiting, cancel := context.WithTimeoutCause(ctx, askWait, errNotYet)
		defer cancel()
		if err := w.reach(waiting, batches[:1]); err != nil && !errors.Is(err, errNotYet) {
			return nil, err
		}
	}
	// 2. Answer with the report and the batches still in flight.
	w.mu.Lock()
	settled := w.settlement(false)
	open = w.openOf(batches)
	w.mu.Unlock()
	return peer.Encode(settled.size()+4*len(open), settled.withOpen(&open)), nil
}

var errNotYet = errors.New("not settled yet")

// stillOpen returns the batches in flight of this incarnation.
func (w *Writes) stillOpen(batches []uint64) []uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.openOf(batches)
}

// openOf is stillOpen, but the caller must hold mu.
func (w *Writes) openOf(batches []uint64) (open []uint64) {
	for _, n := range batches {
		if n > w.last || w.open[n] != nil {
			open = append(open, n)
		}
	}
	return open
}

// reach waits until batches of this incarnation are committed.
func (w *Writes) reach(ctx context.Context, batches []uint64) error {
	for _, n := range batches {
		w.mu.Lock()
		var settled chan struct{} // nil, which blocks, if the number is not in use yet
		b := w.open[n]
		if b != nil {
			settled = b.settled
		}
		known := n <= w.last
		w.mu.Unlock()
		if known && b == nil {
			continue
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.ctx.Done():
			return store.ErrClosed
		}
	}
	return nil
}

// waitOwn is reach for readers of this machine. It passes the report to the store.
func (w *Writes) waitOwn(ctx context.Context, batches []uint64) error {
	if err := w.reach(ctx, batches); err != nil {
		return err
	}
	w.mu.Lock()
	settled := w.settlement(true)
	w.mu.Unlock()
	w.store.Settle(settled.upTo, settled.open, settled.acks)
	return nil
}

// Stored reports whether the store of this machine has all operations it has stamped. If a batch
// must be sent again, it counts as missing.
func (w *Writes) Stored() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.open {
		if _, missing := b.missing[w.self.Machine]; missing || b.missing == nil {
			return false
		}
	}
	return true
}
