// Waiting for an event, for work and for a lock.

package derived

import (
	"context"
	"sync"
)

// Signal wakes all waiters of an event. A waiter must call Wait before it checks its condition.
type Signal struct {
	mu sync.Mutex
	c  chan struct{}
}

// NewSignal returns a signal.
func NewSignal() *Signal { return &Signal{c: make(chan struct{})} }

// Wait returns a channel that the next Send closes.
func (s *Signal) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c
}

// Send wakes all waiters.
func (s *Signal) Send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.c)
	s.c = make(chan struct{})
}

// Waker wakes the one goroutine that receives from it, now or when it next does.
type Waker chan struct{}

// NewWaker returns a waker.
func NewWaker() Waker { return make(Waker, 1) }

// Wake wakes the goroutine. It never waits.
func (w Waker) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// Lock is a mutual exclusion for work that takes messages to other machines, or long. A holder may
// hold it for seconds, so waiting ends with a context.
type Lock struct{ Token chan struct{} }

// NewLock returns a free lock.
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
