package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
)

// This file is how tombstones end. One node, most often the leader, asks all members
// up to where all is settled, has all of them take that as their floors, and when
// all have, lets all delete what is below:
//
//	bounds  -> number of the last purge, next stamp, lowest unsettled stamps
//	floors  number, floors     the member takes them, and proves that nothing is below
//	purge   number, joint view -> how many tombstones were deleted
//
// Floors keep out what comes once more and late: a delivery or hand-over that was
// sent twice would bring back what was deleted. Purges of one epoch have ascending
// numbers, and a scrub's repairs are refused that rest on rows from before one.

// purgeFacts is what it depends on whether tombstones are purged now.
type purgeFacts struct {
	idle       bool          // the view is, and nothing is lost
	quiet      bool          // all members have swept and reconciled it, and none waits
	tombstones int64         // of all members, about
	rows       int64         // of all orders
	since      time.Duration // since the last purge, or since this node leads
	every      time.Duration // Config.PurgeEvery
}

// manyTombstones is how many are worth a purge before its time.
const manyTombstones = 10_000

// due reports whether to purge: where there are tombstones and it is time, or there
// are many of them, and the last purge was a while ago.
func (f purgeFacts) due() bool {
	if f.every <= 0 || !f.idle || !f.quiet || f.tombstones == 0 {
		return false
	}
	many := f.tombstones > manyTombstones || f.tombstones > f.rows/100 && f.tombstones > manyTombstones/100
	return f.since >= f.every || many && f.since >= f.every/10
}

// Purge deletes all tombstones that nothing needs any more, on all members, and
// returns how many. The leader does so by itself when there are enough.
func (n *Node) Purge(ctx context.Context) (purged int64, err error) {
	v, err := n.viewAtRest()
	if err != nil {
		return 0, err
	}
	if len(v.Lost) > 0 {
		return 0, fmt.Errorf("%w: rows may be lost, and a tombstone may be all that is known of one", node.ErrLost)
	}
	if !n.upkeep.begin() {
		return 0, fmt.Errorf("purge: %w: %w", node.ErrUnavailable, errBusy)
	}
	defer n.upkeep.end()
	ctx, cancel := n.during(ctx, v.Epoch)
	defer cancel()
	floors, number, err := n.askBounds(ctx, v)
	if err != nil {
		return 0, err
	}
	var e peer.Encoder
	e.Uvarint(number + 1)
	encodeFloors(&e, floors)
	timed, done := context.WithTimeout(ctx, upkeepTimeout)
	defer done()
	if _, err := n.askAll(timed, v, methodFloors, e.Data()); err != nil {
		return 0, err
	}
	answers, err := n.askAll(ctx, v, methodPurge, e.Data())
	for _, body := range answers {
		d := peer.NewDecoder(body)
		purged += int64(d.Uvarint())
		if err := d.End(); err != nil {
			return purged, err
		}
	}
	return purged, err
}

// viewAtRest returns the adopted view where it can be looked after.
func (n *Node) viewAtRest() (*view.View, error) {
	v := n.current.Load()
	if v == nil {
		return nil, fmt.Errorf("%w: this machine is no member yet", node.ErrUnavailable)
	}
	if v.Phase != recovery.Idle {
		return nil, fmt.Errorf("%w: copies are being made (phase %s)", node.ErrUnavailable, v.Phase)
	}
	for _, m := range v.Members {
		if m.Waits {
			return nil, fmt.Errorf("%w: machine %s is coming back", node.ErrUnavailable, m.ID)
		}
	}
	return v, nil
}

func decodePurge(body []byte) (number uint64, floors node.Floors, err error) {
	d := peer.NewDecoder(body)
	number, floors = d.Uvarint(), decodeFloors(d)
	return number, floors, d.End()
}

// handleFloors makes the floors of a purge this machine's. Nothing that is applied
// meanwhile escapes: the gate is closed as it is for a new view. Then it proves that
// nothing below them waits here, or comes back when the process is started again.
func (n *Node) handleFloors(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	number, floors, err := decodePurge(body)
	if err != nil {
		return nil, err
	}
	if _, err := n.atRest(epoch); err != nil {
		return nil, err
	}
	if err := n.raiseFloors(epoch, number, floors); err != nil {
		return nil, err
	}
	if _, err := n.atRest(epoch); err != nil {
		return nil, err
	}
	known, err := n.writes.Bounds()
	if err != nil {
		return nil, err
	}
	if known.Epoch != epoch {
		return nil, refuse(peer.CodeEpoch, known.Epoch, "the epoch is not %d", epoch)
	}
	for m, stamp := range known.Lowest {
		if stamp.Less(floors[m]) {
			return nil, refuse(peer.CodeUnavailable, epoch, "an operation of machine %s is not settled", m)
		}
	}
	return nil, n.store.SyncSettled(ctx)
}

func (n *Node) raiseFloors(epoch, number uint64, floors node.Floors) error {
	n.gate.Lock()
	defer n.gate.Unlock()
	v := n.current.Load()
	if epochOf(v) != epoch {
		return refuse(peer.CodeEpoch, epochOf(v), "the epoch is not %d", epoch)
	}
	if !n.upkeep.takeNumber(number) {
		return refuse(peer.CodeUnavailable, epoch, "purge %d comes after a later one", number)
	}
	n.writes.SetFloors(floors)
	return nil
}

// handlePurge deletes the tombstones below the floors of the last purge.
func (n *Node) handlePurge(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	number, floors, err := decodePurge(body)
	if err != nil {
		return nil, err
	}
	if n.upkeep.purgeNumber() != number {
		return nil, refuse(peer.CodeUnavailable, epoch, "purge %d is not the last one", number)
	}
	v, err := n.atRest(epoch)
	if err != nil {
		return nil, err
	}
	ctx, cancel := n.during(ctx, epoch)
	defer cancel()
	purged, err := n.store.Purge(ctx, node.Purging{
		Joint: v.Joint(), Floors: floors,
		Enter: func() (func(), error) { return n.Enter(epoch) },
		Pace:  func(ctx context.Context, bytes int) error { return pause(ctx, bytes, purgeRate) },
	})
	n.upkeep.purged.Add(purged)
	if err != nil {
		return nil, err
	}
	var e peer.Encoder
	e.Uvarint(uint64(purged))
	return e.Data(), nil
}

// purgeRate is how many bytes of rows a second a purge reads that has to look at all.
const purgeRate = 32 << 20

// pause waits as long as so many bytes may take at a rate; 0 is any.
func pause(ctx context.Context, bytes int, rate int64) error {
	if rate > 0 {
		wait(ctx, time.Duration(float64(bytes)/float64(rate)*float64(time.Second)))
	}
	return context.Cause(ctx)
}
