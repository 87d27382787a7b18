// Work of quiet times: a store gives back the space of deleted rows and merges segments.

package cluster

import (
	"context"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/throttle"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
)

const (
	// quietBefore is how long requests must have been no load before deferred work begins.
	quietBefore = 20 * time.Second
	// quietTick is how often a node looks for such work.
	quietTick = 5 * time.Second
	// quietRest is how long a node rests after a step, as a multiple of the step's time, because
	// a new request must find the disk free.
	quietRest = 1
)

// quietTimes tidies the store while there is nothing else to do.
type quietTimes struct {
	*membership
	throttle *throttle.Throttle
}

// run tidies the store while requests are no load, until ctx ends. If the disk
// is below its watermark it does so in any case, because deletes are to give back room.
func (q *quietTimes) run(ctx context.Context) {
	for retry.Sleep(ctx, quietTick); ctx.Err() == nil; retry.Sleep(ctx, quietTick) {
		if !q.mayTidy(quietBefore) {
			continue
		}
		err := q.store.Tidy(ctx, func(work time.Duration) bool {
			retry.Sleep(ctx, max(quietRest*work, q.throttle.After(work)))
			return ctx.Err() == nil && q.mayTidy(0)
		})
		if err != nil && ctx.Err() == nil {
			q.log.Warn("work of quiet times failed", "error", err)
		}
	}
}

// mayTidy reports whether the store may be tidied: no copies are made, and requests have
// been no load for so long or there is no room.
func (q *quietTimes) mayTidy(quiet time.Duration) bool {
	if v := q.View(); v != nil && v.Phase != recovery.Idle {
		return false
	}
	return q.throttle.Quiet(quiet) || q.store.Room() != store.RoomForAll
}
