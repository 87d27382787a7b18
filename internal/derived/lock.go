// A lock whose waiters end with their context.

package derived

import "context"

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
