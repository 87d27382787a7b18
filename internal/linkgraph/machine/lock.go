// A lock whose waiters end with their context.

package machine

import (
	"context"
	"sync"
)

// Signal wakes all waiters of an event. A waiter must call wait before it checks its condition.
type Signal struct {
	mu sync.Mutex
	c  chan struct{}
}

func NewSignal() *Signal { return &Signal{c: make(chan struct{})} }

func (s *Signal) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c
}

func (s *Signal) Send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.c)
	s.c = make(chan struct{})
}

// Lock is a mutual exclusion for work that takes messages to other machines. A holder may hold it
// for seconds, so waiting ends with a context.
type Lock struct{ Token chan struct{} }

func NewLock() Lock { return Lock{make(chan struct{}, 1)} }

// Lock waits for the lock, and returns the function that gives it back.
func (l Lock) Lock(ctx context.Context) (unlock func(), err error) {
	select {
	case l.Token <- struct{}{}:
		return func() { <-l.Token }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
