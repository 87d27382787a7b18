// Pauses between attempts.

// Package retry has the pauses between attempts: a [Backoff] lets them grow, and [Sleep] waits for one of them.
// Who retries bounds the time with its context.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff makes pauses that double from First up to Last. Each is cut by up to half at random, because many
// machines must not retry at the same moment. It is not safe for concurrent use.
type Backoff struct {
	First, Last time.Duration
	next        time.Duration // 0 before the first attempt
}

// Next returns the pause before the next attempt.
func (b *Backoff) Next() time.Duration {
	d := max(b.next, b.First)
	b.next = min(2*d, b.Last)
	return Jitter(d)
}

// Wait waits for the next pause. If ctx ends earlier, it returns the cause.
func (b *Backoff) Wait(ctx context.Context) error { return Sleep(ctx, b.Next()) }

// Reset makes the next pause the first one again, because an attempt has succeeded.
func (b *Backoff) Reset() { b.next = 0 }

// Jitter returns a random duration from d/2 to d.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// Sleep waits for d. If ctx ends earlier, it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error { return SleepUntil(ctx, d, nil) }

// SleepUntil is Sleep that ends early, without an error, if early is closed; nil never is.
func SleepUntil(ctx context.Context, d time.Duration, early <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
