// Purges: the end of tombstones.

package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/throttle"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
)

// PurgeFacts decide if tombstones are purged now.
type PurgeFacts struct {
	Idle       bool          // the view is idle, and nothing is lost
	Quiet      bool          // all members have swept and reconciled it, and none waits
	Tombstones int64         // of all members, estimated
	Rows       int64         // of all orders
	Since      time.Duration // since the last purge, or since this node leads
	Every      time.Duration // [Options.PurgeEvery]
}

// manyTombstones is the number of tombstones worth an early purge.
const manyTombstones = 10_000

// due reports whether to purge: if there are tombstones and it is time, or if there are many
// of them and the last purge was some time ago.
func (f PurgeFacts) due() bool {
	if f.Every <= 0 || !f.Idle || !f.Quiet || f.Tombstones == 0 {
		return false
	}
	many := f.Tombstones > manyTombstones || f.Tombstones > f.Rows/100 && f.Tombstones > manyTombstones/100
	return f.Since >= f.Every || many && f.Since >= f.Every/10
}

// Purge deletes tombstones on all members if nothing needs them any more, and returns their
// number. The leader runs it by itself when there are enough, see [Upkeep.Run].
func (u *Upkeep) Purge(ctx context.Context) (purged int64, err error) {
	// 1. The places of rows must not change, and nothing may be lost.
	v, err := u.viewAtRest()
	if err != nil {
		return 0, err
	}
	if len(v.Lost) > 0 {
		return 0, fmt.Errorf("%w: rows may be lost, and a tombstone may be all that is known of one", store.ErrLost)
	}
	if !u.begin() {
		return 0, fmt.Errorf("purge: %w: %w", store.ErrUnavailable, errBusy)
	}
	defer u.end()
	ctx, cancel := u.gate.During(ctx, v.Epoch)
	defer cancel()
	// 2. Compute the floors and raise them on all members, because no late operation below them
	// may return after its tombstone is gone.
	floors, number, err := u.fetchBounds(ctx, v)
	if err != nil {
		return 0, err
	}
	message := peer.Encode(0, (&purgeRequest{number + 1, floors}).fields)
	timed, done := context.WithTimeout(ctx, stepTimeout)
	defer done()
	if _, err := u.callAll(timed, v, methodFloors, message); err != nil {
		return 0, err
	}
	// 3. Delete the tombstones below the floors.
	answers, err := u.callAll(ctx, v, methodPurge, message)
	for _, body := range answers {
		d := peer.NewDecoder(body)
		purged += int64(d.Uvarint())
		if err := d.End(); err != nil {
			return purged, err
		}
	}
	return purged, err
}

// viewAtRest returns the adopted view if it is idle and no member waits.
func (u *Upkeep) viewAtRest() (*view.View, error) {
	v := u.gate.View()
	if v == nil {
		return nil, fmt.Errorf("%w: this machine is no member yet", store.ErrUnavailable)
	}
	if v.Phase != recovery.Idle {
		return nil, fmt.Errorf("%w: copies are being made (phase %s)", store.ErrUnavailable, v.Phase)
	}
	for _, m := range v.Members {
		if m.Waits {
			return nil, fmt.Errorf("%w: machine %s is coming back", store.ErrUnavailable, m.ID)
		}
	}
	return v, nil
}

// purgeRequest is a numbered purge: of [methodFloors] and of [methodPurge].
type purgeRequest struct {
	number uint64
	floors replica.Floors
}

func (r *purgeRequest) fields(c *peer.Coder) {
	c.Uvarint(&r.number)
	codeFloors(c, &r.floors)
}

// handleFloors raises this machine's floors to a purge's. The gate must be locked, as for a new
// view, because nothing below them may be applied meanwhile. Then it proves: nothing below them
// is in flight here, or returns when the process starts again.
func (u *Upkeep) handleFloors(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	var r purgeRequest
	if err := peer.Decode(body, r.fields); err != nil {
		return nil, err
	}
	if _, err := u.AtRest(epoch); err != nil {
		return nil, err
	}
	// 1. Raise the floors.
	if err := u.raiseFloors(epoch, r.number, r.floors); err != nil {
		return nil, err
	}
	if _, err := u.AtRest(epoch); err != nil {
		return nil, err
	}
	// 2. Prove it: nothing below them is in flight on this machine.
	known, err := u.writes.Bounds()
	if err != nil {
		return nil, err
	}
	if known.Epoch != epoch {
		return nil, peer.Refuse(peer.CodeEpoch, known.Epoch, "the epoch is not %d", epoch)
	}
	for m, stamp := range known.Lowest {
		if stamp.Less(r.floors[m]) {
			return nil, peer.Refuse(peer.CodeUnavailable, epoch, "an operation of machine %s is not settled", m)
		}
	}
	return nil, u.store.SyncSettled(ctx)
}

func (u *Upkeep) raiseFloors(epoch, number uint64, floors replica.Floors) error {
	u.gate.Lock()
	defer u.gate.Unlock()
	if u.gate.Epoch() != epoch {
		return peer.Refuse(peer.CodeEpoch, u.gate.Epoch(), "the epoch is not %d", epoch)
	}
	if !u.takeNumber(number) {
		return peer.Refuse(peer.CodeUnavailable, epoch, "purge %d comes after a later one", number)
	}
	u.writes.SetFloors(floors)
	return nil
}

// handlePurge deletes the tombstones below the floors of the last purge.
func (u *Upkeep) handlePurge(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	var r purgeRequest
	if err := peer.Decode(body, r.fields); err != nil {
		return nil, err
	}
	if u.purgeNumber() != r.number {
		return nil, peer.Refuse(peer.CodeUnavailable, epoch, "purge %d is not the last one", r.number)
	}
	v, err := u.AtRest(epoch)
	if err != nil {
		return nil, err
	}
	ctx, cancel := u.gate.During(ctx, epoch)
	defer cancel()
	purged, err := u.store.Purge(ctx, replica.Purging{
		Joint: v.Joint(), Floors: r.floors,
		Enter: func() (func(), error) { return u.gate.Enter(epoch) },
		Pace:  func(ctx context.Context, bytes int) error { return pause(ctx, bytes, purgeRate) },
	})
	u.purged.Add(purged)
	if err != nil {
		return nil, err
	}
	var e peer.Encoder
	e.Uvarint(uint64(purged))
	return e.Data(), nil
}

// purgeRate bounds the scan of a purge, in bytes of rows a second.
const purgeRate = 32 << 20

// pause waits for the time of the bytes at a rate; 0 is no bound.
func pause(ctx context.Context, bytes int, rate int64) error {
	if rate > 0 {
		throttle.Wait(ctx, time.Duration(float64(bytes)/float64(rate)*float64(time.Second)))
	}
	return context.Cause(ctx)
}
