// Handover: a holder sends the operations of a lost sequencer to the new one, which takes them over and completes them.

package writes

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// handover sends the operations of lost sequencers, which this machine holds, to their new ones.
type handover struct {
	*common
	flight    *inFlight
	sequencer *sequencer // of this machine
}

// hasStrays reports whether this machine has entries in flight of sequencers which are not
// members of v.
func (ho *handover) hasStrays(v *view.View) bool {
	return ho.holds(func(o replica.Origin) bool { return !alive(v, o) })
}

// holds reports whether this machine has an entry in flight of some kind.
func (ho *handover) holds(kind func(replica.Origin) bool) bool {
	return slices.ContainsFunc(ho.store.InFlightBatches(), func(b replica.InFlightBatch) bool { return kind(b.Origin) })
}

// run hands over the strays of this machine until the era ends.
func (ho *handover) run(e *era) {
	pause := backoff()
	for {
		err := ho.handOverStrays(e)
		if err == nil {
			pause.Reset()
			select {
			case <-e.strays:
			case <-e.ctx.Done():
				return
			}
			continue
		}
		if pause.Wait(e.ctx) != nil {
			return
		}
	}
}

// parallel bounds the concurrent requests of one caller.
const parallel = 8

// handOverStrays hands over all present strays. It forgets them when they are committed, and their transactions are
// complete.
func (ho *handover) handOverStrays(e *era) error {
	if !ho.hasStrays(e.view) {
		return nil
	}
	// 1. Group their operations by the new sequencers, and records apart from the others.
	var strays []replica.InFlightBatch
	var all []replica.Operation
	rounds := [2]chunks{{view: e.view}, {view: e.view}} // the first one is of records
	var full [2][]*chunk
	r := e.view.Joint().Resolver()
	for _, b := range ho.store.InFlightBatches() {
		if alive(e.view, b.Origin) {
			continue
		}
		strays, all = append(strays, b), append(all, b.Operations...)
		for i := range b.Operations {
			if err := r.Resolve(b.Operations[i].Key); err != nil {
				return err
			}
			m, ok := r.Sequencer()
			if !ok {
				return errNoSequencer(e.view)
			}
			round := 1
			if isRecord(b.Operations[i]) {
				round = 0
			}
			if c := rounds[round].add(m, withStamper(b.Origin.Sequencer, b.Operations[i])); c != nil {
				full[round] = append(full[round], c)
			}
		}
	}
	// 2. Send them. Records come first, because this machine may be lost when it has the only one of an operation that is
	// committed; see drive.
	for i := range rounds {
		if err := ho.driveAll(e, append(full[i], rounds[i].rest()...)); err != nil {
			return err
		}
	}
	// 3. This machine counts as reconciled when it has forgotten them, so their transactions must be complete before.
	if err := ho.forwardAll(e, all); err != nil {
		return err
	}
	if err := ho.store.Forget(e.ctx, strays); err != nil {
		return err
	}
	ho.flight.changed.Send() // to readers that wait for entries of lost sequencers
	return nil
}

// withStamper returns an operation of a lost sequencer's batch with the machine that stamped it,
// because it becomes a part of another sequencer's batch, and the change feed orders by stamper.
func withStamper(sequencer trie.MachineID, o replica.Operation) replica.Operation {
	if o.Stamper == 0 {
		o.Stamper = sequencer
	}
	return o
}

// driveAll sends chunks to their sequencers and returns when these have driven all, or with the first error.
func (ho *handover) driveAll(e *era, all []*chunk) error {
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
			if err := ho.driveAt(ctx, e, c); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// driveAt sends a chunk to its sequencer, and returns when that one has driven it.
func (ho *handover) driveAt(ctx context.Context, e *era, c *chunk) error {
	if c.machine == ho.self.Machine {
		return ho.sequencer.drive(ctx, e.view.Epoch, c.operations)
	}
	m := numbered{e.view.Epoch, c.operations, true}
	ctx, cancel := context.WithTimeout(ctx, ho.options.Attempt)
	defer cancel()
	_, err := ho.member.Call(ctx, c.machine, methodHandover, peer.Encode(int(c.size), m.fields))
	return err
}

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

// drive sends operations stamped by another sequencer to all their places, and waits until they are committed. For
// records it waits until all their places have them: they are committed when the operations that they name are there,
// which may come after them. It must not need a lease, because the leader may wait for it before it gives one.
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
	size := sizeWithoutRecords(operations)
	if err := sq.flight.memory.take(ctx, size); err != nil {
		return peer.Refuse(peer.CodeUnavailable, epoch, "no room for the operations: %v", err)
	}
	batches, free, err := sq.flight.startDriving(v, r, operations)
	sq.flight.memory.give(free)
	if err != nil {
		return err
	}
	onlyRecords := !slices.ContainsFunc(operations, func(o replica.Operation) bool { return !isRecord(o) })
	for _, b := range batches {
		driven := b.committed
		if onlyRecords {
			driven = b.durable
		}
		select {
		case <-driven:
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
		return nil, sizeWithoutRecords(operations), errClosing()
	}
	if fl.era.view != v || len(fl.era.streams) == 0 {
		return nil, sizeWithoutRecords(operations), wrongEpoch(fl.era.view)
	}
	// An operation below the floor is committed; one in flight has a batch.
	b := newBatch()
	b.handed = true
	var of []uint32
	for i, o := range operations {
		on := fl.handedBatch(&o)
		switch {
		case o.Stamp.Less(fl.era.floor):
			fl.takeOver(&o)
		case on == nil:
			b.operations = append(b.operations, o)
			of = append(of, r.of[i])
		case !slices.Contains(batches, on):
			batches = append(batches, on)
		}
	}
	b.size = sizeWithoutRecords(b.operations)
	free = sizeWithoutRecords(operations) - b.size
	// 2. Track the batch before it is sent, because an answer may come at once.
	if len(b.operations) == 0 {
		return batches, free, nil
	}
	fl.track(b, fl.era.view.Phase == recovery.Idle)
	fl.stats.handedOver.Add(int64(len(b.operations)))
	fl.send(b, split(b.operations, r.sets, of))
	return append(batches, b), free, nil
}
