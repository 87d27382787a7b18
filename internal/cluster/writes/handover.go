// Handover: a holder sends the operations of a lost sequencer to the new one.

package writes

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
)

// hasStrays reports whether this machine has entries in flight of sequencers which are not
// members of v.
func (w *Writes) hasStrays(v *view.View) bool {
	return w.holds(func(o replica.Origin) bool { return !alive(v, o) })
}

// holds reports whether this machine has an entry in flight of some kind.
func (w *Writes) holds(kind func(replica.Origin) bool) bool {
	return slices.ContainsFunc(w.store.UnsettledBatches(), func(b replica.UnsettledBatch) bool { return kind(b.Origin) })
}

// handOver hands over the strays of this machine until the era ends.
func (w *Writes) handOver(e *era) {
	pause := firstPause
	for {
		err := w.handOverStrays(e)
		if err == nil {
			pause = firstPause
			select {
			case <-e.strays:
			case <-e.ctx.Done():
				return
			}
			continue
		}
		if !sleep(e.ctx, jitter(pause)) {
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// parallel bounds the concurrent requests of one caller.
const parallel = 8

// handOverStrays hands over all present strays, and forgets them when they are committed.
func (w *Writes) handOverStrays(e *era) error {
	if !w.hasStrays(e.view) {
		return nil
	}
	// 1. Group their operations by the new sequencers.
	var strays []replica.UnsettledBatch
	chunks := chunks{view: e.view}
	var full []*chunk
	r := e.view.Joint().Resolver()
	for _, b := range w.store.UnsettledBatches() {
		if alive(e.view, b.Origin) {
			continue
		}
		strays = append(strays, b)
		for i := range b.Operations {
			if err := r.Resolve(b.Operations[i].Key); err != nil {
				return err
			}
			m, ok := r.Sequencer()
			if !ok {
				return errNoSequencer(e.view)
			}
			if c := chunks.add(m, b.Operations[i]); c != nil {
				full = append(full, c)
			}
		}
	}
	// 2. Send them. The entries may only be forgotten after all are committed.
	full = append(full, chunks.rest()...)
	if err := w.driveAll(e, full); err != nil {
		return err
	}
	if err := w.store.Forget(e.ctx, strays); err != nil {
		return err
	}
	w.mu.Lock()
	w.notifyChanged()
	w.mu.Unlock()
	return nil
}

// driveAll sends chunks to their sequencers and returns when all are committed, or with the first
// error.
func (w *Writes) driveAll(e *era, all []*chunk) error {
	ctx, cancel := context.WithCancelCause(e.ctx)
	defer cancel(nil)
	places := make(chan struct{}, parallel)
	var running sync.WaitGroup
	for _, c := range all {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			if ctx.Err() != nil {
				return
			}
			if err := w.driveAt(ctx, e, c); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// driveAt sends a chunk to its sequencer, and returns when it is committed.
func (w *Writes) driveAt(ctx context.Context, e *era, c *chunk) error {
	if c.machine == w.self.Machine {
		return w.drive(ctx, e.view.Epoch, c.operations)
	}
	m := numbered{e.view.Epoch, c.operations, true}
	ctx, cancel := context.WithTimeout(ctx, w.options.Attempt)
	defer cancel()
	_, err := w.member.Call(ctx, c.machine, methodHandover, peer.Encode(int(c.size), m.fields))
	return err
}

// handleHandover answers writes/handover.
func (w *Writes) handleHandover(ctx context.Context, body []byte) ([]byte, error) {
	finished, err := w.wait(waitHandover)
	if err != nil {
		return nil, err
	}
	defer finished()
	m := numbered{stamped: true}
	if err := peer.Decode(body, m.fields); err != nil {
		return nil, malformed(err)
	}
	return nil, w.drive(ctx, m.number, m.operations)
}

var errEnded = errors.New("the operations are not settled yet")

// drive sends operations stamped by another sequencer to all their places, and waits until they
// are committed. It must not need a lease, because the leader may wait for it before it gives
// one.
func (w *Writes) drive(ctx context.Context, epoch uint64, operations []replica.Operation) error {
	// 1. This machine must be their sequencer in the epoch of the request.
	v := w.member.View()
	if v == nil || v.Epoch != epoch {
		return wrongEpoch(v)
	}
	r, err := newRoute(v, w.self.Machine, operations)
	if err != nil {
		return malformed(err)
	}
	if r.foreign >= 0 {
		return peer.Refuse(peer.CodeNotOwner, epoch, "machine %s is not the sequencer of operation %d", w.self.Machine, r.foreign)
	}
	// 2. Send an operation if it is not in flight, and wait for all.
	size := sizeOf(operations)
	if err := w.room.take(ctx, size); err != nil {
		return peer.Refuse(peer.CodeUnavailable, epoch, "no room for the operations: %v", err)
	}
	batches, free, err := w.startDriving(v, r, operations)
	w.room.give(free)
	if err != nil {
		return err
	}
	for _, b := range batches {
		select {
		case <-b.settled:
		case <-ctx.Done():
			return errors.Join(errEnded, context.Cause(ctx))
		case <-w.ctx.Done():
			return errEnded
		}
	}
	return nil
}

// startDriving sends each operation if it is not in flight here. Several holders hand over the
// same operation, and one batch is enough. It returns the batches of all operations, and the
// bytes of the operations without a new batch.
func (w *Writes) startDriving(v *view.View, r *route, operations []replica.Operation) (batches []*batch, free int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// 1. Under the lock: the era must still be that of v, because the route r is.
	if w.closed {
		return nil, sizeOf(operations), errClosing()
	}
	if w.era.view != v || len(w.era.streams) == 0 {
		return nil, sizeOf(operations), wrongEpoch(w.era.view)
	}
	// An operation below the floor is committed; one in flight has a batch.
	b := newBatch()
	b.handed = true
	var of []uint32
	for i, o := range operations {
		if o.Stamp.Less(w.era.floor) {
			free += size(&o)
			continue
		}
		if on := w.drives(&o); on != nil {
			if !slices.Contains(batches, on) {
				batches = append(batches, on)
			}
			free += size(&o)
			continue
		}
		b.operations = append(b.operations, o)
		b.size += size(&o)
		of = append(of, r.of[i])
	}
	// 2. Track the batch before it is sent, because an answer may come at once.
	if len(b.operations) == 0 {
		return batches, free, nil
	}
	w.track(b)
	w.stats.handedOver.Add(int64(len(b.operations)))
	w.send(b, split(b.operations, r.sets, of))
	return append(batches, b), free, nil
}

// drives returns the batch with a handed-over operation, nil if there is none. The caller must
// hold mu.
func (w *Writes) drives(o *replica.Operation) *batch {
	s := w.keys[string(o.Key)]
	if s == nil {
		return nil
	}
	for _, h := range s.handed {
		if h.stamp == o.Stamp {
			return h.batch
		}
	}
	return nil
}

// wrongEpoch returns the refusal of a request if its epoch is not the epoch of v.
func wrongEpoch(v *view.View) *peer.Refusal {
	if v == nil {
		return peer.Refuse(peer.CodeEpoch, 0, "this machine has no view yet")
	}
	return peer.Refuse(peer.CodeEpoch, v.Epoch, "the adopted epoch is %d", v.Epoch)
}
