// Failures of a read, and when it is tried again.

package reads

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/trie"
)

// errMoved is returned if the view of a request is no longer the adopted one.
var errMoved = errors.New("the view has changed")

// errTooLong is returned if a snapshot of a store was held for Options.MaxScan.
var errTooLong = errors.New("the read took too long to hold a snapshot any longer")

// errPublished is returned if a bulk load was published after the first rows were read: the rows
// before lack its triples, and the rows after would have them.
var errPublished = fmt.Errorf("%w: a bulk load was published in the middle of the read: begin it again", store.ErrSnapshotTooOld)

// remoteError is a failure between two machines. A retry may succeed.
type remoteError struct {
	machine trie.MachineID
	err     error
}

func (e *remoteError) Error() string { return fmt.Sprintf("machine %s: %v", e.machine, e.err) }

func (e *remoteError) Unwrap() error { return e.err }

// retryable reports whether a retry of a read may succeed.
func retryable(err error) bool {
	var refusal *peer.Refusal
	if errors.As(err, &refusal) {
		switch refusal.Code {
		case peer.CodeStranger, peer.CodeMethod, peer.CodeTooLarge:
			return false
		}
		return true
	}
	if errors.Is(err, errMoved) || errors.Is(err, errTooLong) || errors.Is(err, store.ErrCorrupt) {
		return true // a machine with a damaged disk is excluded, and others answer then
	}
	var failed *peer.RemoteError // an error of the handler itself would come again
	var remote *remoteError
	return errors.As(err, &remote) && !errors.As(err, &failed)
}

// clock is the time of the last progress of a read: its beginning, a row, or a frame of an owner that works. The
// requests of a read have it in their context. It is safe for concurrent use.
type clock struct {
	mu   sync.Mutex
	last time.Time
}

type clockKey struct{}

// clockOf returns the clock of a read; nil for a request of another machine, which has its own.
func clockOf(ctx context.Context) *clock {
	c, _ := ctx.Value(clockKey{}).(*clock)
	return c
}

func (c *clock) progress() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = time.Now()
}

// left returns the rest of a timeout that began with the last progress.
func (c *clock) left(timeout time.Duration) time.Duration {
	if c == nil {
		return timeout
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(timeout-time.Since(c.last), 0)
}

// retries bounds the retries of one read.
type retries struct {
	*common
	clock *clock
	pause time.Duration
}

// retries returns the retries of a read that begins, and the context of its requests.
func (sn *Snapshot) retries(ctx context.Context) (retries, context.Context) {
	t := retries{common: sn.reads.common, clock: &clock{}}
	t.clock.progress()
	return t, context.WithValue(ctx, clockKey{}, t.clock)
}

// progress records progress: the timeout begins again.
func (t *retries) progress() {
	t.clock.progress()
	t.pause = 0
}

// wait waits before a retry of a read after a failure under a view. A newer view ends the wait.
// If there must be no retry, it returns the error of the read.
func (t *retries) wait(ctx context.Context, under *view.View, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !retryable(err) {
		return err
	}
	// 1. Give up if there was no progress for the timeout.
	left := t.clock.left(t.options.IdleTimeout)
	if left <= 0 {
		return fmt.Errorf("%w: no progress within %s: %w", store.ErrUnavailable, t.options.IdleTimeout, err)
	}
	if errors.Is(err, errTooLong) {
		return nil
	}
	var refusal *peer.Refusal
	errors.As(err, &refusal)
	// 2. Wait for a newer view or for a pause; the pause doubles with each retry.
	t.pause = min(max(2*t.pause, 5*time.Millisecond), 500*time.Millisecond)
	if refusal != nil && refusal.Code == peer.CodeEpoch && refusal.Epoch > under.Epoch {
		t.pause = left // only the newer view helps
	}
	waiting, cancel := context.WithTimeout(ctx, min(t.pause, left))
	defer cancel()
	var closed error
	if err := turns.Wait(ctx, func() error { closed = t.member.Newer(waiting, under); return nil }); err != nil {
		return err
	}
	if closed != nil && waiting.Err() == nil {
		return fmt.Errorf("%w: %w", closed, err) // this member is isolated or closed
	}
	return ctx.Err() // retry, even if no newer view has come
}
