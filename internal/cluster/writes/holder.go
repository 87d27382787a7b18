// The holder: it writes the deliveries of sequencers to its store.

package writes

import (
	"context"
	"errors"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/gate"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// holderStore is the part of [replica.Store] that a test may replace, to hold deliveries up.
type holderStore interface {
	Deliver(ctx context.Context, d *replica.Delivery, j *recovery.Joint) error
	// Drain waits until every begun write has ended.
	Drain(ctx context.Context) error
	Room() store.Room
}

// holder writes the deliveries of sequencers to the store of this machine.
type holder struct {
	*common
	disk     holderStore
	incoming turns // deliveries, by sequencer
}

// handleDeliver answers writes/deliver.
func (h *holder) handleDeliver(ctx context.Context, body []byte) ([]byte, error) {
	var epoch uint64
	var d replica.Delivery
	if err := peer.Decode(body, func(c *peer.Coder) { codeDelivery(c, &epoch, &d) }); err != nil {
		return nil, malformed(err)
	}
	err := h.deliver(ctx, epoch, &d)
	a := delivered{done, uint64(h.disk.Room())}
	if errors.Is(err, store.ErrDiskFull) {
		a = delivered{diskFull, uint64(store.RoomForNone)}
	} else if err != nil {
		return nil, err
	}
	return peer.Encode(0, a.fields), nil
}

// deliver writes a delivery sent in an epoch. Deliveries of one sequencer run one after the
// other. They wait outside the gate, so one ends there if its sender has given up.
func (h *holder) deliver(ctx context.Context, epoch uint64, d *replica.Delivery) error {
	finished, err := h.incoming.take(ctx, d.Origin.Sequencer)
	if err != nil {
		return err
	}
	defer finished()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	leave, err := h.member.Enter(epoch)
	if err != nil {
		return err
	}
	defer leave()
	v := h.member.View()
	if !alive(v, d.Origin) {
		return peer.Refuse(peer.CodeStranger, epoch, "machine %s is no member in incarnation %d", d.Origin.Sequencer, d.Origin.Incarnation)
	}
	d.Epoch = epoch
	return h.apply(ctx, d, v)
}

// apply writes d to the store. If the disk stalls, the machine adopts no view, and is excluded in
// time.
func (h *holder) apply(ctx context.Context, d *replica.Delivery, v *view.View) error {
	return gate.UntilKnown(ctx, h.ctx, func(ctx context.Context) error { return h.disk.Deliver(ctx, d, v.Joint()) }, h.disk.Drain)
}

// handleWatermark answers writes/watermark.
func (h *holder) handleWatermark(_ context.Context, body []byte) ([]byte, error) {
	var s commitReport
	if err := peer.Decode(body, s.fields); err != nil {
		return nil, malformed(err)
	}
	if v := h.member.View(); v == nil || !alive(v, s.upTo) {
		return nil, peer.Refuse(peer.CodeStranger, 0, "machine %s is no member in incarnation %d", s.upTo.Sequencer, s.upTo.Incarnation)
	}
	h.store.RecordCommitted(s.upTo, s.open, s.acks, s.ticks)
	return []byte{byte(h.disk.Room())}, nil
}

// turns admits one caller at a time for each machine.
type turns struct {
	mu sync.Mutex
	of map[trie.MachineID]chan struct{}
}

// take waits for the turn of m.
func (t *turns) take(ctx context.Context, m trie.MachineID) (done func(), err error) {
	t.mu.Lock()
	turn := t.of[m]
	if turn == nil {
		if t.of == nil {
			t.of = map[trie.MachineID]chan struct{}{}
		}
		turn = make(chan struct{}, 1)
		t.of[m] = turn
	}
	t.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
