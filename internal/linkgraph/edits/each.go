// Parallel calls with a bound.

package edits

import (
	"context"
	"sync"
)

// Each calls do with 0 to n-1, atOnce of them concurrently, and waits. The first error cancels
// the rest and is returned.
func Each(ctx context.Context, n, atOnce int, do func(i int) error) error {
	if n == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan int)
	var group sync.WaitGroup
	for range min(atOnce, n) {
		group.Go(func() {
			for i := range work {
				if err := do(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		work <- i
	}
	close(work)
	group.Wait()
	return context.Cause(ctx)
}
