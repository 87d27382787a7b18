// Pauses and retries.

package writes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
)

// retries bounds the time for retries of a refused request.
type retries struct {
	*common
	until time.Time // zero before the first refusal
	pause retry.Backoff
}

func newRetries(c *common) *retries { return &retries{common: c, pause: backoff()} }

// wait waits before a retry: for the newer view if the refusal has its epoch, or for a pause.
// It returns an error if the timeout or ctx has ended; then nothing was done.
func (p *retries) wait(ctx context.Context, refused error) error {
	// 1. Bound the pause by the remaining time.
	now := time.Now()
	if p.until.IsZero() {
		p.until = now.Add(p.options.RetryTimeout)
	}
	left := p.until.Sub(now)
	if left <= 0 {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, refused)
	}
	pause := min(left, p.pause.Next())
	v := p.member.View()
	var r *peer.Refusal
	if errors.As(refused, &r) && v != nil && r.Epoch > v.Epoch {
		pause = left // the view must arrive here too
	}
	// 2. Wait. A newer view ends the pause early, because it may have another sequencer.
	waiting, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	err := p.member.Newer(waiting, v)
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return fmt.Errorf("%w: %w", err, refused)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", context.Cause(ctx), refused)
	case p.ctx.Err() != nil:
		return store.ErrClosed
	}
	return nil
}

// backoff returns the pauses between tries to send a message.
func backoff() retry.Backoff {
	return retry.Backoff{First: 5 * time.Millisecond, Last: 500 * time.Millisecond}
}
