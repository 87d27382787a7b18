// Work of quiet times: a store gives back the space of deleted rows and merges segments.

package cluster

import (
	"context"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/throttle"
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

// useQuietTimes tidies the store while requests are no load, until ctx ends. If the disk
// is below its watermark it does so in any case, because deletes are to give back room.
func (n *Node) useQuietTimes(ctx context.Context) {
	for throttle.Wait(ctx, quietTick); ctx.Err() == nil; throttle.Wait(ctx, quietTick) {
		if !n.mayTidy(quietBefore) {
			continue
		}
		err := n.store.Tidy(ctx, func(work time.Duration) bool {
			throttle.Wait(ctx, max(quietRest*work, n.throttle.After(work)))
			return ctx.Err() == nil && n.mayTidy(0)
		})
		if err != nil && ctx.Err() == nil {
			n.log.Warn("work of quiet times failed", "error", err)
		}
	}
}

// mayTidy reports whether the store may be tidied: no copies are made, and requests have
// been no load for so long or there is no room.
func (n *Node) mayTidy(quiet time.Duration) bool {
	if v := n.View(); v != nil && v.Phase != recovery.Idle {
		return false
	}
	return n.throttle.Quiet(quiet) || n.store.Room() != store.RoomForAll
}
