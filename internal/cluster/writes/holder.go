// The holder: it writes the deliveries of sequencers to its store.

package writes

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/internal/cluster/gate"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
)

// handleDeliver answers writes/deliver.
func (w *Writes) handleDeliver(ctx context.Context, body []byte) ([]byte, error) {
	var epoch uint64
	var d replica.Delivery
	if err := peer.Decode(body, func(c *peer.Coder) { codeDelivery(c, &epoch, &d) }); err != nil {
		return nil, malformed(err)
	}
	err := w.deliver(ctx, epoch, &d)
	a := delivered{done, uint64(w.store.Room())}
	if errors.Is(err, store.ErrDiskFull) {
		a = delivered{diskFull, uint64(store.RoomForNone)}
	} else if err != nil {
		return nil, err
	}
	return peer.Encode(0, a.fields), nil
}

// deliver writes a delivery sent in an epoch. Deliveries of one sequencer run one after the
// other. They wait outside the gate, so one ends there if its sender has given up.
func (w *Writes) deliver(ctx context.Context, epoch uint64, d *replica.Delivery) error {
	finished, err := w.incoming.take(ctx, d.Origin.Sequencer)
	if err != nil {
		return err
	}
	defer finished()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	leave, err := w.member.Enter(epoch)
	if err != nil {
		return err
	}
	defer leave()
	v := w.member.View()
	if !alive(v, d.Origin) {
		return peer.Refuse(peer.CodeStranger, epoch, "machine %s is no member in incarnation %d", d.Origin.Sequencer, d.Origin.Incarnation)
	}
	return w.apply(ctx, d, v)
}

// apply writes d to the store. If the disk stalls, the machine adopts no view, and is excluded in
// time.
func (w *Writes) apply(ctx context.Context, d *replica.Delivery, v *view.View) error {
	return gate.UntilKnown(ctx, w.ctx, func(ctx context.Context) error { return w.store.Deliver(ctx, d, v.Joint()) }, w.store.Drain)
}
