package writes

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
)

func (w *Writes) handleDeliver(ctx context.Context, body []byte) ([]byte, error) {
	epoch, d, err := decodeDelivery(body)
	if err != nil {
		return nil, malformed(err)
	}
	err = w.deliver(ctx, epoch, d)
	switch {
	case errors.Is(err, node.ErrDiskFull):
		return encodeOutcome(diskFull, uint64(node.RoomForNone)), nil
	case err != nil:
		return nil, err
	}
	return encodeOutcome(done, uint64(w.store.Room())), nil
}

// deliver writes a delivery that was addressed under the view of an epoch, into
// this machine's slots. One of a sequencer comes after the other: one that its
// sender gave up waits outside of the gate, and ends there.
func (w *Writes) deliver(ctx context.Context, epoch uint64, d *node.Delivery) error {
	finished, err := w.incoming.take(ctx, d.Origin.Sequencer)
	if err != nil {
		return err
	}
	defer finished()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	leave, err := w.cluster.Enter(epoch)
	if err != nil {
		return err
	}
	defer leave()
	v := w.cluster.View()
	if !alive(v, d.Origin) {
		return refuse(peer.CodeStranger, epoch, "machine %s is no member in incarnation %d", d.Origin.Sequencer, d.Origin.Incarnation)
	}
	return w.apply(ctx, d, v)
}

// apply has the store write d. Once begun, it ends before the gate is left,
// whoever waits for it: the next view must not meet it half done. So where the
// store gives up waiting for the disk, the write is waited for here, and the same is
// delivered again, to know what has become of it; a machine whose disk stalls adopts
// no view, and is excluded in time.
func (w *Writes) apply(ctx context.Context, d *node.Delivery, v *view.View) error {
	ctx = context.WithoutCancel(ctx)
	for {
		err := w.store.Deliver(ctx, d, v.Joint())
		if !errors.Is(err, node.ErrUnknown) || w.store.Drain(w.ctx) != nil {
			return err
		}
	}
}
