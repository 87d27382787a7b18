package writes

import (
	"context"
	"errors"
	"fmt"
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
// ends. The store knows it then, so that it lists them no more.
func (w *Writes) WaitSettled(ctx context.Context, origins []node.Origin) error {
	last := map[source]uint64{}
	for _, o := range origins {
		s := source{o.Sequencer, o.Incarnation}
		last[s] = max(last[s], o.Batch)
	}
	if len(last) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for s, batch := range last {
		running.Go(func() {
			if err := w.waitFor(ctx, node.Origin{Sequencer: s.machine, Incarnation: s.incarnation, Batch: batch}); err != nil {
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

// waitFor waits for one batch.
func (w *Writes) waitFor(ctx context.Context, o node.Origin) error {
	if w.mine(o) {
		return w.waitOwn(ctx, o.Batch)
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
		settled, err := w.ask(ctx, e, o)
		switch {
		case err == nil && settled:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case w.ctx.Err() != nil:
			return node.ErrClosed
		case err == nil:
			pause = firstPause
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

// ask asks the sequencer of a batch whether that is settled, and tells the store
// what it answers. The question ends with the era: the next view may be without
// the sequencer.
func (w *Writes) ask(ctx context.Context, e *era, o node.Origin) (settled bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWait+w.options.Attempt)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	m := peer.NewEncoder(20)
	m.Uvarint(o.Incarnation)
	m.Uvarint(o.Batch)
	body, err := w.cluster.Call(ctx, o.Sequencer, methodSettled, m.Data())
	if err != nil {
		return false, err
	}
	d := peer.NewDecoder(body)
	watermark, acks := d.Uvarint(), decodeAcks(d)
	if err := d.End(); err != nil {
		return false, err
	}
	w.store.Settle(node.Origin{Sequencer: o.Sequencer, Incarnation: o.Incarnation, Batch: watermark}, acks)
	return watermark >= o.Batch, nil
}

func (w *Writes) handleSettled(ctx context.Context, body []byte) ([]byte, error) {
	finished, err := w.wait(waitSettled)
	if err != nil {
		return nil, err
	}
	defer finished()
	d := peer.NewDecoder(body)
	incarnation, batch := d.Uvarint(), d.Uvarint()
	if err := d.End(); err != nil {
		return nil, malformed(err)
	}
	if incarnation != w.incarnation {
		return nil, refuse(peer.CodeStranger, 0, "machine %s runs in incarnation %d, not %d", w.self, w.incarnation, incarnation)
	}
	waiting, cancel := context.WithTimeoutCause(ctx, askWait, errNotYet)
	defer cancel()
	if err := w.reach(waiting, batch); err != nil && !errors.Is(err, errNotYet) {
		return nil, err
	}
	w.mu.Lock()
	watermark, acks := w.watermark()
	w.mu.Unlock()
	e := peer.NewEncoder(16 + 20*len(acks))
	e.Uvarint(watermark.Batch)
	encodeAcks(e, acks)
	return e.Data(), nil
}

var errNotYet = errors.New("not settled yet")

// reach waits until the watermark of this incarnation is batch or greater.
func (w *Writes) reach(ctx context.Context, batch uint64) error {
	for {
		w.mu.Lock()
		settled, moved := w.settled, w.moved
		w.mu.Unlock()
		if settled >= batch {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.ctx.Done():
			return node.ErrClosed
		}
	}
}

// waitOwn is reach for readers of this machine: its store learns of it.
func (w *Writes) waitOwn(ctx context.Context, batch uint64) error {
	if err := w.reach(ctx, batch); err != nil {
		return err
	}
	w.mu.Lock()
	watermark, acks := w.watermark()
	w.mu.Unlock()
	w.store.Settle(watermark, acks)
	return nil
}
