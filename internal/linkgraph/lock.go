// A lock whose waiters end with their context.

package linkgraph

import "context"

// lock is a mutual exclusion for work that takes messages to other machines. A holder may hold it
// for seconds, so waiting ends with a context.
type lock struct{ token chan struct{} }

func newLock() lock { return lock{make(chan struct{}, 1)} }

// lock waits for the lock, and returns the function that gives it back.
func (l lock) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case l.token <- struct{}{}:
		return func() { <-l.token }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
