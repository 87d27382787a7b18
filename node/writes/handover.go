package writes

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
)

// This file is what sequencers left that are no more: who has it hands it over to
// the new sequencer of each triple.

// hasStrays reports whether this machine has unsettled entries of sequencers that
// are not alive in v.
func (w *Writes) hasStrays(v *view.View) bool {
	return w.holds(func(o node.Origin) bool { return !alive(v, o) })
}

// holds reports whether this machine has an unsettled entry of some kind.
func (w *Writes) holds(kind func(node.Origin) bool) bool {
	return slices.ContainsFunc(w.store.UnsettledBatches(), func(b node.UnsettledBatch) bool { return kind(b.Origin) })
}

// handOver sees to the strays of this machine until the era ends.
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

// parallel is how many requests one caller sends at a time.
const parallel = 8

// handOverStrays hands over what there is now and forgets it when it is settled.
func (w *Writes) handOverStrays(e *era) error {
	if !w.hasStrays(e.view) {
		return nil
	}
	var strays []node.UnsettledBatch
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
	full = append(full, chunks.rest()...)
	if err := w.driveAll(e, full); err != nil {
		return err
	}
	if err := w.store.Forget(e.ctx, strays); err != nil {
		return err
	}
	w.mu.Lock()
	close(w.forgot)
	w.forgot = make(chan struct{})
	w.mu.Unlock()
	return nil
}

// driveAll has chunks driven by their machines until all are settled, or one
// cannot be for now.
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

func (w *Writes) driveAt(ctx context.Context, e *era, c *chunk) error {
	if c.machine == w.self {
		return w.drive(ctx, e.view.Epoch, c.operations)
	}
	m := peer.NewEncoder(int(c.size))
	m.Uvarint(e.view.Epoch)
	encodeOperations(m, c.operations, true)
	ctx, cancel := context.WithTimeout(ctx, w.options.Attempt)
	defer cancel()
	_, err := w.cluster.Call(ctx, c.machine, methodHandover, m.Data())
	return err
}

func (w *Writes) handleHandover(ctx context.Context, body []byte) ([]byte, error) {
	finished, err := w.wait(waitHandover)
	if err != nil {
		return nil, err
	}
	defer finished()
	d := peer.NewDecoder(body)
	epoch := d.Uvarint()
	operations, err := decodeOperations(d, true)
	if err == nil {
		err = d.End()
	}
	if err != nil {
		return nil, malformed(err)
	}
	return nil, w.drive(ctx, epoch, operations)
}

var errEnded = errors.New("the operations are not settled yet")

// drive sends operations that another sequencer stamped to all their slots and
// waits until they are settled. It needs no lease: a lease may wait for it.
func (w *Writes) drive(ctx context.Context, epoch uint64, operations []node.Operation) error {
	v := w.cluster.View()
	if v == nil || v.Epoch != epoch {
		return wrongEpoch(v)
	}
	r, err := newRoute(v, w.self, operations)
	if err != nil {
		return malformed(err)
	}
	if r.foreign >= 0 {
		return refuse(peer.CodeNotOwner, epoch, "machine %s is not the sequencer of operation %d", w.self, r.foreign)
	}
	size := sizeOf(operations)
	if err := w.room.take(ctx, size); err != nil {
		return refuse(peer.CodeUnavailable, epoch, "no room for the operations: %v", err)
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

// startDriving sends those of operations that are not on their way already, since
// each holder hands over what it has. It returns the batches that they are in,
// and the bytes that it used for nothing.
func (w *Writes) startDriving(v *view.View, r *route, operations []node.Operation) (batches []*batch, free int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, sizeOf(operations), errClosing()
	}
	if w.era.view != v || len(w.era.streams) == 0 {
		return nil, sizeOf(operations), wrongEpoch(w.era.view)
	}
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
	if len(b.operations) == 0 {
		return batches, free, nil
	}
	w.track(b)
	w.stats.handedOver.Add(int64(len(b.operations)))
	w.send(b, split(b.operations, r.sets, of))
	return append(batches, b), free, nil
}

// drives returns the batch that has an operation that was handed over; nil is
// none. The caller holds mu.
func (w *Writes) drives(o *node.Operation) *batch {
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

func wrongEpoch(v *view.View) *peer.Refusal {
	if v == nil {
		return refuse(peer.CodeEpoch, 0, "this machine has no view yet")
	}
	return refuse(peer.CodeEpoch, v.Epoch, "the adopted epoch is %d", v.Epoch)
}
