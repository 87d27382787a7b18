// Calls that are watched: their owners are probed if they take long.

package ownership

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/trie"
)

// Probe calls the owners of ranges, and reports whether one is down that was not in known.
func (g *Machines) Probe(ctx context.Context, v *view.View, all []linkkeys.Wanted, known map[trie.MachineID]bool) bool {
	// 1. Collect the owners that must be called. An excluded one is down for the view already.
	owners := map[trie.MachineID]bool{}
	now := g.Owners(v)
	var found atomic.Bool
	for _, w := range all {
		pieces, live := now.Pieces(w.Range, 0)
		for i, p := range pieces {
			switch {
			case now.excluded[p.Owner] || known[p.Owner] || p.Owner == g.Store.MachineID():
			case live[i]:
				owners[p.Owner] = true
			default:
				found.Store(true)
			}
		}
	}
	// 2. Call them in parallel. If one does not answer, it is marked as down.
	var asking sync.WaitGroup
	for owner := range owners {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, pingTimeout)
			defer cancel()
			if _, err := g.Store.Call(ctx, owner, MethodPing, nil); Unreachable(err) && !errors.Is(err, context.Canceled) {
				g.down.mark(owner)
				found.Store(true)
			}
		})
	}
	asking.Wait()
	return found.Load()
}

// Watch calls do, which reads ranges. If do is slow and an owner is down that is not in known,
// Watch cancels it and returns false for looked.
func (g *Machines) Watch(ctx context.Context, v *view.View, all []linkkeys.Wanted, known map[trie.MachineID]bool, do func(ctx context.Context) error) (looked bool, err error) {
	looking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(probeAfter, func() {
		if g.Probe(looking, v, all, known) {
			cancel(ErrDown)
		}
	})
	defer timer.Stop()
	err = do(looking)
	return err == nil || ctx.Err() != nil || !errors.Is(context.Cause(looking), ErrDown), err
}
