// Degraded answers, reported through the context of a call.

package links

import (
	"context"
	"sync/atomic"
)

// degradedKey is the key of a *Degraded in a context.
type degradedKey struct{}

// Degraded records that a part of an answer came from other orders than usual, because a machine
// is down. The answer is complete all the same. It is safe for concurrent use.
type Degraded struct{ is atomic.Bool }

// Degraded reports whether the answer was degraded.
func (d *Degraded) Degraded() bool { return d.is.Load() }

// WatchDegraded returns a context with a Degraded. If a call of a [Graph] gets this context, it
// reports there.
func WatchDegraded(ctx context.Context) (context.Context, *Degraded) {
	d := &Degraded{}
	return context.WithValue(ctx, degradedKey{}, d), d
}

// ReportDegraded records in the Degraded of ctx that an answer was degraded. If ctx has none, it
// does nothing.
func ReportDegraded(ctx context.Context) {
	if d, ok := ctx.Value(degradedKey{}).(*Degraded); ok {
		d.is.Store(true)
	}
}
