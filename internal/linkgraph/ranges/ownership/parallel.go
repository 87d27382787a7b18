// Calls that run in parallel.

package ownership

import (
	"context"
	"sync"
)

// Parallel calls do with 0 to n-1, at most most concurrently, and waits for all calls. The
// first error cancels the rest and is returned.
func Parallel(ctx context.Context, n, most int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	places := make(chan struct{}, most)
	var running sync.WaitGroup
	for i := 0; i < n && ctx.Err() == nil; i++ {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
