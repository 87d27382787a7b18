// Failures of a read, and when it is tried again.

package reads

import (
	"context"
	"errors"
	"fmt"
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
var errPublished = fmt.Errorf("%w: a bulk load was published in the middle of the read: begin it again", store.ErrUnavailable)

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

// retries bounds the retries of one read.
type retries struct {
	*common
	since time.Time // first failure since the last progress
	pause time.Duration
}

// progress records progress: the timeout begins again.
func (t *retries) progress() { t.since, t.pause = time.Time{}, 0 }

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
	now := time.Now()
	if t.since.IsZero() {
		t.since = now
	}
	left := t.options.IdleTimeout - now.Sub(t.since)
	if left <= 0 {
		return fmt.Errorf("%w: no progress within %s: %w", store.ErrUnavailable, t.options.IdleTimeout, err)
	}
	if errors.Is(err, errTooLong) {
		return nil
	}
	// 2. Wait for a newer view or for a pause; the pause doubles with each retry.
	t.pause = min(max(2*t.pause, 5*time.Millisecond), 500*time.Millisecond)
	var refusal *peer.Refusal
	if errors.As(err, &refusal) && refusal.Code == peer.CodeEpoch && refusal.Epoch > under.Epoch {
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
