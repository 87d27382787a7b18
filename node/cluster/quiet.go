// This file holds what a node does in quiet times: its store gives back the space of
// deleted rows and merges segments that shrank.

package cluster

import (
	"context"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/recovery"
)

const (
	// quietBefore is how long requests must have been no load before work that can wait
	// begins.
	quietBefore = 20 * time.Second
	// quietTick is how often a node looks for such work.
	quietTick = 5 * time.Second
	// quietRest: after a step of such work a node rests for so many times as long, so that
	// a request that comes finds the disk free.
	quietRest = 1
)

// useQuietTimes tidies the store while requests are no load, until ctx ends. If the disk
// is below its watermark it does so in any case, because deletes are to give back room.
func (n *Node) useQuietTimes(ctx context.Context) {
	for wait(ctx, quietTick); ctx.Err() == nil; wait(ctx, quietTick) {
		if !n.mayTidy(quietBefore) {
			continue
		}
		err := n.store.Tidy(ctx, func(work time.Duration) bool {
			wait(ctx, max(quietRest*work, n.pace.after(work)))
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
	if v := n.current.Load(); v != nil && v.Phase != recovery.Idle {
		return false
	}
	return n.pace.quiet(quiet) || n.store.Room() != node.RoomForAll
}
