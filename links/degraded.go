package links

import (
	"context"
	"sync/atomic"
)

// degradedKey is the key of a *Degraded in a context.
type degradedKey struct{}

// Degraded reports whether something of an answer came from other orders than it would,
// since a machine is dead. It is complete all the same.
type Degraded struct{ is atomic.Bool }

// Degraded reports whether it was.
func (d *Degraded) Degraded() bool { return d.is.Load() }

// WatchDegraded returns a context with which calls of a [Graph] tell what they were.
func WatchDegraded(ctx context.Context) (context.Context, *Degraded) {
	d := &Degraded{}
	return context.WithValue(ctx, degradedKey{}, d), d
}

// TellDegraded notes that an answer was degraded, for who watches.
func TellDegraded(ctx context.Context) {
	if d, ok := ctx.Value(degradedKey{}).(*Degraded); ok {
		d.is.Store(true)
	}
}
