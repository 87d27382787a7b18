// The users of a database, which Close waits for.

package database

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/store/fault"
)

// users counts the open snapshots and iterators, because the database must not be closed under
// them.
type users struct {
	mu      sync.Mutex
	open    int
	none    chan struct{} // closed if closing is set and open == 0
	closing atomic.Bool
}

func (u *users) init() { u.none = make(chan struct{}) }

// begin counts one user. It returns [fault.ErrClosed] if the store is closing.
func (u *users) begin() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closing.Load() {
		return fault.ErrClosed
	}
	u.open++
	return nil
}

// end reverts a begin.
func (u *users) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open--
	if u.open == 0 && u.closing.Load() {
		close(u.none)
	}
}

// close rejects further users and waits until none is left. It returns the number left when ctx
// ends.
func (u *users) close(ctx context.Context) int {
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
