// Retries of one call: how long, and how often.

package rowreader

import (
	"context"
	"time"
)

// retryTimeout bounds the retries of a call while a machine is down. In that time a lease is
// renewed, or the view changes.
const retryTimeout = 12 * time.Second

// WaitRetry waits before the next try of a reader's call. It returns false if the call must
// give up.
func (r *Reader) WaitRetry(ctx context.Context) bool {
	r.retryMu.Lock()
	defer r.retryMu.Unlock()
	now := time.Now()
	if r.retryUntil.IsZero() {
		r.retryUntil = now.Add(retryTimeout)
	}
	r.retryPause = min(max(2*r.retryPause, 10*time.Millisecond), 200*time.Millisecond)
	if r.Readers.Copies == 0 || now.Add(r.retryPause).After(r.retryUntil) {
		return false
	}
	timer := time.NewTimer(r.retryPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ResetRetry restarts the retry time of a call, because the call has made progress.
func (r *Reader) ResetRetry() {
	r.retryMu.Lock()
	defer r.retryMu.Unlock()
	r.retryUntil, r.retryPause = time.Time{}, 0
}
