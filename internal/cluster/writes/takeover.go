// Takeover: the new sequencer completes the operations of a lost one.

package writes

import (
	"context"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/recovery"
)

// handleHandover answers writes/handover.
func (sq *sequencer) handleHandover(ctx context.Context, body []byte) ([]byte, error) {
	finished, err := sq.beginWait(waitHandover)
	if err != nil {
		return nil, err
	}
	defer finished()
	m := numbered{stamped: true}
	if err := peer.Decode(body, m.fields); err != nil {
		return nil, malformed(err)
	}
	return nil, sq.drive(ctx, m.number, m.operations)
}

var errEnded = errors.New("the operations are not settled yet")

// drive sends operations stamped by another sequencer to all their places, and waits until they
// are committed. It must not need a lease, because the leader may wait for it before it gives
// one.
func (sq *sequencer) drive(ctx context.Context, epoch uint64, operations []replica.Operation) error {
	// 1. This machine must be their sequencer in the epoch of the request.
	v := sq.member.View()
	if v == nil || v.Epoch != epoch {
		return wrongEpoch(v)
	}
	r, err := newRoute(v, sq.self.Machine, operations)
	if err != nil {
		return malformed(err)
	}
	if r.foreign >= 0 {
		return peer.Refuse(peer.CodeNotOwner, epoch, "machine %s is not the sequencer of operation %d", sq.self.Machine, r.foreign)
	}
	// 2. Send an operation if it is not in flight, and wait for all.
	size := sizeOf(operations)
	if err := sq.flight.memory.take(ctx, size); err != nil {
		return peer.Refuse(peer.CodeUnavailable, epoch, "no room for the operations: %v", err)
	}
	batches, free, err := sq.flight.startDriving(v, r, operations)
	sq.flight.memory.give(free)
	if err != nil {
		return err
	}
	for _, b := range batches {
		select {
		case <-b.settled:
		case <-ctx.Done():
			return errors.Join(errEnded, context.Cause(ctx))
		case <-sq.ctx.Done():
			return errEnded
		}
	}
	return nil
}

// startDriving sends each operation if it is not in flight here. Several holders hand over the
// same operation, and one batch is enough. It returns the batches of all operations, and the
// bytes of the operations without a new batch.
func (fl *inFlight) startDriving(v *view.View, r *route, operations []replica.Operation) (batches []*batch, free int64, err error) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	// 1. Under the lock: the era must still be that of v, because the route r is.
	if fl.closed {
		return nil, sizeOf(operations), errClosing()
	}
	if fl.era.view != v || len(fl.era.streams) == 0 {
		return nil, sizeOf(operations), wrongEpoch(fl.era.view)
	}
	// An operation below the floor is committed; one in flight has a batch.
	b := newBatch()
	b.handed = true
	var of []uint32
	for i, o := range operations {
		if o.Stamp.Less(fl.era.floor) {
			free += size(&o)
			continue
		}
		if on := fl.handedBatch(&o); on != nil {
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
	fl.track(b, fl.era.view.Phase == recovery.Idle)
	fl.stats.handedOver.Add(int64(len(b.operations)))
	fl.send(b, split(b.operations, r.sets, of))
	return append(batches, b), free, nil
}
