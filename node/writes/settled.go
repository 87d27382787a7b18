package writes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/trie"
)

// This file is how readers wait for what is not settled yet.

// askWait is how long a sequencer lets others wait before it answers that a batch
// is not settled yet.
const askWait = 5 * time.Second

// source is who numbers batches.
type source struct {
	machine     trie.MachineID
	incarnation uint64
}

// WaitSettled waits until batches, as the store lists them, are settled, or ctx
// ends. It does not wait for other batches of their sequencers, so that one holder
// that does not answer keeps only readers of its own triples waiting.
func (w *Writes) WaitSettled(ctx context.Context, origins []node.Origin) error {
	batches := map[source][]uint64{}
	for _, o := range origins {
		s := source{o.Sequencer, o.Incarnation}
		batches[s] = append(batches[s], o.Batch)
	}
	if len(batches) == 0 {
		return nil
	}
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

// waitFor waits for batches of one source, whose numbers ascend.
func (w *Writes) waitFor(ctx context.Context, s source, batches []uint64) error {
	o := node.Origin{Sequencer: s.machine, Incarnation: s.incarnation}
	if w.mine(o) {
		return w.waitOwn(ctx, batches)
	}
	pause := firstPause
	for {
		changed := w.cluster.Changed()
		w.mu.Lock()
		forgot := w.forgot
		e := w.era
		w.mu.Unlock()
		if e == nil || !alive(e.view, o) {
			if !w.holds(func(of node.Origin) bool { return of.Sequencer == o.Sequencer && of.Incarnation == o.Incarnation }) {
				return nil
			}
			if e != nil {
				signal(e.strays)
			}
			if err := w.either(ctx, changed, forgot); err != nil {
				return err
			}
			continue
		}
		open, err := w.ask(ctx, e, s, batches)
		switch {
		case err == nil && len(open) == 0:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case w.ctx.Err() != nil:
			return node.ErrClosed
		case err == nil:
			batches, pause = open, firstPause
			continue
		}
		w.pauseOr(ctx, jitter(pause), changed)
		pause = min(2*pause, lastPause)
	}
}

// either waits for one of two channels.
func (w *Writes) either(ctx context.Context, a, b <-chan struct{}) error {
	select {
	case <-a:
	case <-b:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.ctx.Done():
		return node.ErrClosed
	}
	return nil
}

// pauseOr waits for a time, or until something else comes first.
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

// ask asks the sequencer of batches which of them are open, and passes what else it
// answers to the store. The question ends with the era: the next view may be without
// the sequencer.
func (w *Writes) ask(ctx context.Context, e *era, s source, batches []uint64) (open []uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWait+w.options.Attempt)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	m := peer.NewEncoder(20 + 3*len(batches))
	m.Uvarint(s.incarnation)
	encodeNumbers(m, batches)
	body, err := w.cluster.Call(ctx, s.machine, methodSettled, m.Data())
	if err != nil {
		return nil, err
	}
	d := peer.NewDecoder(body)
	settled := decodeSettlement(d)
	open = decodeNumbers(d)
	if err := d.End(); err != nil {
		return nil, err
	}
	settled.upTo.Sequencer, settled.upTo.Incarnation = s.machine, s.incarnation
	w.store.Settle(settled.upTo, settled.open, settled.acks)
	return open, nil
}

func (w *Writes) handleSettled(ctx context.Context, body []byte) ([]byte, error) {
	d := peer.NewDecoder(body)
	incarnation, batches := d.Uvarint(), decodeNumbers(d)
	if err := d.End(); err != nil {
		return nil, malformed(err)
	}
	if incarnation != w.incarnation {
		return nil, refuse(peer.CodeStranger, 0, "machine %s runs in incarnation %d, not %d", w.self, w.incarnation, incarnation)
	}
	// 1. Wait for the first that is open. Those that wait are few: readers of what
	// is settled must not queue behind readers of what is not.
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
	// 2. Answer with what is settled by now.
	w.mu.Lock()
	settled := w.settlement(false)
	open = w.openOf(batches)
	w.mu.Unlock()
	e := peer.NewEncoder(32 + 20*len(settled.acks) + 4*(len(settled.open)+len(open)))
	encodeSettlement(e, settled)
	encodeNumbers(e, open)
	return e.Data(), nil
}

var errNotYet = errors.New("not settled yet")

// stillOpen returns those of some batches of this incarnation that are not settled.
func (w *Writes) stillOpen(batches []uint64) []uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.openOf(batches)
}

// openOf is stillOpen for a caller that holds mu.
func (w *Writes) openOf(batches []uint64) (open []uint64) {
	for _, n := range batches {
		if n > w.last || w.open[n] != nil {
			open = append(open, n)
		}
	}
	return open
}

// reach waits until batches of this incarnation are settled.
func (w *Writes) reach(ctx context.Context, batches []uint64) error {
	for _, n := range batches {
		w.mu.Lock()
		var settled chan struct{} // of a number that was not given yet: none
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
			return node.ErrClosed
		}
	}
	return nil
}

// waitOwn is reach for readers of this machine: its store learns of it.
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

// Stored reports whether this machine's own store has all that it has stamped. What is to
// be sent again and has not been counts as missing.
func (w *Writes) Stored() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.open {
		if _, missing := b.missing[w.self]; missing || b.missing == nil {
			return false
		}
	}
	return true
}
