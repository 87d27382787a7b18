// The purger: it ends tombstones.

package upkeep

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
)

// purger deletes tombstones, as the leader of a purge and as an answering member.
type purger struct {
	*members
	purges atomic.Int64 // that this node has led to their ends
	purged atomic.Int64 // tombstones of this machine

	mu     sync.Mutex
	number uint64 // of the last purge that this machine has taken the floors of
}

// Purges returns the number of purges completed by this node as the leader.
func (pu *purger) Purges() int64 { return pu.purges.Load() }

// Purged returns the number of tombstones deleted by this machine.
func (pu *purger) Purged() int64 { return pu.purged.Load() }

func (pu *purger) lastNumber() uint64 {
	pu.mu.Lock()
	defer pu.mu.Unlock()
	return pu.number
}

// takeNumber makes a purge the last one. It returns false if there was a later one.
func (pu *purger) takeNumber(number uint64) bool {
	pu.mu.Lock()
	defer pu.mu.Unlock()
	if number <= pu.number {
		return false
	}
	pu.number = number
	return true
}

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
func (pu *purger) Purge(ctx context.Context) (purged int64, err error) {
	// 1. The places of rows must not change, and nothing may be lost.
	v, err := pu.viewAtRest()
	if err != nil {
		return 0, err
	}
	if len(v.Lost) > 0 {
		return 0, fmt.Errorf("%w: rows may be lost, and a tombstone may be all that is known of one", store.ErrLost)
	}
	if !pu.leading.CompareAndSwap(false, true) {
		return 0, fmt.Errorf("purge: %w: %w", store.ErrUnavailable, errBusy)
	}
	defer pu.leading.Store(false)
	ctx, cancel := pu.gate.EpochContext(ctx, v.Epoch)
	defer cancel()
	// 2. Compute the floors and raise them on all members, because no late operation below them
	// may return after its tombstone is gone.
	floors, number, err := pu.fetchBounds(ctx, v)
	if err != nil {
		return 0, err
	}
	message := peer.Encode(0, (&purgeRequest{number + 1, floors}).fields)
	timed, done := context.WithTimeout(ctx, stepTimeout)
	defer done()
	if _, err := pu.callAll(timed, v, methodFloors, message); err != nil {
		return 0, err
	}
	// 3. Delete the tombstones below the floors.
	answers, err := pu.callAll(ctx, v, methodPurge, message)
	for _, body := range answers {
		d := peer.NewDecoder(body)
		purged += int64(d.Uvarint())
		if err := d.End(); err != nil {
			return purged, err
		}
	}
	return purged, err
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
func (pu *purger) handleFloors(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	var r purgeRequest
	if err := peer.Decode(body, r.fields); err != nil {
		return nil, err
	}
	if _, err := pu.AtRest(epoch); err != nil {
		return nil, err
	}
	if err := pu.raiseFloors(epoch, r.number, r.floors); err != nil {
		return nil, err
	}
	if _, err := pu.AtRest(epoch); err != nil {
		return nil, err
	}
	// Prove it: nothing below them is in flight on this machine.
	known, err := pu.writes.Bounds()
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
	return nil, pu.store.SyncCommitted(ctx)
}

func (pu *purger) raiseFloors(epoch, number uint64, floors replica.Floors) error {
	pu.gate.Lock()
	defer pu.gate.Unlock()
	if pu.gate.Epoch() != epoch {
		return peer.Refuse(peer.CodeEpoch, pu.gate.Epoch(), "the epoch is not %d", epoch)
	}
	if !pu.takeNumber(number) {
		return peer.Refuse(peer.CodeUnavailable, epoch, "purge %d comes after a later one", number)
	}
	pu.writes.SetFloors(floors)
	return nil
}

// handlePurge deletes the tombstones below the floors of the last purge.
func (pu *purger) handlePurge(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	var r purgeRequest
	if err := peer.Decode(body, r.fields); err != nil {
		return nil, err
	}
	if pu.lastNumber() != r.number {
		return nil, peer.Refuse(peer.CodeUnavailable, epoch, "purge %d is not the last one", r.number)
	}
	v, err := pu.AtRest(epoch)
	if err != nil {
		return nil, err
	}
	ctx, cancel := pu.gate.EpochContext(ctx, epoch)
	defer cancel()
	purged, err := pu.store.Purge(ctx, replica.Purging{
		Joint: v.Joint(), Floors: r.floors,
		Enter: func() (func(), error) { return pu.gate.Enter(epoch) },
		Pace:  func(ctx context.Context, bytes int) error { return pause(ctx, bytes, purgeRate) },
	})
	pu.purged.Add(purged)
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
		retry.Sleep(ctx, time.Duration(float64(bytes)/float64(rate)*float64(time.Second)))
	}
	return context.Cause(ctx)
}
