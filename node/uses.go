package node

import (
	"context"
	"sync"
	"sync/atomic"
)

// uses counts the snapshots and iterators that are open, so that the database
// is not closed under them.
type uses struct {
	mu      sync.Mutex
	open    int
	none    chan struct{} // closed when closing and open == 0
	closing atomic.Bool
}

func (u *uses) init() { u.none = make(chan struct{}) }

// begin counts one more; [ErrClosed] where the store is closing.
func (u *uses) begin() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closing.Load() {
		return ErrClosed
	}
	u.open++
	return nil
}

// end takes back a begin.
func (u *uses) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open--
	if u.open == 0 && u.closing.Load() {
		close(u.none)
	}
}

// close refuses further uses and waits until there are none; it returns how many
// are left when ctx ends.
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
