// Collecting the links of cells that are built: passes over the store by several workers.

package links

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
)

// collection is the links of the cells of some spans.
type collection struct {
	mu      sync.Mutex
	from    int
	spans   []spanLinks  // by span - from
	words   *wordSet     // pages without UIDs
	dropped atomic.Bool  // there were too many: the links are not all there
	budget  int64        // bytes that links may take
	bytes   atomic.Int64 // that they take, about
}

func (c *collection) unknown() []string {
	if c == nil || c.words.n == 0 {
		return nil
	}
	return c.words.list()
}

// collect goes through all links and keeps those of the spans from one on, as many as
// there is memory for: up to to. Where it is not enough for all, the first pass has
// measured the links of every span, and the others keep what fits.
func (b *builder) collect(ctx context.Context, from int) (c *collection, to int, err error) {
	if b.sizes == nil {
		if c, err = b.pass(ctx, from, len(b.spans), b.graph.o.BuildBytes); err != nil || !c.dropped.Load() {
			return c, len(b.spans), err
		}
		b.sizes = make([]int64, len(c.spans))
		for i := range c.spans {
			b.sizes[i] = c.spans[i].bytes
		}
	}
	size := int64(0)
	for to = from; to < len(b.spans) && (to == from || size+b.sizes[to] <= b.graph.o.BuildBytes); to++ {
		size += b.sizes[to]
	}
	if size > b.graph.o.BuildBytes {
		b.graph.log.Warn("a cell's links take more memory than a build may use", "bytes", size)
	}
	c, err = b.pass(ctx, from, to, math.MaxInt64)
	return c, to, err
}

// pass goes through all links once, for the spans from one up to another.
func (b *builder) pass(ctx context.Context, from, to int, budget int64) (*collection, error) {
	c := &collection{
		from: from, spans: make([]spanLinks, to-from), words: newWordSet(b.table.seeds), budget: budget,
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.links.Store(0)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(b.graph.o.Workers, len(b.parts)) {
		group.Go(func() {
			w := newWorker(b, c)
			for i := int(next.Add(1) - 1); i < len(b.parts); i = int(next.Add(1) - 1) {
				if err := w.read(ctx, b.parts[i]); err != nil {
					cancel(err)
					break
				}
			}
			w.give()
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return c, err
	}
	if c.words.n > 0 {
		return c, errUnknown
	}
	return c, nil
}
