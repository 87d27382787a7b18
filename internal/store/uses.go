// The users of a database, which Close waits for.

package store

import (
	"context"
	"sync"
	"sync/atomic"
)

// uses counts the open snapshots and iterators, because the database must not be closed under
// them.
type uses struct {
	mu      sync.Mutex
	open    int
	none    chan struct{} // closed if closing is set and open == 0
	closing atomic.Bool
}

func (u *uses) init() { u.none = make(chan struct{}) }

// begin counts one user. It returns [ErrClosed] if the store is closing.
func (u *uses) begin() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closing.Load() {
		return ErrClosed
	}
	u.open++
	return nil
}

// end reverts a begin.
func (u *uses) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open--
	if u.open == 0 && u.closing.Load() {
		close(u.none)
	}
}

// close rejects further uses and waits until none is left. It returns the number left when ctx
// ends.
func (u *uses) close(ctx context.Context) int {
	u.mu.Lock()
	u.closing.Store(true)
	if u.open == 0 {
		close(u.none)
	}
	u.mu.Unlock()
	select {
	case <-u.none:
		return 0
	case <-ctx.Done():
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.open
}
