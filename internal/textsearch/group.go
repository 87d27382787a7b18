// Goroutines of which one failure ends all.

package textsearch

import (
	"context"
	"sync"
)

// group runs functions at the same time. The first error ends their context.
type group struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	once    sync.Once
	err     error
}

func newGroup(ctx context.Context) *group {
	g := &group{}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	return g
}

// run calls do in a goroutine.
func (g *group) run(do func() error) {
	g.running.Go(func() {
		if err := do(); err != nil {
			g.once.Do(func() {
				g.err = err
				g.cancel(err)
			})
		}
	})
}

// wait waits for all functions, and returns the first error.
func (g *group) wait() error {
	g.running.Wait()
	g.cancel(nil)
	return g.err
}
